#include "replayer/engine/region_table.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace heaptape {
namespace {

using Piece = RegionTable::Piece;
constexpr uint32_t kWritable = RegionTable::kWritable;

class RegionTableTest : public testing::Test {
 protected:
  RegionTableTest()
      : memory_(new RegionTable::Block[RegionTable::kBlockCapacity]), table_(new RegionTable) {
    table_->Init(memory_.get(), nullptr);
  }

  void Add(uint64_t lo, uint64_t hi, uint32_t origin, uint32_t flags = kWritable) {
    table_->Add({lo, hi, 7, origin, flags});
  }

  std::string Text() const {
    std::string text;
    for (const Piece* p = table_->AtOrAbove(0); p != nullptr; p = table_->AtOrAbove(p->hi)) {
      text += std::to_string(p->lo) + "-" + std::to_string(p->hi) + "/" +
              std::to_string(p->origin) + ((p->flags & kWritable) != 0 ? "w " : "- ");
    }
    return text;
  }

  std::unique_ptr<RegionTable::Block[]> memory_;
  std::unique_ptr<RegionTable> table_;
};

TEST_F(RegionTableTest, JoinsOnlyTheSameOriginAndProtection) {
  Add(10, 20, 1);
  Add(20, 30, 1);
  Add(30, 40, 2);
  Add(40, 50, 2, 0);
  EXPECT_EQ(Text(), "10-30/1w 30-40/2w 40-50/2- ");
  EXPECT_EQ(table_->mappings(), 2u);
  EXPECT_EQ(table_->writable_bytes(), 30u);
}

TEST_F(RegionTableTest, RemoveSplits) {
  Add(10, 100, 1);
  table_->Remove(30, 40);
  EXPECT_EQ(Text(), "10-30/1w 40-100/1w ");
  table_->Remove(0, 15);
  table_->Remove(99, 200);
  EXPECT_EQ(Text(), "15-30/1w 40-99/1w ");
  EXPECT_EQ(table_->writable_bytes(), 74u);
}

// As glibc makes an arena heap: reserve twice its size, trim to alignment, open
// the beginning, grow it.
TEST_F(RegionTableTest, ArenaHeap) {
  Add(100, 228, 1, 0);
  table_->Remove(100, 128);
  table_->Remove(192, 228);
  table_->Protect(128, 132, true);
  EXPECT_EQ(Text(), "128-132/1w 132-192/1- ");
  table_->Protect(132, 140, true);
  EXPECT_EQ(Text(), "128-140/1w 140-192/1- ");
  EXPECT_EQ(table_->mappings(), 2u);
  EXPECT_EQ(table_->writable_bytes(), 12u);
  table_->Rename(130, 5);
  EXPECT_EQ(Text(), "128-140/5w 140-192/5- ");
}

TEST_F(RegionTableTest, FindAndOrder) {
  Add(10, 20, 1);
  Add(30, 40, 2);
  EXPECT_EQ(table_->Find(9), nullptr);
  EXPECT_EQ(table_->Find(10)->origin, 1u);
  EXPECT_EQ(table_->Find(20), nullptr);
  EXPECT_EQ(table_->Find(39)->origin, 2u);
  EXPECT_EQ(table_->Find(40), nullptr);
  EXPECT_EQ(table_->AtOrAbove(20)->lo, 30u);
  EXPECT_EQ(table_->AtOrAbove(40), nullptr);
}

// A page is {origin, flags}; the table must say the same as an array of them.
class PageModel {
 public:
  explicit PageModel(size_t pages) : pages_(pages) {}

  void Add(uint64_t lo, uint64_t hi, uint32_t origin, uint32_t flags) {
    for (uint64_t i = lo; i < hi; ++i) pages_[i] = {true, origin, flags};
  }
  void Remove(uint64_t lo, uint64_t hi) {
    for (uint64_t i = lo; i < hi; ++i) pages_[i] = {};
  }
  void Protect(uint64_t lo, uint64_t hi, bool writable) {
    for (uint64_t i = lo; i < hi; ++i) {
      if (pages_[i].held) pages_[i].flags = (pages_[i].flags & ~kWritable) | (writable ? 1 : 0);
    }
  }

