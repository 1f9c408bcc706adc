// AddressTable: which slot holds the block at a recorded address.
//
// Mainland, plan compiler only. One thread at a time. Open addressing with
// linear probing; a removal shifts the run behind it back, so there are no
// tombstones and a table that has seen a billion blocks is as fast as a new
// one. Grows by doubling, never shrinks; at most a quarter full, so that a look-up
// is one cache miss, which Prefetch() can take beforehand.
//
// An entry is a slot and half of its address's hash, eight bytes. The address itself
// is in the block, which whoever looks one up reads anyway; it is compared where the
// halves agree.

#ifndef HEAPTAPE_REPLAYER_PLAN_ADDRESS_TABLE_H_
#define HEAPTAPE_REPLAYER_PLAN_ADDRESS_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replayer/plan/huge_pages.h"
#include "replayer/plan/plan_block.h"

namespace heaptape {

class AddressTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // `blocks` outlives the table. REQUIRES: as long as a slot is in the table,
  // (*blocks)[slot].recorded_address is the address that it was put in with.
  explicit AddressTable(const PlanBlocks* blocks);

  // Maps `address` (not 0) to `slot`, whose block has that address. Returns the slot
  // that it was mapped to until now, or kNone.
  uint32_t Exchange(uint64_t address, uint32_t slot);

  // Unmaps `address` (not 0). Returns the slot it was mapped to, or kNone.
  uint32_t Erase(uint64_t address);

  // The slot of `address` (not 0), or kNone.
  uint32_t Find(uint64_t address) const;

  // Brings what a look-up of `address` will read into the cache.
  void Prefetch(uint64_t address) const { __builtin_prefetch(&entries_[Home(Hash(address))]); }
  // The slot of `address`, most likely, if there is one; else that of another or 0.
  uint32_t Guess(uint64_t address) const {
    const Entry& entry = entries_[Home(Hash(address))];
    return entry.slot_plus_one - (entry.slot_plus_one != 0);
  }

  size_t size() const { return size_; }

 private:
  struct Entry {
    uint32_t hash;
    uint32_t slot_plus_one;  // 0: empty

    uint32_t slot() const { return slot_plus_one - 1; }
  };
  using Entries = std::vector<Entry, HugePageAllocator<Entry>>;

  // Fibonacci hashing: the top bits of the product depend on all of the address.
  static uint32_t Hash(uint64_t address) { return address * 0x9e3779b97f4a7c15u >> 32; }
  size_t Home(uint32_t hash) const { return hash >> shift_; }
  bool Matches(const Entry& entry, uint32_t hash, uint64_t address) const {
    return entry.hash == hash && (*blocks_)[entry.slot()].recorded_address == address;
  }
  void Grow();

  const PlanBlocks* const blocks_;
  Entries entries_;  // a power of two, at most 2^32
  size_t mask_;
  int shift_;  // 32 - log2 of the number of entries
  size_t size_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_PLAN_ADDRESS_TABLE_H_
