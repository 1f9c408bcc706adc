#include "analysis/sweep_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/sweep_json.h"

namespace heaptape {
namespace {

using nlohmann::ordered_json;

absl::Status CannotWrite(const std::string& path, const char* why) {
  return absl::UnavailableError(absl::StrCat(path, ": ", why));
}

absl::StatusOr<std::string> ReadAll(const std::string& path, int fd) {
  std::string text;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotWrite(path, strerror(errno));
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<SweepJournal>> SweepJournal::Open(const std::string& path, const ordered_json& key) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return CannotWrite(path, strerror(errno));
  std::unique_ptr<SweepJournal> journal(new SweepJournal(path, fd));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return CannotWrite(path, "another sweep of this trace is under way");
  const absl::StatusOr<std::string> text = ReadAll(path, fd);
  if (!text.ok()) return text.status();
  const size_t good = journal->Read(*text, key);
  if (ftruncate(fd, static_cast<off_t>(good)) != 0 || lseek(fd, 0, SEEK_END) < 0) {
    return CannotWrite(path, strerror(errno));
  }
  if (good == 0) journal->WriteLine(key);
  return journal;
}

SweepJournal::~SweepJournal() { close(fd_); }

size_t SweepJournal::Read(const std::string& text, const ordered_json& key) {
  size_t begin = 0;
  for (;;) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) return begin;
    const ordered_json line = ordered_json::parse(text.begin() + begin, text.begin() + end, nullptr, false);
    if (begin == 0) {
      if (line != key) return 0;
    } else {
      absl::StatusOr<SweepRow> row = ParseSweepRow(line);
      if (!row.ok()) return begin;
      known_.push_back(*std::move(row));
    }
    begin = end + 1;
  }
}

void SweepJournal::Add(const SweepRow& row) { WriteLine(SweepRowJson(row)); }

void SweepJournal::Remove() { unlink(path_.c_str()); }

void SweepJournal::WriteLine(const ordered_json& json) {
  const std::string line = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t count = write(fd_, line.data() + done, line.size() - done);
    if (count < 0 && errno != EINTR) return;  // then it is not known the next time
    if (count > 0) done += static_cast<size_t>(count);
  }
}

}  // namespace heaptape
