#include "replayer/plan/address_table.h"

#include <map>
#include <random>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

TEST(AddressTable, ExchangeTellsWhatWasThere) {
  const PlanBlocks blocks(3, {.recorded_address = 16});
  AddressTable table(&blocks);
  EXPECT_EQ(table.Exchange(16, 1), AddressTable::kNone);
  EXPECT_EQ(table.Exchange(16, 2), 1u);
  EXPECT_EQ(table.Find(16), 2u);
  EXPECT_EQ(table.Erase(16), 2u);
  EXPECT_EQ(table.Erase(16), AddressTable::kNone);
  EXPECT_EQ(table.size(), 0u);
}

// Few distinct addresses make long runs that meet, wrap and are cut.
TEST(AddressTable, AgreesWithAMap) {
  for (const uint64_t addresses : {50u, 3000u, 100000u}) {
    std::mt19937_64 random(addresses);
    PlanBlocks blocks(300000);
    AddressTable table(&blocks);
    std::map<uint64_t, uint32_t> map;
    for (uint32_t step = 0; step < blocks.size(); ++step) {
      const uint64_t address = (random() % addresses + 1) << (random() % 2 * 20 + 4);
      const auto found = map.find(address);
      const uint32_t expected = found == map.end() ? AddressTable::kNone : found->second;
      ASSERT_EQ(table.Find(address), expected);
      if (random() % 2 == 0) {
        blocks[step].recorded_address = address;
        ASSERT_EQ(table.Exchange(address, step), expected);
        map[address] = step;
      } else {
        ASSERT_EQ(table.Erase(address), expected);
        map.erase(address);
      }
      ASSERT_EQ(table.size(), map.size());
    }
  }
}

// Half of a hash is not an address: these agree in it.
TEST(AddressTable, TellsAddressesOfOneHashApart) {
  // The hash is the upper half of a product with an odd number, so adding the number's
  // inverse adds one to the lower half.
  uint64_t inverse = 1;
  for (int i = 0; i < 6; ++i) inverse *= 2 - 0x9e3779b97f4a7c15u * inverse;
  PlanBlocks blocks;
  for (uint64_t i = 1; i <= 100; ++i) blocks.push_back({.recorded_address = i * inverse});
  AddressTable table(&blocks);
  for (uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(table.Exchange(blocks[i].recorded_address, i), AddressTable::kNone);
  }
  for (uint32_t i = 0; i < 100; i += 2) ASSERT_EQ(table.Erase(blocks[i].recorded_address), i);
  for (uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(table.Find(blocks[i].recorded_address), i % 2 == 0 ? AddressTable::kNone : i);
  }
}

}  // namespace
}  // namespace heaptape
