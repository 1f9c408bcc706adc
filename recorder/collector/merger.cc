#include "recorder/collector/merger.h"

#include <algorithm>
#include <utility>

#include "recorder/wire/call.h"

namespace heaptape {
namespace {

using wire::Form;
using wire::SegmentState;
using wire::Tag;

// How far behind a zero word to look for others. Nested signal handlers leave a
// few words each.
constexpr uint32_t kLookahead = 64;

uint64_t Load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

bool IsPayload(uint64_t word) { return wire::TagOf(word) == Tag::kPayload; }
bool NeedsPayload(uint64_t word) {
  return wire::TagOf(word) == Tag::kLong && wire::HasPayload(wire::FormOf(word));
}
bool IsRun(uint64_t word) { return (word & 255) == wire::LongWord(Form::kRun, 0, 0); }

}  // namespace

Merger::Merger(Image* image, size_t limit, std::vector<Event>* events, std::function<void()> full)
    : image_(image), limit_(limit), events_(events), full_(std::move(full)) {}

void Merger::FindReaders() {
  image_->Refresh();
  for (uint32_t spool = static_cast<uint32_t>(readers_.size()); spool < image_->spool_count(); ++spool) {
    readers_.emplace_back(wire::SpoolSegments(spool));
    for (uint32_t index = 0; index < readers_[spool].size(); ++index) {
      readers_[spool][index].spool = spool;
      readers_[spool][index].index = index;
    }
  }
}

// Copies the words that have come since. Stops at the first zero word, unless
// others stand behind it.
void Merger::Look(Reader* reader, bool last) {
  const wire::SegmentControl& control = image_->spool(reader->spool)->segments[reader->index];
  const wire::Segment* const segment = image_->segment(reader->spool, reader->index);
  const uint64_t* const words = reinterpret_cast<const uint64_t*>(segment);
  const uint32_t state = __atomic_load_n(&control.state, __ATOMIC_ACQUIRE);
  if (!reader->active) {
    // A thread writes the header before the first word.
    if (state == static_cast<uint32_t>(SegmentState::kFree) || Load(&words[wire::kFirstWord]) == 0) return;
    reader->active = true;
    reader->words.resize(wire::kUsableWords);
    reader->copied = reader->parsed = reader->emitted = reader->first_look = wire::kFirstWord;
    reader->thread = segment->thread;
    reader->system_tid = segment->system_tid;
    reader->event_thread = kNoThread;
    reader->order = segment->order;
  }
  const bool filled = state == static_cast<uint32_t>(SegmentState::kFull) ||
                      state == static_cast<uint32_t>(SegmentState::kKept);
  if (!reader->full && (filled || last)) {
    reader->full = true;
    const uint32_t limit = __atomic_load_n(&control.limit, __ATOMIC_RELAXED);
    reader->limit = filled ? std::min(limit, wire::kUsableWords) : wire::kUsableWords;
    if (!filled) {
      while (reader->limit > reader->copied && Load(&words[reader->limit - 1]) == 0) --reader->limit;
    }
  }
  const uint32_t end = reader->full ? reader->limit : wire::kUsableWords;
  uint64_t* const copy = reader->words.data();
  uint32_t at = reader->copied;
  while (at < end) {
    const uint64_t word = Load(&words[at]);
    if (word != 0) {
      copy[at++] = word;
      continue;
    }
    // The payload of a call that is just being written does not count as one
    // behind the gap.
    uint32_t behind = at + 1;
    const uint32_t horizon = reader->full ? end : std::min(end, at + kLookahead);
    while (behind < horizon && (Load(&words[behind]) == 0 || IsPayload(Load(&words[behind])))) ++behind;
    if (behind >= horizon && !reader->full) break;
    if (Load(&words[at]) != 0) continue;  // it came between our two looks
    for (; at < std::min(behind, end); ++at) copy[at] = 0;
  }
  reader->copied = at;
}

void Merger::Cut(Reader* reader, uint64_t newest, bool last, std::vector<Piece>* pieces) {
  uint32_t begin = reader->parsed;
  uint32_t at = begin;
  const auto finish_piece = [&] {
    if (at > begin) {
      pieces->push_back({.run = reader->run, .order = reader->order, .reader = reader, .begin = begin, .end = at});
    }
  };
  uint32_t end = reader->copied;
  // The payload is stored before its word, but may lie behind where we stopped.
  if (end > at && !reader->full && NeedsPayload(reader->words[end - 1])) --end;
  const auto end_of_run = [&] {
    return reader->run == newest && !last ? std::min(end, std::max(at, reader->first_look)) : end;
  };
  uint32_t stop = end_of_run();
  while (at < end) {
    const uint64_t word = reader->words[at];
    if (IsRun(word)) {
      finish_piece();
      const uint64_t run = wire::LongAddress(word);
      begin = at;
      if (run > newest && !last) break;
      reader->run = run;
      begin = ++at;
      stop = end_of_run();
    } else if (at >= stop) {
      break;
    } else {
      ++at;
    }
  }
  finish_piece();
  reader->parsed = at;
}

// The newest run goes on while we look, perhaps from one segment to the next, of
// which the first look may have seen more than of the one before. What stands
// behind an unfinished segment waits for the next round.
void Merger::HoldBack(uint64_t newest, std::vector<Reader*>* of_newest) {
  std::sort(of_newest->begin(), of_newest->end(), [](Reader* a, Reader* b) { return a->order < b->order; });
  bool whole = true;
  for (Reader* reader : *of_newest) {
    if (!whole) {
      for (Piece& piece : pieces_) {
        if (piece.reader != reader || piece.run != newest || piece.late) continue;
        reader->parsed = piece.begin;
        piece.end = piece.begin;
      }
    }
    whole = whole && reader->full && reader->parsed >= reader->limit;
  }
}

// Words that were overtaken and have come since.
void Merger::CutHoles(Reader* reader, std::vector<Piece>* pieces) {
  const uint64_t* const words =
      reinterpret_cast<const uint64_t*>(image_->segment(reader->spool, reader->index));
  auto& holes = reader->holes;
  holes.erase(std::remove_if(holes.begin(), holes.end(),
                             [&](const Hole& hole) {
                               const uint64_t word = Load(&words[hole.index]);
                               if (word == 0) return false;
                               Piece piece = {.run = hole.run, .order = reader->order, .reader = reader, .begin = 0,
                                              .end = 0};
                               piece.late = true;
                               piece.late_index = hole.index;
                               piece.late_words[0] = word;
                               if (NeedsPayload(word)) piece.late_words[1] = Load(&words[hole.index + 1]);
                               if (!IsPayload(word)) pieces->push_back(piece);
                               return true;
                             }),
              holes.end());
}

void Merger::SetThreads(const absl::flat_hash_map<uint32_t, uint32_t>& threads, uint32_t next_thread) {
  threads_ = threads;
  next_thread_ = next_thread;
}

void Merger::Resume(const std::vector<SegmentPosition>& positions, uint32_t next_thread) {
  FindReaders();
  next_thread_ = next_thread;
  for (const SegmentPosition& position : positions) {
    if (position.spool() >= readers_.size() || image_->spool(position.spool()) == nullptr) continue;
    if (position.segment() >= readers_[position.spool()].size() || position.words() > wire::kUsableWords) continue;
    Reader& reader = readers_[position.spool()][position.segment()];
    const wire::SegmentControl& control = image_->spool(reader.spool)->segments[reader.index];
    const wire::Segment* const segment = image_->segment(reader.spool, reader.index);
    // It may have been given back since; then what is in it now is all new.
    if (control.generation != position.generation()) continue;
    threads_[segment->thread] = position.thread();
    if (position.words() <= wire::kFirstWord) continue;
    reader.active = true;
    reader.words.resize(wire::kUsableWords);
    reader.copied = reader.parsed = reader.emitted = position.words();
    reader.thread = segment->thread;
    reader.system_tid = segment->system_tid;
    reader.order = segment->order;
    reader.event_thread = position.thread();
    const uint64_t* const words = reinterpret_cast<const uint64_t*>(segment);
    for (uint32_t i = wire::kFirstWord; i < position.words(); ++i) {
      if (IsRun(Load(&words[i]))) reader.run = wire::LongAddress(Load(&words[i]));
    }
  }
}

uint64_t Merger::Round(bool last) {
  const uint64_t words_before = words_;
  const uint64_t newest = __atomic_load_n(&image_->control()->ticket, __ATOMIC_ACQUIRE) & wire::kTicketMask;
  FindReaders();  // now, since a spool may be as new as the run
  const auto for_each = [this](const std::function<void(Reader*)>& visit) {
    for (uint32_t spool = 0; spool < readers_.size(); ++spool) {
      if (image_->spool(spool) == nullptr) continue;
      for (Reader& reader : readers_[spool]) visit(&reader);
    }
  };
  pieces_.clear();
  for_each([&](Reader* reader) {
    Look(reader, last);
    reader->first_look = reader->copied;
  });
  std::vector<Reader*> of_newest;
  for_each([&](Reader* reader) {
    Look(reader, last);
    if (!reader->active) return;
    CutHoles(reader, &pieces_);
    Cut(reader, newest, last, &pieces_);
    if (reader->run == newest) of_newest.push_back(reader);
  });
  if (!last) HoldBack(newest, &of_newest);
  std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    return a.run != b.run ? a.run < b.run : a.order < b.order;
  });
  for (const Piece& piece : pieces_) Emit(piece);
  if (last) EmitPendingRelease();
  finished_ = 0;
  for_each([&](Reader* reader) {
    if (Finished(*reader)) ++finished_;
    if (!last && reader->active && reader->full && reader->emitted >= reader->limit && !reader->holes.empty()) {
      // The program must not wait for it, however many such there are.
      __atomic_store_n(&image_->spool(reader->spool)->segments[reader->index].state,
                       static_cast<uint32_t>(SegmentState::kKept), __ATOMIC_RELEASE);
    }
  });
  return words_ - words_before;
}