  void ExpectSame(const RegionTable& table) const {
    uint64_t pieces = 0, mappings = 0, writable = 0;
    const Page* before = nullptr;
    for (uint64_t i = 0; i < pages_.size(); ++i) {
      const Page& page = pages_[i];
      const Piece* piece = table.Find(i);
      ASSERT_EQ(piece != nullptr, page.held) << i;
      if (page.held) {
        ASSERT_EQ(piece->origin, page.origin) << i;
        ASSERT_EQ(piece->flags, page.flags) << i;
        writable += page.flags & kWritable;
        const bool joins = before != nullptr && before->held && before->flags == page.flags;
        mappings += !joins;
        pieces += !joins || before->origin != page.origin;
      }
      before = &page;
    }
    ASSERT_EQ(table.pieces(), pieces);
    ASSERT_EQ(table.mappings(), mappings);
    ASSERT_EQ(table.writable_bytes(), writable);
  }

 private:
  struct Page {
    bool held = false;
    uint32_t origin = 0;
    uint32_t flags = 0;
  };
  std::vector<Page> pages_;
};

TEST_F(RegionTableTest, AgreesWithAnArrayOfPages) {
  for (const uint64_t pages : {uint64_t{40}, uint64_t{5000}}) {
    std::mt19937_64 random(pages);
    table_->Init(memory_.get(), nullptr);
    PageModel model(pages);
    for (int step = 0; step < 20000; ++step) {
      const uint64_t lo = random() % pages;
      const uint64_t hi = std::min(pages, lo + 1 + random() % 8);
      const uint32_t origin = random() % 3;
      const uint32_t flags = random() % 4;
      switch (random() % 4) {
        case 0:
        case 1:
          Add(lo, hi, origin, flags);
          model.Add(lo, hi, origin, flags);
          break;
        case 2:
          table_->Remove(lo, hi);
          model.Remove(lo, hi);
          break;
        case 3:
          table_->Protect(lo, hi, (flags & kWritable) != 0);
          model.Protect(lo, hi, (flags & kWritable) != 0);
          break;
      }
      if (step % (pages / 40) == 0 && (step < 2000 || step > 18000)) model.ExpectSame(*table_);
    }
    model.ExpectSame(*table_);
  }
}

// Every other page of a great many, taken and returned in random order.
TEST_F(RegionTableTest, HoldsItsCapacityInAnyOrder) {
  const uint64_t count = RegionTable::kPieceCapacity;
  std::vector<uint64_t> order(count);
  for (uint64_t i = 0; i < count; ++i) order[i] = i;
  std::mt19937_64 random(1);
  std::shuffle(order.begin(), order.end(), random);
  for (uint64_t i : order) Add(2 * i, 2 * i + 1, i);
  EXPECT_EQ(table_->pieces(), count);
  EXPECT_EQ(table_->mappings(), count);
  std::shuffle(order.begin(), order.end(), random);
  for (uint64_t i : order) {
    ASSERT_EQ(table_->Find(2 * i)->origin, i);
    table_->Remove(2 * i, 2 * i + 1);
  }
  EXPECT_EQ(table_->pieces(), 0u);
  for (uint64_t i = 0; i < count; ++i) Add(2 * i, 2 * i + 1, i);
  EXPECT_FALSE(table_->overflowed());
}

TEST_F(RegionTableTest, SaysWhenItIsFull) {
  for (uint64_t i = 0; !table_->overflowed(); ++i) {
    ASSERT_LT(i, 2u * RegionTable::kBlockCapacity * RegionTable::kBlockPieces);
    Add(2 * i, 2 * i + 1, 0);
  }
  EXPECT_GE(table_->pieces(), RegionTable::kPieceCapacity);
}

}  // namespace
}  // namespace heaptape
