#include "tools/progress_line.h"

#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace heaptape {
namespace {

volatile sig_atomic_t g_interrupted = 0;

void OnInterrupt(int) { g_interrupted = 1; }

}  // namespace

std::string ProgressText(const std::string& what, double fraction, uint64_t events, double seconds) {
  std::string text = absl::StrFormat("%s %3.0f %%", what, 100 * fraction);
  if (seconds < 0.5 || events == 0) return text;
  absl::StrAppendFormat(&text, ", %.1f M events, %.1f M a second", 1e-6 * events, 1e-6 * events / seconds);
  if (fraction > 0.01) absl::StrAppendFormat(&text, ", %.0f s left", seconds * (1 - fraction) / fraction);
  return text;
}

ProgressLine::ProgressLine(const std::string& what)
    : what_(what), is_terminal_(isatty(STDERR_FILENO) != 0), started_(std::chrono::steady_clock::now()) {}

void ProgressLine::Show(double fraction, uint64_t events) {
  if (!is_terminal_) return;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started_;
  std::fprintf(stderr, "\r%s\x1b[K", ProgressText(what_, fraction, events, passed.count()).c_str());
  shown_ = true;
}

void ProgressLine::Clear() {
  if (shown_) std::fprintf(stderr, "\r\x1b[K");
  shown_ = false;
}

InterruptFlag::InterruptFlag() {
  g_interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, &old_);
  // Who started us to ignore it, as a shell does in the background, means it.
  if (old_.sa_handler == SIG_IGN) sigaction(SIGINT, &old_, nullptr);
}

InterruptFlag::~InterruptFlag() { sigaction(SIGINT, &old_, nullptr); }

bool InterruptFlag::raised() const { return g_interrupted != 0; }

}  // namespace heaptape