void Merger::Emit(const Piece& piece) {
  if (piece.late) {
    EmitCall(piece.reader, piece.late_index, piece.late_words[0], piece.late_words[1]);
    return;
  }
  Reader* const reader = piece.reader;
  const uint64_t* const words = reader->words.data();
  for (uint32_t at = piece.begin; at < piece.end; ++at) {
    const uint64_t word = words[at];
    const Tag tag = wire::TagOf(word);
    if ((tag == Tag::kMalloc || tag == Tag::kFree) && !have_release_ && reader->event_thread != kNoThread) {
      // Nearly all words, in the shortest way.
      Event& event = events_->emplace_back();
      event.address = wire::ShortAddress(word);
      event.size = tag == Tag::kMalloc ? wire::ShortSize(word) : 0;
      event.thread = reader->event_thread;
      event.kind = tag == Tag::kMalloc ? EventKind::kMalloc : EventKind::kFree;
    } else if (word == 0) {
      reader->holes.push_back({at, piece.run});
    } else {
      const bool long_call = NeedsPayload(word);
      if (long_call && (at + 1 >= piece.end || !IsPayload(words[at + 1]))) {
        ++damaged_;
        continue;
      }
      EmitCall(reader, at, word, long_call ? words[at + 1] : 0);
      if (long_call) ++at;
    }
    if (events_->size() >= limit_) {
      reader->emitted = at + 1;
      full_();
    }
  }
  reader->emitted = piece.end;
  words_ += piece.end - piece.begin;
}

