#include "replayer/engine/settling.h"

#include "replayer/engine/own_world.h"

namespace heaptape {

namespace {

constexpr uint64_t kMostSteps = 256;
constexpr int kBlocks = 32;  // of each size, a thread and step
constexpr size_t kSmallBytes = 64;
// Beyond what thread caches keep: allocators look at the clock behind those.
constexpr size_t kLargeBytes = 64 << 10;

void DoLittle(const Allocator& allocator) {
  void* blocks[kBlocks];
  for (void*& block : blocks) block = allocator.malloc(kSmallBytes);
  for (void* block : blocks) allocator.free(block);
  for (int i = 0; i < kBlocks; ++i) allocator.free(allocator.malloc(kLargeBytes));
}

}  // namespace

bool Settle(Engine* engine, uint64_t milliseconds) {
  if (!engine->lanes_by_fs_base) return false;
  engine->lanes.LetMove();
  SharedHeader* shared = engine->shared;
  if (shared->unsettled_system_bytes == 0) {
    shared->unsettled_system_bytes = engine->system_calls->Measure();
    shared->unsettled_resident_bytes = engine->resident.Measure(engine->progress.events);
  }
  for (uint64_t step = 0; step < kMostSteps; ++step) {
    PassTime(milliseconds * 1000 / kMostSteps);
    for (uint32_t lane = 0; lane < engine->lanes.numbers(); ++lane) {
      const uint64_t fs_base = engine->lanes[lane].fs_base;
      if (fs_base == 0) continue;
      SetFsBase(fs_base);
      DoLittle(engine->allocator);
    }
  }
  engine->lane = 0;
  SetFsBase(engine->lanes[0].fs_base);
  return true;
}

}  // namespace heaptape
