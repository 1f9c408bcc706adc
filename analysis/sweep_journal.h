// SweepJournal: the rows of a sweep that is under way, in a file, so that a sweep that
// is killed can go on.
//
// Mainland. One thread at a time. A line of JSON first, which says what is swept, then
// a line for each row. A torn last line is a row that was not done.

#ifndef HEAPTAPE_ANALYSIS_SWEEP_JOURNAL_H_
#define HEAPTAPE_ANALYSIS_SWEEP_JOURNAL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/sweep.h"
#include "nlohmann/json.hpp"

namespace heaptape {

class SweepJournal {
 public:
  // Opens the journal at `path`, and begins it anew if it is not about `key` or cannot
  // be read. Unavailable if it cannot be written, or another sweep is at it.
  static absl::StatusOr<std::unique_ptr<SweepJournal>> Open(const std::string& path,
                                                            const nlohmann::ordered_json& key);

  // Leaves the file.
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  // What was in it.
  const std::vector<SweepRow>& known() const { return known_; }

  // Is on disk, as far as another process is concerned, when it returns.
  void Add(const SweepRow& row);

  // The sweep is done.
  void Remove();

 private:
  SweepJournal(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  // Takes the rows out of `text`; the bytes that are whole lines of this sweep.
  size_t Read(const std::string& text, const nlohmann::ordered_json& key);
  void WriteLine(const nlohmann::ordered_json& json);

  const std::string path_;
  const int fd_;
  std::vector<SweepRow> known_;
};

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_SWEEP_JOURNAL_H_