void Merger::FindThread(Reader* reader) {
  const auto [it, inserted] = threads_.try_emplace(reader->thread, next_thread_);
  reader->event_thread = it->second;
  if (!inserted) return;
  Event start;
  start.kind = EventKind::kThreadStart;
  start.thread = next_thread_++;
  start.size = reader->system_tid;
  EmitEvent(start);
}

void Merger::EmitPendingRelease() {
  if (!have_release_) return;
  have_release_ = false;
  release_.kind = EventKind::kReallocBegin;
  events_->push_back(release_);
}

void Merger::EmitEvent(const Event& event) {
  EmitPendingRelease();
  events_->push_back(event);
}

void Merger::EmitCall(Reader* reader, uint32_t index, uint64_t word, uint64_t payload) {
  Event event;
  const Tag tag = wire::TagOf(word);
  if (tag == Tag::kNone || tag == Tag::kPayload) {
    ++damaged_;
    return;
  }
  if (reader->event_thread == kNoThread) FindThread(reader);
  event.thread = reader->event_thread;
  event.address = wire::ShortAddress(word);
  event.size = wire::ShortSize(word);
  bool release = tag == Tag::kRelease;
  bool acquire = tag == Tag::kAcquire;
  switch (tag) {
    case Tag::kMalloc:
      break;
    case Tag::kFree:
      event.kind = EventKind::kFree;
      event.size = 0;
      break;
    case Tag::kCalloc:
      event.kind = EventKind::kCalloc;
      break;
    case Tag::kLong: {
      const Form form = wire::FormOf(word);
      event.address = wire::LongAddress(word);
      event.size = wire::PayloadValue(payload);
      const auto aligned = [&](EventKind kind) {
        event.kind = kind;
        event.alignment_log2 = static_cast<uint8_t>(std::min<uint64_t>(wire::DetailOf(word), 63));
      };
      switch (form) {
        case Form::kMalloc: break;
        case Form::kCalloc: event.kind = EventKind::kCalloc; break;
        case Form::kAcquire: acquire = true; break;
        case Form::kMemalign: aligned(EventKind::kMemalign); break;
        case Form::kAlignedAlloc: aligned(EventKind::kAlignedAlloc); break;
        case Form::kPosixMemalign: aligned(EventKind::kPosixMemalign); break;
        case Form::kValloc: aligned(EventKind::kValloc); break;
        case Form::kPvalloc: aligned(EventKind::kPvalloc); break;
        case Form::kFree: event.kind = EventKind::kFree; event.size = 0; break;
        case Form::kRelease: release = true; break;
        case Form::kMallopt:
          event.kind = EventKind::kMallopt;
          event.old_address = event.size;
          event.size = wire::LongAddress(word);
          event.address = wire::DetailOf(word);
          break;
        case Form::kMallocTrim:
          event.kind = EventKind::kMallocTrim;
          event.address = wire::DetailOf(word);
          break;
        case Form::kFork:
          event.kind = EventKind::kFork;
          event.size = event.address;
          event.address = 0;
          break;
        case Form::kThreadEnd:
          event.kind = EventKind::kThreadEnd;
          event.address = event.size = 0;
          break;
        case Form::kRun:
        case Form::kPad:
          return;
        default:
          ++damaged_;
          return;
      }
      break;
    }
    default:
      break;
  }
  if (release) {
    EmitPendingRelease();
    have_release_ = true;
    release_reader_ = reader;
    release_index_ = index;
    release_ = Event();
    release_.thread = event.thread;
    release_.old_address = event.address;
    return;
  }
  if (acquire) {
    event.kind = EventKind::kReallocEnd;
    if (have_release_ && release_.thread == event.thread) {
      have_release_ = false;
      event.kind = EventKind::kRealloc;
      event.old_address = release_.old_address;
    }
  }
  EmitEvent(event);
}

