// LiveOrder: the live blocks in the order of their allocation, by rank.
//
// Mainland. One thread at a time. Rank 0 is the latest of them. Blocks stand at
// positions, counted up as they come, in a Fenwick tree (Fenwick, "A new data
// structure for cumulative frequency tables", 1994) that tells how many live
// ones stand before a position, and where the n-th is, in logarithmic time. When
// positions run out, the live ones move together; so memory grows with live
// blocks, not with allocations.

#ifndef HEAPTAPE_PROTO_LIVE_ORDER_H_
#define HEAPTAPE_PROTO_LIVE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace heaptape {

class LiveOrder {
 public:
  // `moved`, if set, is told of every block that gets another position.
  using Moved = std::function<void(uint64_t address, uint32_t position)>;
  explicit LiveOrder(Moved moved = nullptr);

  // Adds a block as the latest. Returns its position.
  uint32_t Add(uint64_t address);
  // Takes the block at `position` out. REQUIRES: there is one.
  void Remove(uint32_t position);

  size_t size() const { return size_; }
  uint64_t AddressAt(uint32_t position) const { return addresses_[position]; }
  uint64_t RankOf(uint32_t position) const;
  // REQUIRES: rank < size().
  uint32_t PositionOf(uint64_t rank) const;

 private:
  void Count(uint32_t position, int32_t change);
  void MoveTogether();

  const Moved moved_;
  std::vector<uint64_t> addresses_;  // by position
  std::vector<bool> live_;
  std::vector<uint32_t> tree_;  // one more than there are positions, a power of two
  uint32_t next_ = 0;
  size_t size_ = 0;
};

}  // namespace heaptape

#endif  // HEAPTAPE_PROTO_LIVE_ORDER_H_
