#include "proto/android_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace heaptape {
namespace {

// An operation of the text and its arguments: one character each, 'a' address,
// 'o' old address, 's' size, 'c' count that multiplies it, 'l' alignment, '-'
// nothing of interest.
struct Operation {
  std::string_view name;
  EventKind kind;
  std::string_view arguments;
};

constexpr Operation kOperations[] = {
    {"malloc", EventKind::kMalloc, "as"},       {"free", EventKind::kFree, "a"},
    {"realloc", EventKind::kRealloc, "aos"},    {"calloc", EventKind::kCalloc, "acs"},
    {"memalign", EventKind::kMemalign, "als"},  {"thread_done", EventKind::kThreadEnd, "-"},
};

// The next word of *rest, which loses it; empty at the end.
std::string_view NextWord(std::string_view* rest) {
  const size_t begin = std::min(rest->find_first_not_of(" \t"), rest->size());
  const size_t end = std::min(rest->find_first_of(" \t", begin), rest->size());
  const std::string_view word = rest->substr(begin, end - begin);
  rest->remove_prefix(end);
  return word;
}

bool ParseNumber(std::string_view word, int base, uint64_t* number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number, base);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

bool ParseAddress(std::string_view word, uint64_t* address) {
  if (word.substr(0, 2) != "0x") return false;
  return ParseNumber(word.substr(2), 16, address);
}

absl::Status Bad(absl::string_view what, std::string_view word) {
  // Whatever bytes the file has, the message stays one line of sane length.
  const std::string shown = absl::CHexEscape(std::string(word.substr(0, 60)));
  return absl::InvalidArgumentError(absl::StrCat(what, " \"", shown, "\""));
}

}  // namespace

absl::Status AndroidTextParser::Parse(std::string_view line, std::vector<Event>* events) {
  std::string_view rest = line;
  std::string_view word = NextWord(&rest);
  if (word.empty()) return absl::OkStatus();

  uint64_t id = 0;
  if (word.back() != ':' || !ParseNumber(word.substr(0, word.size() - 1), 10, &id)) {
    return Bad("a line begins with its thread's number and a colon, not with", word);
  }

  word = NextWord(&rest);
  const auto operation = std::find_if(std::begin(kOperations), std::end(kOperations),
                                      [word](const Operation& candidate) { return candidate.name == word; });
  if (operation == std::end(kOperations)) {
    return Bad("expected malloc, calloc, realloc, memalign, free or thread_done, not", word);
  }

  Event event;
  event.kind = operation->kind;
  uint64_t count = 1;
  uint64_t alignment = 1;
  for (const char argument : operation->arguments) {
    word = NextWord(&rest);
    bool ok = true;
    switch (argument) {
      case 'a': ok = ParseAddress(word, &event.address); break;
      case 'o': ok = ParseAddress(word, &event.old_address); break;
      case 's': ok = ParseNumber(word, 10, &event.size); break;
      case 'c': ok = ParseNumber(word, 10, &count); break;
      case 'l': ok = ParseNumber(word, 10, &alignment); break;
      default: ok = !word.empty(); break;
    }
    if (ok) continue;
    const bool address = argument == 'a' || argument == 'o';
    return word.empty() ? absl::InvalidArgumentError(absl::StrCat("the line ends early: ", EventName(event.kind),
                                                                  " lacks an argument"))
                        : Bad(address ? "expected an address like 0x1f80, not" : "expected a number, not", word);
  }

  // Begin and end of the call, in newer files; of a thread_done perhaps one.
  time_ns_ = 0;
  for (int i = 0; i < 2; ++i) {
    word = NextWord(&rest);
    if (word.empty()) {
      if (i == 1 && event.kind != EventKind::kThreadEnd) return Bad("a begin without an end:", line);
      break;
    }
    if (!ParseNumber(word, 10, &time_ns_)) return Bad("expected a time in nanoseconds, not", word);
  }
  word = NextWord(&rest);
  if (!word.empty()) return Bad("more than the call needs:", word);

  if (__builtin_mul_overflow(event.size, count, &event.size)) event.size = std::numeric_limits<uint64_t>::max();
  // As memalign itself does, up to a power of two.
  if (alignment > 1) {
    event.alignment_log2 = static_cast<uint8_t>(std::min<int>(63, static_cast<int>(std::bit_width(alignment - 1))));
  }

  if (id != last_id_) {
    const auto [living, is_new] = thread_of_.try_emplace(id, threads_);
    if (is_new) {
      Event start;
      start.kind = EventKind::kThreadStart;
      start.thread = threads_++;
      start.size = id;
      events->push_back(start);
    }
    last_id_ = id;
    last_thread_ = living->second;
  }
  event.thread = last_thread_;
  if (event.kind == EventKind::kThreadEnd) {
    ++thread_ends_;
    thread_of_.erase(id);
    last_id_ = ~uint64_t{0};
  } else {
    ++calls_;
  }
  greatest_address_ = std::max({greatest_address_, event.address, event.old_address});
  events->push_back(event);
  return absl::OkStatus();
}

}  // namespace heaptape
