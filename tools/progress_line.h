// What a long command shows on a terminal, and what it does about Ctrl-C.
//
// Mainland, main thread alone.

#ifndef HEAPTAPE_TOOLS_PROGRESS_LINE_H_
#define HEAPTAPE_TOOLS_PROGRESS_LINE_H_

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace heaptape {

// "replaying   42 %, 31.5 M events, 28.7 M a second, 2 s left"; the time is left out
// as long as it cannot be told.
std::string ProgressText(const std::string& what, double fraction, uint64_t events, double seconds);

// One line on standard error that is written over; nothing where that is no terminal.
class ProgressLine {
 public:
  // `what`: a present participle.
  explicit ProgressLine(const std::string& what);

  void Show(double fraction, uint64_t events);
  void Clear();

 private:
  const std::string what_;
  const bool is_terminal_;
  const std::chrono::steady_clock::time_point started_;
  bool shown_ = false;
};

// While it lives, the first interrupt is only noted; a second one ends the program.
class InterruptFlag {
 public:
  InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;

  bool raised() const;

 private:
  struct sigaction old_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_PROGRESS_LINE_H_
