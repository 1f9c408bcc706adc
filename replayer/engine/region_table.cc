#include "replayer/engine/region_table.h"

#include <string.h>

namespace heaptape {

namespace {

constexpr uint32_t kPrepareBlocks = 64;

bool SameMapping(const RegionTable::Piece* low, const RegionTable::Piece* high) {
  return low != nullptr && high != nullptr && low->hi == high->lo && low->flags == high->flags;
}

}  // namespace

void RegionTable::Init(Block* memory, void (*prepare)(void* memory, size_t bytes)) {
  memory_ = memory;
  prepare_ = prepare;
  prepared_ = free_count_ = unused_ = blocks_ = 0;
  pieces_ = writable_bytes_ = mappings_ = 0;
  overflowed_ = false;
}

void RegionTable::Add(const Piece& piece) {
  if (piece.lo >= piece.hi) return;
  Remove(piece.lo, piece.hi);
  Insert(LowerBound(piece.lo), piece);
  JoinAt(piece.lo);
  JoinAt(piece.hi);
}

void RegionTable::Remove(uint64_t lo, uint64_t hi) {
  if (lo >= hi) return;
  Cut(lo);
  Cut(hi);
  for (At at = LowerBound(lo); !IsEnd(at) && Get(at).lo < hi; at = LowerBound(lo)) Erase(at);
}

void RegionTable::Protect(uint64_t lo, uint64_t hi, bool writable) {
  if (lo >= hi) return;
  Cut(lo);
  Cut(hi);
  for (At at = LowerBound(lo); !IsEnd(at) && Get(at).lo < hi; at = Next(at)) {
    const uint32_t flags = Get(at).flags & ~kWritable;
    SetFlags(at, writable ? flags | kWritable : flags);
  }
  // Pieces that differed only in protection may be one now.
  for (uint64_t seam = lo; seam < hi;) {
    JoinAt(seam);
    const Piece* piece = AtOrAbove(seam);
    if (piece == nullptr) return;
    seam = piece->hi;
  }
  JoinAt(hi);
}

void RegionTable::Rename(uint64_t address, uint32_t origin) {
  At at = LowerBound(address);
  if (IsEnd(at) || Get(at).lo > address) return;
  const uint32_t old = Get(at).origin;
  for (At low = at; Previous(&low) && Get(low).hi == Get(at).lo && Get(low).origin == old;) {
    at = low;
  }
  uint64_t hi = Get(at).lo;
  for (; !IsEnd(at) && Get(at).lo == hi && Get(at).origin == old; at = Next(at)) {
    Get(at).origin = origin;
    hi = Get(at).hi;
  }
}

const RegionTable::Piece* RegionTable::Find(uint64_t address) const {
  const At at = LowerBound(address);
  return IsEnd(at) || Get(at).lo > address ? nullptr : &Get(at);
}

const RegionTable::Piece* RegionTable::AtOrAbove(uint64_t address) const {
  const At at = LowerBound(address);
  return IsEnd(at) ? nullptr : &Get(at);
}

// Where the lowest piece that ends above `address` is.
RegionTable::At RegionTable::LowerBound(uint64_t address) const {
  uint32_t block = 0;  // the last that begins at or below address
  for (uint32_t n = blocks_; n > 1;) {
    const uint32_t half = n / 2;
    if (lowest_[block + half] <= address) block += half;
    n -= half;
  }
  if (blocks_ == 0) return {0, 0};
  const Block& in = *order_[block];
  uint32_t index = 0;
  for (uint32_t n = in.count; n > 0;) {
    const uint32_t half = n / 2;
    if (in.pieces[index + half].hi <= address) {
      index += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return index == in.count ? At{block + 1, 0} : At{block, index};
}

RegionTable::At RegionTable::Next(At at) const {
  return at.index + 1 == order_[at.block]->count ? At{at.block + 1, 0} : At{at.block, at.index + 1};
}

bool RegionTable::Previous(At* at) const {
  if (at->index > 0) {
    --at->index;
    return true;
  }
  if (at->block == 0) return false;
  --at->block;
  at->index = order_[at->block]->count - 1;
  return true;
}

const RegionTable::Piece* RegionTable::Before(At at) const {
  return Previous(&at) ? &Get(at) : nullptr;
}

void RegionTable::Count(const Piece* before, const Piece& piece, const Piece* after, int sign) {
  pieces_ += sign;
  if ((piece.flags & kWritable) != 0) writable_bytes_ += sign * (piece.hi - piece.lo);
  mappings_ += sign * (1 - SameMapping(before, &piece) - SameMapping(&piece, after) +
                       SameMapping(before, after));
}

void RegionTable::Insert(At at, const Piece& piece) {
  Count(Before(at), piece, IsEnd(at) ? nullptr : &Get(at), +1);
  // At the seam of two blocks the end of the lower one is the cheaper place.
  if (at.index == 0 && at.block > 0) at = {at.block - 1, (uint32_t)order_[at.block - 1]->count};
  if (blocks_ == 0) NewBlock(0);
  if (overflowed_) return;
  Block* block = order_[at.block];
  if (block->count == kBlockPieces) {
    Block* upper = NewBlock(at.block + 1);
    if (upper == nullptr) return;
    // A run of rising addresses leaves full blocks behind, others halves.
    const uint32_t keep = at.index == kBlockPieces ? kBlockPieces - 1 : kBlockPieces / 2;
    upper->count = kBlockPieces - keep;
    memcpy(upper->pieces, block->pieces + keep, upper->count * sizeof(Piece));
    block->count = keep;
    lowest_[at.block + 1] = upper->pieces[0].lo;
    if (at.index > keep) {
      at = {at.block + 1, at.index - keep};
      block = upper;
    }
  }
  memmove(block->pieces + at.index + 1, block->pieces + at.index,
          (block->count - at.index) * sizeof(Piece));
  block->pieces[at.index] = piece;
  ++block->count;
  lowest_[at.block] = block->pieces[0].lo;
}

void RegionTable::Erase(At at) {
  const At next = Next(at);
  Count(Before(at), Get(at), IsEnd(next) ? nullptr : &Get(next), -1);
  Block* block = order_[at.block];
  --block->count;
  memmove(block->pieces + at.index, block->pieces + at.index + 1,
          (block->count - at.index) * sizeof(Piece));
  if (block->count == 0) {
    DropBlock(at.block);
    return;
  }
  lowest_[at.block] = block->pieces[0].lo;
  MergeSmall(at.block);
  if (at.block > 0) MergeSmall(at.block - 1);
}

void RegionTable::SetFlags(At at, uint32_t flags) {
  const At next = Next(at);
  const Piece* after = IsEnd(next) ? nullptr : &Get(next);
  Count(Before(at), Get(at), after, -1);
  Get(at).flags = flags;
  Count(Before(at), Get(at), after, +1);
}

// Makes `address` the border of two pieces if it lies inside one.
void RegionTable::Cut(uint64_t address) {
  const At at = LowerBound(address);
  if (IsEnd(at) || Get(at).lo >= address) return;
  Piece upper = Get(at);
  upper.lo = address;
  // As if the upper part had gone; inserting it brings it back.
  if ((upper.flags & kWritable) != 0) writable_bytes_ -= upper.hi - address;
  const At next = Next(at);
  if (!IsEnd(next)) mappings_ += SameMapping(&Get(at), &Get(next));
  Get(at).hi = address;
  Insert(LowerBound(address), upper);
}

// Joins the pieces that meet at `address` if they are of one kind.
void RegionTable::JoinAt(uint64_t address) {
  const At high = LowerBound(address);
  At low = high;
  if (IsEnd(high) || Get(high).lo != address || !Previous(&low)) return;
  const Piece above = Get(high);
  if (!SameMapping(&Get(low), &above) || Get(low).origin != above.origin) return;
  Erase(high);
  // Erase may have moved the lower one to another block.
  low = LowerBound(address - 1);
  const At next = Next(low);
  if (!IsEnd(next)) {
    Piece whole = Get(low);
    whole.hi = above.hi;
    mappings_ -= SameMapping(&whole, &Get(next));
  }
  Get(low).hi = above.hi;
  if ((above.flags & kWritable) != 0) writable_bytes_ += above.hi - above.lo;
}

RegionTable::Block* RegionTable::NewBlock(uint32_t at) {
  Block* block;
  if (free_count_ > 0) {
    block = free_[--free_count_];
  } else if (unused_ < kBlockCapacity) {
    if (unused_ == prepared_) {
      if (prepare_ != nullptr) prepare_(memory_ + prepared_, kPrepareBlocks * sizeof(Block));
      prepared_ += kPrepareBlocks;
    }
    block = memory_ + unused_++;
  } else {
    overflowed_ = true;
    return nullptr;
  }
  block->count = 0;
  memmove(order_ + at + 1, order_ + at, (blocks_ - at) * sizeof(order_[0]));
  memmove(lowest_ + at + 1, lowest_ + at, (blocks_ - at) * sizeof(lowest_[0]));
  order_[at] = block;
  ++blocks_;
  return block;
}

void RegionTable::DropBlock(uint32_t at) {
  free_[free_count_++] = order_[at];
  --blocks_;
  memmove(order_ + at, order_ + at + 1, (blocks_ - at) * sizeof(order_[0]));
  memmove(lowest_ + at, lowest_ + at + 1, (blocks_ - at) * sizeof(lowest_[0]));
}

// Joins block `at` with the next if both are small, so that the blocks last.
void RegionTable::MergeSmall(uint32_t at) {
  if (at + 1 >= blocks_) return;
  Block* low = order_[at];
  const Block* high = order_[at + 1];
  if (low->count + high->count > kBlockPieces * 2 / 3) return;
  memcpy(low->pieces + low->count, high->pieces, high->count * sizeof(Piece));
  low->count += high->count;
  DropBlock(at + 1);
}

}  // namespace heaptape