bool Merger::Finished(const Reader& reader) const {
  return reader.active && reader.full && reader.emitted >= reader.limit && reader.holes.empty();
}

std::vector<SegmentPosition> Merger::Positions() const {
  std::vector<SegmentPosition> positions;
  for (const std::vector<Reader>& spool : readers_) {
    for (const Reader& reader : spool) {
      if (!reader.active) continue;
      SegmentPosition position;
      position.set_spool(reader.spool);
      position.set_segment(reader.index);
      position.set_generation(image_->spool(reader.spool)->segments[reader.index].generation);
      // A release that is held back is not in the file.
      position.set_words(have_release_ && release_reader_ == &reader ? release_index_ : reader.emitted);
      const auto thread = threads_.find(reader.thread);
      if (thread != threads_.end()) position.set_thread(thread->second);
      positions.push_back(std::move(position));
    }
  }
  return positions;
}

void Merger::Recycle() {
  if (finished_ == 0) return;
  for (std::vector<Reader>& spool : readers_) {
    for (Reader& reader : spool) {
      if (!Finished(reader)) continue;
      wire::Segment* const segment = image_->segment(reader.spool, reader.index);
      std::fill(&segment->words[0], &segment->words[reader.limit - wire::kFirstWord], 0);
      wire::SegmentControl& control = image_->spool(reader.spool)->segments[reader.index];
      ++control.generation;
      reader.active = reader.full = false;
      reader.run = 0;
      __atomic_store_n(&control.state, static_cast<uint32_t>(SegmentState::kFree), __ATOMIC_RELEASE);
    }
  }
  finished_ = 0;
}

}  // namespace heaptape
