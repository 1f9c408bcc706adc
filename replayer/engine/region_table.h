// RegionTable: which pieces of address space the allocator holds.
//
// Island (the engine keeps it up to date from the allocator's system calls), but
// freestanding, so that it is tested on the mainland. One thread at a time.
// Never allocates: it works in memory that Init is given.
//
// A program that frees mmapped blocks in any order has tens of thousands of
// pieces, and a change comes with each call, so the pieces lie in order in blocks
// of a page, and an index holds the lowest address of each block: a look-up is
// two binary searches, a change moves less than a page.

#ifndef HEAPTAPE_REPLAYER_ENGINE_REGION_TABLE_H_
#define HEAPTAPE_REPLAYER_ENGINE_REGION_TABLE_H_

#include <stddef.h>
#include <stdint.h>

namespace heaptape {

class RegionTable {
 public:
  enum Flags : uint32_t {
    kWritable = 1,   // readable and writable
    kReserved = 2,   // was mapped without access: a glibc arena heap, say
    kNoReserve = 4,  // MAP_NORESERVE: the kernel never joins it to one without
  };

  struct Piece {
    uint64_t lo;
    uint64_t hi;
    uint64_t birth_event;
    uint32_t origin;
    uint32_t flags;
  };

  static constexpr uint32_t kBlockPieces = 127;
  static constexpr uint32_t kBlockCapacity = 8192;
  // Any number of pieces up to this fits, however they came about.
  static constexpr uint32_t kPieceCapacity = 256 << 10;

  struct Block {
    uint64_t count;
    uint64_t unused[3];
    Piece pieces[kBlockPieces];
  };

  // Works in kBlockCapacity blocks at `memory`. `prepare`, if not null, is told
  // of memory just before it is first used.
  void Init(Block* memory, void (*prepare)(void* memory, size_t bytes));

  // The allocator now holds [lo, hi), whatever it held there before. Joined to
  // neighbours of the same origin and flags. Addresses are page-aligned.
  void Add(const Piece& piece);
  // It no longer holds any of [lo, hi).
  void Remove(uint64_t lo, uint64_t hi);
  // What it holds of [lo, hi) is now writable or not.
  void Protect(uint64_t lo, uint64_t hi, bool writable);
  // Gives the piece at `address` and its touching kin of the same origin another.
  void Rename(uint64_t address, uint32_t origin);

  // The piece that contains `address`, or null. Valid until the next change.
  const Piece* Find(uint64_t address) const;
  // The lowest piece that ends above `address`, or null: for (p = AtOrAbove(0);
  // p != null; p = AtOrAbove(p->hi)) visits all in order.
  const Piece* AtOrAbove(uint64_t address) const;

  uint64_t writable_bytes() const { return writable_bytes_; }
  uint64_t pieces() const { return pieces_; }
  // Mappings as the kernel counts them: touching pieces of the same flags are one.
  uint64_t mappings() const { return mappings_; }
  // True once a change did not fit; the table is wrong from then on.
  bool overflowed() const { return overflowed_; }

 private:
  struct At {
    uint32_t block;
    uint32_t index;
  };

  At LowerBound(uint64_t address) const;
  bool IsEnd(At at) const { return at.block == blocks_; }
  Piece& Get(At at) const { return order_[at.block]->pieces[at.index]; }
  At Next(At at) const;
  // False at the first piece.
  bool Previous(At* at) const;
  const Piece* Before(At at) const;

  void Insert(At at, const Piece& piece);
  void Erase(At at);
  void SetFlags(At at, uint32_t flags);
  void Cut(uint64_t address);
  void JoinAt(uint64_t address);
  // +1 or -1 times what `piece`, at its place between its neighbours, adds to the totals.
  void Count(const Piece* before, const Piece& piece, const Piece* after, int sign);

  Block* NewBlock(uint32_t at);
  void DropBlock(uint32_t at);
  void MergeSmall(uint32_t at);

  Block* memory_;
  void (*prepare_)(void*, size_t);
  uint32_t prepared_;             // blocks of memory_
  uint32_t free_count_, unused_;  // blocks given back; first block never used
  uint32_t blocks_;
  uint64_t pieces_, writable_bytes_, mappings_;
  bool overflowed_;
  Block* order_[kBlockCapacity];
  uint64_t lowest_[kBlockCapacity];  // order_[i]->pieces[0].lo
  Block* free_[kBlockCapacity];
};

static_assert(sizeof(RegionTable::Block) == 4096);

}  // namespace heaptape

#endif  // HEAPTAPE_REPLAYER_ENGINE_REGION_TABLE_H_
