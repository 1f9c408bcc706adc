// ElfFile: what a program or shared object says about itself.
//
// Mainland; immutable once opened. The file is not trusted.

#ifndef HEAPTAPE_VERIFIER_ELF_FILE_H_
#define HEAPTAPE_VERIFIER_ELF_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace heaptape {

class ElfFile {
 public:
  // InvalidArgument if the file is no ELF file, or is damaged.
  static absl::StatusOr<ElfFile> Open(const std::string& path);

  bool is_64_bit() const { return is_64_bit_; }
  // Whether symbols' values are addresses, rather than distances from where it is loaded.
  bool has_fixed_address() const { return has_fixed_address_; }
  // The dynamic linker that it asks for; empty: none.
  const std::string& interpreter() const { return interpreter_; }
  // The value of a symbol that it defines for others to find.
  std::optional<uint64_t> Symbol(const std::string& name) const;

 private:
  bool is_64_bit_ = false;
  bool has_fixed_address_ = false;
  std::string interpreter_;
  std::map<std::string, uint64_t> symbols_;  // those that verify asks for
};

}  // namespace heaptape

#endif  // HEAPTAPE_VERIFIER_ELF_FILE_H_
