#include "replayer/plan/address_table.h"

#include <utility>

namespace heaptape {

namespace {
constexpr int kInitialBits = 12;
}  // namespace

AddressTable::AddressTable()
    : entries_(size_t{1} << kInitialBits, Entry{}),
      mask_((size_t{1} << kInitialBits) - 1),
      shift_(64 - kInitialBits) {}

uint32_t AddressTable::Exchange(uint64_t address, uint32_t slot) {
  size_t at = Home(address);
  while (entries_[at].address != 0) {
    if (entries_[at].address == address) return std::exchange(entries_[at].slot, slot);
    at = (at + 1) & mask_;
  }
  entries_[at] = Entry{address, slot, 0};
  if (++size_ * 4 > entries_.size()) Grow();
  return kNone;
}

uint32_t AddressTable::Erase(uint64_t address) {
  size_t hole = Home(address);
  while (entries_[hole].address != address) {
    if (entries_[hole].address == 0) return kNone;
    hole = (hole + 1) & mask_;
  }
  const uint32_t slot = entries_[hole].slot;
  // Entries behind the hole move into it unless that would put them before
  // their home, where a look-up begins.
  for (size_t at = (hole + 1) & mask_; entries_[at].address != 0; at = (at + 1) & mask_) {
    const size_t home = Home(entries_[at].address);
    if (((at - home) & mask_) >= ((at - hole) & mask_)) {
      entries_[hole] = entries_[at];
      hole = at;
    }
  }
  entries_[hole].address = 0;
  --size_;
  return slot;
}

uint32_t AddressTable::Find(uint64_t address) const {
  for (size_t at = Home(address); entries_[at].address != 0; at = (at + 1) & mask_) {
    if (entries_[at].address == address) return entries_[at].slot;
  }
  return kNone;
}

void AddressTable::Grow() {
  std::vector<Entry> old = std::move(entries_);
  entries_.assign(old.size() * 2, Entry{});
  mask_ = entries_.size() - 1;
  --shift_;
  for (const Entry& entry : old) {
    if (entry.address == 0) continue;
    size_t at = Home(entry.address);
    while (entries_[at].address != 0) at = (at + 1) & mask_;
    entries_[at] = entry;
  }
}

}  // namespace heaptape
