#include "replayer/engine/results.h"

#include <malloc.h>

#include "replayer/engine/call_sites.h"
#include "replayer/engine/glibc_heap.h"
#include "replayer/engine/own_pages.h"

namespace heaptape {

namespace {

using Piece = RegionTable::Piece;

uint64_t CountLiveBlocks(const Engine& engine) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < engine.slot_count; ++i) count += engine.slots[i].address != 0;
  return count;
}

void WriteMallinfo(SharedHeader* shared) {
  const struct mallinfo2 info = mallinfo2();
  shared->mallinfo_arena = info.arena;
  shared->mallinfo_hblkhd = info.hblkhd;
  shared->mallinfo_uordblks = info.uordblks;
  shared->mallinfo_fordblks = info.fordblks;
}

void WriteOwnBlocks(Engine* engine) {
  GlibcOwnBlocks blocks(engine->system_calls->table(), engine->own_blocks, kOwnBlockCapacity);
  blocks.AddHeapHeads();
  for (uint32_t lane = 0; lane < engine->lanes.numbers(); ++lane) {
    const uint64_t fs_base = engine->lanes[lane].fs_base;
    if (fs_base != 0) blocks.AddTcache(fs_base);
  }
  engine->shared->thread_cache_bytes = blocks.tcache_bytes();
  engine->shared->own_block_count = blocks.Sort();
}

// A heap's writable tail that its arena has given back is shown as not writable.
void WriteRegions(Engine* engine) {
  const SystemCallLog& calls = *engine->system_calls;
  uint32_t count = 0;
  const auto put = [&](uint64_t lo, uint64_t hi, const Piece& piece, bool writable) {
    if (lo == hi || count == kRegionCapacity) return;
    engine->regions[count++] = {lo, hi, piece.birth_event, piece.origin, writable};
  };
  for (const Piece* p = calls.table().AtOrAbove(0); p != nullptr;
       p = calls.table().AtOrAbove(p->hi)) {
    const bool writable = (p->flags & RegionTable::kWritable) != 0;
    const uint64_t end = writable ? calls.UsableEnd(*p) : p->lo;
    put(p->lo, end, *p, true);
    put(end, p->hi, *p, false);
  }
  engine->shared->region_count = count;
}

}  // namespace

Baseline TakeBaseline(const Engine& engine) {
  return {MinorFaults() - OwnMinorFaults(), NowNs(), engine.ring.wait_ns()};
}

void WriteResults(Engine* engine, const Baseline& baseline) {
  SharedHeader* shared = engine->shared;
  const Progress& progress = engine->progress;
  const uint64_t now = NowNs();
  shared->minor_faults = MinorFaults() - OwnMinorFaults() - baseline.minor_faults;
  shared->wait_ns = engine->ring.wait_ns() - baseline.wait_ns;
  shared->sample_ns = progress.sample_ns;
  shared->replay_ns = now - baseline.time_ns - shared->wait_ns - shared->sample_ns;

  shared->events_done = progress.events;
  shared->digest = progress.digest;
  shared->live_blocks = CountLiveBlocks(*engine);
  shared->usable_bytes = progress.usable_bytes;
  shared->peak_usable_bytes = progress.peak_usable_bytes;
  shared->peak_usable_event = progress.peak_usable_event;
  shared->failed_calls = progress.failed_calls;
  shared->sample_count = progress.sample_count;
  shared->lanes = engine->lanes.made();
  shared->placement_counts = engine->placement.counts();

  SystemCallLog& calls = *engine->system_calls;
  shared->system_bytes = calls.Measure();
  shared->peak_system_bytes = calls.peak_bytes();
  shared->peak_system_event = calls.peak_event();
  shared->syscalls = calls.counts();
  shared->rewritten_call_sites = CallSites::count();
  shared->peak_mappings = calls.peak_mappings();
  shared->resident_bytes = engine->resident.Measure(progress.events);
  shared->peak_resident_bytes = engine->resident.peak_bytes();
  shared->peak_resident_event = engine->resident.peak_event();

  if (engine->allocator.is_glibc) {
    WriteMallinfo(shared);
    WriteOwnBlocks(engine);
  }
  WriteRegions(engine);
}

}  // namespace heaptape
