// Text<N>: a string in a fixed buffer; too much is cut off and remembered.
//
// Freestanding, allocates nothing, calls nothing.

#ifndef HEAPTAPE_RECORDER_RAW_TEXT_H_
#define HEAPTAPE_RECORDER_RAW_TEXT_H_

#include <stddef.h>
#include <stdint.h>

namespace heaptape::raw {

template <size_t N>
class Text {
 public:
  Text& Add(const char* text) {
    while (*text != '\0') Put(*text++);
    return *this;
  }
  Text& AddNumber(uint64_t value) {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count > 0) Put(digits[--count]);
    return *this;
  }
  void Clear() {
    size_ = 0;
    overflow_ = false;
    data_[0] = '\0';
  }

  const char* c_str() const { return data_; }
  size_t size() const { return size_; }
  bool overflow() const { return overflow_; }

 private:
  void Put(char c) {
    if (size_ + 1 >= N) {
      overflow_ = true;
      return;
    }
    data_[size_++] = c;
    data_[size_] = '\0';
  }

  size_t size_ = 0;
  bool overflow_ = false;
  char data_[N] = {};
};

// Whether `text` begins with `prefix`.
inline bool HasPrefix(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

inline bool Equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

}  // namespace heaptape::raw

#endif  // HEAPTAPE_RECORDER_RAW_TEXT_H_
