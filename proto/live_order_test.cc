#include "proto/live_order.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

// Against a plain list, newest last.
TEST(LiveOrder, AsAListWould) {
  std::map<uint64_t, uint32_t> positions;
  LiveOrder order([&positions](uint64_t address, uint32_t position) { positions[address] = position; });
  std::vector<uint64_t> list;
  std::mt19937 random(1);
  for (uint64_t i = 1; i <= 50000; ++i) {
    const size_t wanted = i < 20000 ? 3000 : 50;  // grows, then shrinks
    if (list.empty() || random() % (2 * wanted) >= list.size()) {
      list.push_back(i);
      positions[i] = order.Add(i);
    } else {
      const size_t rank = random() % list.size();
      const uint64_t address = list[list.size() - 1 - rank];
      ASSERT_EQ(order.PositionOf(rank), positions[address]);
      ASSERT_EQ(order.RankOf(positions[address]), rank);
      ASSERT_EQ(order.AddressAt(positions[address]), address);
      order.Remove(positions[address]);
      list.erase(list.end() - 1 - rank);
      positions.erase(address);
    }
    ASSERT_EQ(order.size(), list.size());
  }
}

TEST(LiveOrder, TheOldestOfMany) {
  LiveOrder order;
  for (uint64_t i = 0; i < 5000; ++i) order.Add(i);
  EXPECT_EQ(order.AddressAt(order.PositionOf(4999)), 0u);
  EXPECT_EQ(order.AddressAt(order.PositionOf(0)), 4999u);
}

}  // namespace
}  // namespace heaptape
