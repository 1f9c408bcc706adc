#include "tools/byte_size.h"

#include <charconv>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace heaptape {

absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text) {
  const absl::Status error = absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a size: a number is, alone or with K, M or G behind it"));
  absl::string_view digits = text;
  int shift = 0;
  if (!digits.empty()) {
    switch (digits.back()) {
      case 'k': case 'K': shift = 10; break;
      case 'm': case 'M': shift = 20; break;
      case 'g': case 'G': shift = 30; break;
    }
    if (shift > 0) digits.remove_suffix(1);
  }
  int base = 10;
  if (digits.substr(0, 2) == "0x") {
    base = 16;
    digits.remove_prefix(2);
  }
  uint64_t number = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (digits.empty() || code != std::errc() || end != digits.data() + digits.size()) return error;
  if (number << shift >> shift != number) return error;
  return number << shift;
}

CLI::Validator ByteSize() {
  return CLI::Validator(
      [](std::string& text) {
        const absl::StatusOr<uint64_t> bytes = ParseByteSize(text);
        if (!bytes.ok()) return std::string(bytes.status().message());
        text = absl::StrCat(*bytes);
        return std::string();
      },
      "");
}

}  // namespace heaptape
