// ByteSize: sizes on the command line, 65536 or 64K.
//
// Mainland. Thread-safe.

#ifndef HEAPTAPE_TOOLS_BYTE_SIZE_H_
#define HEAPTAPE_TOOLS_BYTE_SIZE_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace heaptape {

// Decimal, or hexadecimal behind 0x; then perhaps K, M or G, which are powers
// of 1024. InvalidArgument for anything else and for what exceeds 64 bits.
absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text);

// For CLI::Option::transform: makes plain bytes of what was typed.
CLI::Validator ByteSize();

}  // namespace heaptape

#endif  // HEAPTAPE_TOOLS_BYTE_SIZE_H_
