// Varints in memory: appending to a column, reading it back.
//
// As in Protocol Buffers: seven bits a byte, the lowest first, the top bit set on
// all bytes but the last. Mainland; inline, since these are the inner loops of
// recording and replaying.

#ifndef HEAPTAPE_PROTO_VARINT_H_
#define HEAPTAPE_PROTO_VARINT_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace heaptape {

inline constexpr int kMaxVarintBytes = 10;

inline constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// A column that is being written. The string belongs to the caller and is whole
// only after Finish.
class VarintWriter {
 public:
  VarintWriter() = default;
  // Room for `values` values is made at once; writing more is undefined.
  VarintWriter(std::string* column, size_t values) : column_(column) {
    // Never shrunk, so that only the first batch pays for clearing it.
    if (column_->size() < values * kMaxVarintBytes) column_->resize(values * kMaxVarintBytes);
    next_ = column_->data();
  }

  void Put(uint64_t value) {
    if (value < uint64_t{1} << 28) {
      // How many bytes it takes is hard to predict, so no branch asks: the groups
      // of seven bits are spread out, and four bytes stored whatever the length.
      const auto low = static_cast<uint32_t>(value);
      uint32_t spread = (low & 0x3fff) | (low & 0xfffc000) << 2;
      spread = (spread & 0x007f007f) | (spread & 0x3f803f80) << 1;
      const int bytes = (std::bit_width(low | 1) * 9 + 64) >> 6;
      spread |= 0x80808080 & static_cast<uint32_t>((uint64_t{1} << (8 * (bytes - 1))) - 1);
      memcpy(next_, &spread, sizeof spread);  // little-endian, as all we run on
      next_ += bytes;
      return;
    }
    while (value >= 0x80) {
      *next_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *next_++ = static_cast<char>(value);
  }

  // Bytes written so far.
  absl::string_view written() const { return {column_->data(), static_cast<size_t>(next_ - column_->data())}; }

 private:
  std::string* column_ = nullptr;
  char* next_ = nullptr;
};

class VarintReader {
 public:
  explicit VarintReader(absl::string_view column) : next_(column.data()), end_(column.data() + column.size()) {}

  bool at_end() const { return next_ == end_; }
  // Whether a value was cut off or too long; all values from there on are 0.
  bool bad() const { return bad_; }

  uint64_t Next() {
    uint64_t value = 0;
    for (int shift = 0; next_ != end_ && shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(*next_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    bad_ = true;
    next_ = end_;
    return 0;
  }

 private:
  const char* next_;
  const char* const end_;
  bool bad_ = false;
};

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_VARINT_H_
