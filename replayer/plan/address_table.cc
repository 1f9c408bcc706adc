#include "replayer/plan/address_table.h"

#include <utility>

#include "replayer/plan/instruction.h"

namespace heaptape {

namespace {
constexpr int kInitialBits = 12;
}  // namespace

static_assert(4 * kSlotCapacity <= uint64_t{1} << 32, "a hash must tell every entry's home");

AddressTable::AddressTable(const PlanBlocks* blocks)
    : blocks_(blocks),
      entries_(size_t{1} << kInitialBits),
      mask_((size_t{1} << kInitialBits) - 1),
      shift_(32 - kInitialBits) {}

uint32_t AddressTable::Exchange(uint64_t address, uint32_t slot) {
  const uint32_t hash = Hash(address);
  size_t at = Home(hash);
  while (entries_[at].slot_plus_one != 0) {
    if (Matches(entries_[at], hash, address)) {
      return std::exchange(entries_[at].slot_plus_one, slot + 1) - 1;
    }
    at = (at + 1) & mask_;
  }
  entries_[at] = Entry{hash, slot + 1};
  if (++size_ * 4 > entries_.size()) Grow();
  return kNone;
}

uint32_t AddressTable::Erase(uint64_t address) {
  const uint32_t hash = Hash(address);
  size_t hole = Home(hash);
  for (;; hole = (hole + 1) & mask_) {
    if (entries_[hole].slot_plus_one == 0) return kNone;
    if (Matches(entries_[hole], hash, address)) break;
  }
  const uint32_t slot = entries_[hole].slot();
  // Entries behind the hole move into it unless that would put them before
  // their home, where a look-up begins.
  for (size_t at = (hole + 1) & mask_; entries_[at].slot_plus_one != 0; at = (at + 1) & mask_) {
    const size_t home = Home(entries_[at].hash);
    if (((at - home) & mask_) >= ((at - hole) & mask_)) {
      entries_[hole] = entries_[at];
      hole = at;
    }
  }
  entries_[hole] = Entry{};
  --size_;
  return slot;
}

uint32_t AddressTable::Find(uint64_t address) const {
  const uint32_t hash = Hash(address);
  for (size_t at = Home(hash); entries_[at].slot_plus_one != 0; at = (at + 1) & mask_) {
    if (Matches(entries_[at], hash, address)) return entries_[at].slot();
  }
  return kNone;
}

void AddressTable::Grow() {
  const Entries old = std::move(entries_);
  entries_ = Entries(old.size() * 2);
  mask_ = entries_.size() - 1;
  --shift_;
  for (const Entry& entry : old) {
    if (entry.slot_plus_one == 0) continue;
    size_t at = Home(entry.hash);
    while (entries_[at].slot_plus_one != 0) at = (at + 1) & mask_;
    entries_[at] = entry;
  }
}

}  // namespace heaptape
