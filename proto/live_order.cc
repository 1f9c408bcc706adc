#include "proto/live_order.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace heaptape {

namespace {
constexpr size_t kFewestPositions = 1024;
}  // namespace

LiveOrder::LiveOrder(Moved moved)
    : moved_(std::move(moved)), addresses_(kFewestPositions), live_(kFewestPositions), tree_(kFewestPositions + 1) {}

uint32_t LiveOrder::Add(uint64_t address) {
  if (next_ == addresses_.size()) MoveTogether();
  const uint32_t position = next_++;
  addresses_[position] = address;
  live_[position] = true;
  Count(position, 1);
  ++size_;
  return position;
}

void LiveOrder::Remove(uint32_t position) {
  live_[position] = false;
  Count(position, -1);
  --size_;
}

uint64_t LiveOrder::RankOf(uint32_t position) const {
  uint64_t before = 0;  // and itself
  for (uint32_t node = position + 1; node > 0; node &= node - 1) before += tree_[node];
  return size_ - before;
}

uint32_t LiveOrder::PositionOf(uint64_t rank) const {
  uint64_t before = size_ - 1 - rank;  // so many live ones stand before it
  uint32_t position = 0;
  for (uint32_t step = static_cast<uint32_t>(addresses_.size()); step > 0; step /= 2) {
    if (position + step <= addresses_.size() && tree_[position + step] <= before) {
      position += step;
      before -= tree_[position];
    }
  }
  return position;
}

void LiveOrder::Count(uint32_t position, int32_t change) {
  for (size_t node = position + 1; node < tree_.size(); node += node & -node) tree_[node] += change;
}

void LiveOrder::MoveTogether() {
  std::vector<uint64_t> old = std::move(addresses_);
  const std::vector<bool> was_live = std::move(live_);
  const size_t positions = std::bit_ceil(std::max(kFewestPositions, 2 * size_));
  addresses_.assign(positions, 0);
  live_.assign(positions, false);
  tree_.assign(positions + 1, 0);
  next_ = 0;
  for (size_t position = 0; position < old.size(); ++position) {
    if (!was_live[position]) continue;
    addresses_[next_] = old[position];
    live_[next_] = true;
    if (moved_ != nullptr) moved_(old[position], next_);
    ++next_;
  }
  // Each node's sum from those below it, once.
  for (size_t node = 1; node < tree_.size(); ++node) {
    tree_[node] += live_[node - 1];
    const size_t above = node + (node & -node);
    if (above < tree_.size()) tree_[above] += tree_[node];
  }
}

}  // namespace heaptape
