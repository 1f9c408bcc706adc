// AddressTable: which slot holds the block at a recorded address.
//
// Mainland, plan compiler only. One thread at a time. Open addressing with
// linear probing; a removal shifts the run behind it back, so there are no
// tombstones and a table that has seen a billion blocks is as fast as a new
// one. Grows by doubling, never shrinks; at most half full, so that a look-up
// is one cache miss, which Prefetch() can take beforehand.

#ifndef HEAPTAPE_REPLAYER_PLAN_ADDRESS_TABLE_H_
#define HEAPTAPE_REPLAYER_PLAN_ADDRESS_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heaptape {

class AddressTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  AddressTable();

  // Maps `address` (not 0) to `slot`. Returns the slot that it was mapped to
  // until now, or kNone.
  uint32_t Exchange(uint64_t address, uint32_t slot);

  // Unmaps `address` (not 0). Returns the slot it was mapped to, or kNone.
  uint32_t Erase(uint64_t address);

  // The slot of `address` (not 0), or kNone.
  uint32_t Find(uint64_t address) const;

  // Brings what a look-up of `address` will read into the cache.
  void Prefetch(uint64_t address) const { __builtin_prefetch(&entries_[Home(address)]); }

  size_t size() const { return size_; }

 private:
  struct Entry {
    uint64_t address;  // 0: empty
    uint32_t slot;
    uint32_t unused;
  };

  // Fibonacci hashing: the top bits of the product depend on all of the address.
  size_t Home(uint64_t address) const { return address * 0x9e3779b97f4a7c15u >> shift_; }
  void Grow();

  std::vector<Entry> entries_;  // a power of two
  size_t mask_;
  int shift_;  // 64 - log2 of the number of entries
  size_t size_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_PLAN_ADDRESS_TABLE_H_
