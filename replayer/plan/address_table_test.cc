#include "replayer/plan/address_table.h"

#include <map>
#include <random>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

TEST(AddressTable, ExchangeTellsWhatWasThere) {
  AddressTable table;
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
    AddressTable table;
    std::map<uint64_t, uint32_t> map;
    for (uint32_t step = 0; step < 300000; ++step) {
      const uint64_t address = (random() % addresses + 1) << (random() % 2 * 20 + 4);
      const auto found = map.find(address);
      const uint32_t expected = found == map.end() ? AddressTable::kNone : found->second;
      ASSERT_EQ(table.Find(address), expected);
      if (random() % 2 == 0) {
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

}  // namespace
}  // namespace heaptape
