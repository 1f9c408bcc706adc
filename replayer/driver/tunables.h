// Tunables: which settings a glibc knows, and in which range.
//
// Mainland; immutable once loaded, so any thread. glibc ignores a name that it
// does not know and a value out of range without a word, and a measurement then
// shows the default's behaviour under a wrong label. So its own loader is asked
// (ld.so --list-tunables, glibc 2.33 or newer), and what it would ignore refused.

#ifndef HEAPTAPE_REPLAYER_DRIVER_TUNABLES_H_
#define HEAPTAPE_REPLAYER_DRIVER_TUNABLES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace heaptape {

class Tunables {
 public:
  struct Range {
    bool is_number = false;  // otherwise text, of any kind
    uint64_t min = 0;
    uint64_t max = 0;
  };

  // Those of the glibc in `glibc_directory`, or of the running one if empty.
  // Unavailable if its loader cannot be run or does not say.
  static absl::StatusOr<Tunables> Load(const std::string& glibc_directory = "");

  // From the text that the loader prints. InvalidArgument if there is none in it.
  static absl::StatusOr<Tunables> Parse(absl::string_view text);

  // `value` in the form to hand to glibc: a decimal number, or the text. Errors,
  // InvalidArgument all: a name that is not known, with the nearest that is and
  // all of its namespace; no number; a number out of range, with the range.
  absl::StatusOr<std::string> Check(const std::string& name, const std::string& value) const;

  // The known name that `name` probably stands for; empty if there is none near.
  std::string Nearest(const std::string& name) const;

  const std::map<std::string, Range>& ranges() const { return ranges_; }

 private:
  absl::Status Unknown(const std::string& name) const;

  std::map<std::string, Range> ranges_;
};

// The tunable that one of the older variables sets, as MALLOC_ARENA_MAX does; empty
// if that is none of them.
absl::string_view TunableOfVariable(absl::string_view variable);
// The other way round.
absl::string_view VariableOfTunable(absl::string_view tunable);
// The one of them that `variable` probably stands for; empty if there is none near.
absl::string_view NearestVariable(absl::string_view variable);

// Whether one of `tunables`, by full name, stops glibc from moving its mmap threshold:
// setting any of four does, to whatever value.
bool FreezesMmapThreshold(const std::map<std::string, std::string>& tunables);

// The dynamic loader of the running system, or of a directory with a glibc in it.
std::string LoaderPath(const std::string& glibc_directory);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_DRIVER_TUNABLES_H_
