// Call: what the interposer logs of one call, as one or two 64-bit words.
//
// Lives for one recording between an interposer and a collector of the same
// build; the trace has Events instead. Freestanding.
//
// The low three bits of a word are its tag. A word of all zeros has not been
// written yet. Nearly all calls are one word, so one store logs them: a program
// that is killed has logged a call or it has not.
//
//   short call    63..21 address / 16    20..3 size           tag 1..5
//   long word     63..16 address         15..8 detail  7..3 form   tag 6
//   payload       63..3 value                                  tag 7
//
// A long word is followed by one payload where its form says so. The payload is
// stored first, so a long word that can be seen is whole; and a payload can be
// told from the beginning of a call, so a reader finds its place again behind
// an entry that a signal handler jumped out of.

#ifndef HEAPTAPE_RECORDER_WIRE_CALL_H_
#define HEAPTAPE_RECORDER_WIRE_CALL_H_

#include <stdint.h>

namespace heaptape::wire {

enum class Tag : uint64_t {
  kNone = 0,
  kMalloc = 1,
  kFree = 2,      // size unused
  kCalloc = 3,
  kRelease = 4,   // a block goes into realloc; size unused; address 0: realloc(NULL)
  kAcquire = 5,   // what this thread's last open realloc gave
  kLong = 6,
  kPayload = 7,
};

// What a long word says. The first forms have a size as payload.
enum class Form : uint64_t {
  kMalloc = 0,
  kCalloc = 1,
  kAcquire = 2,
  kMemalign = 3,       // detail: log2 of the alignment, in these five
  kAlignedAlloc = 4,
  kPosixMemalign = 5,
  kValloc = 6,
  kPvalloc = 7,
  kMallopt = 8,        // address: parameter (32 bits); detail: result; payload: value
  kMallocTrim = 9,     // detail: result; payload: pad
  kThreadEnd = 16,     // no payload from here on
  kRun = 17,           // address: ticket (48 bits)
  kPad = 18,           // nothing; the segment ends here
  kFree = 19,          // of a block that no short word can name
  kRelease = 20,       // likewise
};

inline constexpr uint64_t kMaxShortSize = (uint64_t{1} << 18) - 1;
inline constexpr uint64_t kMaxPayload = (uint64_t{1} << 61) - 1;
inline constexpr uint64_t kTicketMask = (uint64_t{1} << 48) - 1;

constexpr bool HasPayload(Form form) { return form < Form::kThreadEnd; }

// `address` below 2^47 and a multiple of 16; `size` at most kMaxShortSize.
constexpr uint64_t ShortCall(Tag tag, uint64_t address, uint64_t size) {
  return address << 17 | size << 3 | static_cast<uint64_t>(tag);
}
constexpr bool FitsShort(uint64_t address, uint64_t size) {
  return (address & 15) == 0 && size <= kMaxShortSize;
}
constexpr uint64_t LongWord(Form form, uint64_t detail, uint64_t address) {
  return address << 16 | detail << 8 | static_cast<uint64_t>(form) << 3 | static_cast<uint64_t>(Tag::kLong);
}
constexpr uint64_t Payload(uint64_t value) {
  return (value < kMaxPayload ? value : kMaxPayload) << 3 | static_cast<uint64_t>(Tag::kPayload);
}

constexpr Tag TagOf(uint64_t word) { return static_cast<Tag>(word & 7); }
constexpr uint64_t ShortAddress(uint64_t word) { return word >> 21 << 4; }
constexpr uint64_t ShortSize(uint64_t word) { return word >> 3 & kMaxShortSize; }
constexpr Form FormOf(uint64_t word) { return static_cast<Form>(word >> 3 & 31); }
constexpr uint64_t DetailOf(uint64_t word) { return word >> 8 & 255; }
constexpr uint64_t LongAddress(uint64_t word) { return word >> 16; }
constexpr uint64_t PayloadValue(uint64_t word) { return word >> 3; }

static_assert(ShortAddress(ShortCall(Tag::kFree, 0x7ffffffffff0, 0)) == 0x7ffffffffff0);
static_assert(ShortSize(ShortCall(Tag::kMalloc, 0x7ffffffffff0, kMaxShortSize)) == kMaxShortSize);
static_assert(LongAddress(LongWord(Form::kPvalloc, 63, 0x7ffffffff001)) == 0x7ffffffff001);

}  // namespace heaptape::wire

#endif  // HEAPTAPE_RECORDER_WIRE_CALL_H_
