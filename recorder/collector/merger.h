// Merger: the calls in many segments become events in one order.
//
// Mainland. One thread at a time. See interposer/log.h for how calls are logged.
//
// A round is a consistent cut. It reads the number G of the newest run, then
// looks twice at every segment, and takes
//
//   - of runs before G, all that the second look shows: nobody can have added
//     to them on the strength of something that happened after G was read,
//   - of run G, what the first look shows without a gap: what it may rest on was
//     logged before, so the second look shows it,
//   - of later runs nothing yet,
//
// sorted by run. A call that has been checked against its run but is not written
// yet can turn up in a later round, behind calls of later runs. That is no
// mistake: its allocation has not returned to the program, or its free has not
// been forwarded, so nothing in between can have depended on it. For the same
// reason a number whose run never appears (its thread was killed, or a signal
// handler jumped away) is not waited for.

#ifndef HEAPTAPE_RECORDER_COLLECTOR_MERGER_H_
#define HEAPTAPE_RECORDER_COLLECTOR_MERGER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/event.h"
#include "proto/trace.pb.h"
#include "recorder/collector/image.h"

namespace heaptape {

class Merger {
 public:
  // Events come out at the end of `events`, in order. As soon as there are `limit`
  // of them `full` is called, which is to take them; a few more may have come.
  Merger(Image* image, size_t limit, std::vector<Event>* events, std::function<void()> full);

  // Before the first round. Threads with recorder's number `thread` are `event_thread`
  // in the events; `next_thread` is the first number of a thread not seen yet.
  void SetThreads(const absl::flat_hash_map<uint32_t, uint32_t>& threads, uint32_t next_thread);
  // Before the first round: goes on where an earlier merger's Positions were.
  void Resume(const std::vector<SegmentPosition>& positions, uint32_t next_thread);

  // One round; the number of words taken. `last` says that the program is gone:
  // everything there is comes out.
  uint64_t Round(bool last);

  // How far each segment that is not recycled has come out.
  std::vector<SegmentPosition> Positions() const;
  // Gives finished segments back to the program. Only after all events that came
  // out are safe in a file.
  void Recycle();

  // Segments that Recycle would give back.
  uint32_t finished_segments() const { return finished_; }
  uint64_t words() const { return words_; }
  // Words that make no sense: the program wrote over them.
  uint64_t damaged_words() const { return damaged_; }

 private:
  static constexpr uint32_t kNoThread = ~uint32_t{0};

  // A word that was still zero when later ones were written.
  struct Hole {
    uint32_t index;
    uint64_t run;
  };

  // What has been read of one segment.
  struct Reader {
    uint32_t spool, index;
    bool active = false;
    bool full = false;           // `limit` is final
    uint32_t limit = 0;
    uint32_t thread = 0;         // the recorder's number
    uint32_t system_tid = 0;
    uint32_t event_thread = kNoThread;  // as numbered in the events
    uint64_t order = 0;
    // A copy of the segment, as far as it has been looked at; what cannot be seen
    // yet, or only half of it, is 0. All that follows are indexes into it.
    std::vector<uint64_t> words;
    uint32_t copied = 0;         // what has been looked at ends here
    uint32_t parsed = 0;         // what has been put into pieces, here
    uint32_t emitted = 0;        // what has come out, here
    uint32_t first_look = 0;     // what the first look of this round has seen, here
    uint64_t run = 0;            // in force at `parsed`
    std::vector<Hole> holes;
  };

  // A stretch of one run in one segment.
  struct Piece {
    uint64_t run;
    uint64_t order;
    Reader* reader;
    uint32_t begin, end;  // in reader->words
    bool late = false;    // a former hole: word and payload are in `words`
    uint32_t late_index = 0;
    uint64_t late_words[2] = {0, 0};
  };

  void FindReaders();
  void Look(Reader* reader, bool last);
  void Cut(Reader* reader, uint64_t newest, bool last, std::vector<Piece>* pieces);
  void HoldBack(uint64_t newest, std::vector<Reader*>* of_newest);
  void CutHoles(Reader* reader, std::vector<Piece>* pieces);
  // Puts out the calls of a piece.
  void Emit(const Piece& piece);
  // `index` is the word's in its segment.
  void EmitCall(Reader* reader, uint32_t index, uint64_t word, uint64_t payload);
  void EmitEvent(const Event& event);
  void EmitPendingRelease();
  void FindThread(Reader* reader);
  bool Finished(const Reader& reader) const;

  Image* const image_;
  const size_t limit_;
  std::vector<Event>* const events_;
  const std::function<void()> full_;
  std::vector<std::vector<Reader>> readers_;  // by spool and index
  absl::flat_hash_map<uint32_t, uint32_t> threads_;  // recorder's number -> dense
  uint32_t next_thread_ = 0;

  // A realloc's release is held back by one call: if its acquire comes next, as
  // it does unless threads compete, the two are one event.
  bool have_release_ = false;
  Event release_;
  const Reader* release_reader_ = nullptr;
  uint32_t release_index_ = 0;
  uint32_t finished_ = 0;
  uint64_t words_ = 0;
  uint64_t damaged_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_RECORDER_COLLECTOR_MERGER_H_
