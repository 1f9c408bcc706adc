#include "replayer/driver/result_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace heaptape {

namespace {

template <typename T>
const T* At(const char* shared_memory, uint64_t offset) {
  return reinterpret_cast<const T*>(shared_memory + offset);
}

template <size_t N>
std::string Text(const char (&text)[N]) {
  return std::string(text, strnlen(text, N));
}

double Seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

void ReadSettings(const SharedHeader& shared, SettingsInForce* settings) {
  settings->allocator_path = Text(shared.allocator);
  settings->is_glibc = shared.allocator_is_glibc != 0;
  settings->glibc_version = Text(shared.glibc_version);
  settings->touch = shared.touch;
  settings->aslr_disabled = shared.aslr_disabled != 0;
  settings->lanes_by_fs_base = shared.lanes_by_fs_base != 0;
  settings->contents_left_out = shared.contents_left_out != 0;
  settings->rewritten_call_sites = shared.rewritten_call_sites;
  settings->syscalls_seen = shared.syscalls_seen != 0;
}

void ReadTimeline(const char* shared_memory, const std::vector<uint64_t>& requested,
                  ReplayResult* result) {
  const uint64_t count =
      std::min<uint64_t>(At<SharedHeader>(shared_memory, 0)->sample_count, kSampleCapacity);
  const Sample* samples = At<Sample>(shared_memory, kSamplesOffset);
  for (uint64_t i = 0; i < count; ++i) {
    result->timeline.push_back({samples[i].event, i < requested.size() ? requested[i] : 0,
                                samples[i].usable_bytes, samples[i].system_bytes,
                                samples[i].resident_bytes});
  }
}

void Join(const PlanBlock& plan, LiveBlock* block) {
  block->requested_bytes = plan.requested_bytes;
  block->event = plan.event;
  block->recorded_address = plan.recorded_address;
  block->thread = plan.thread;
  block->kind = plan.kind;
  block->alignment_log2 = plan.alignment_log2;
}

// Slots that hold a block at the end. Which those are only the plan can tell
// without looking at all that were ever used, so without one all are looked at.
void ReadBlocks(const char* shared_memory, const PlanBlocks* plan_blocks, ReplayResult* result) {
  const Slot* slots = At<Slot>(shared_memory, kSlotsOffset);
  const uint64_t live = At<SharedHeader>(shared_memory, 0)->live_blocks;
  const uint64_t used = std::min(At<SharedHeader>(shared_memory, 0)->slot_count, kSlotCapacity);
  const uint64_t count = plan_blocks != nullptr ? std::min(plan_blocks->size(), used) : used;
  result->blocks.reserve(std::min(live, kSlotCapacity));
  for (uint64_t i = 0; i < count && result->blocks.size() < live; ++i) {
    if (slots[i].address == 0) continue;
    LiveBlock block;
    block.address = slots[i].address;
    block.usable_bytes = slots[i].usable_bytes;
    block.slot = i;
    if (plan_blocks != nullptr) Join((*plan_blocks)[i], &block);
    result->blocks.push_back(block);
  }
  std::sort(result->blocks.begin(), result->blocks.end(),
            [](const LiveBlock& a, const LiveBlock& b) { return a.address < b.address; });
}

}  // namespace

void JoinStopped(const PlanOutcome& outcome, ReplayResult* result) {
  result->plan = outcome.totals;
  result->requested_bytes = outcome.totals.requested_bytes;
  result->peak_requested = {outcome.totals.peak_requested_bytes,
                            outcome.totals.peak_requested_event};
  for (LiveBlock& block : result->blocks) {
    if (block.slot < outcome.blocks.size()) Join(outcome.blocks[block.slot], &block);
  }
  const std::vector<uint64_t>& requested = outcome.sample_requested_bytes;
  for (size_t i = 0; i < result->timeline.size() && i < requested.size(); ++i) {
    result->timeline[i].requested_bytes = requested[i];
  }
}

ReplayResult ReadResult(const char* shared_memory, const PlanOutcome* outcome) {
  const SharedHeader& shared = *At<SharedHeader>(shared_memory, 0);
  ReplayResult result;
  result.stopped = shared.state == EngineState::kStopped;
  if (result.stopped) outcome = nullptr;
  ReadSettings(shared, &result.settings);
  if (outcome != nullptr) {
    result.plan = outcome->totals;
    result.health = outcome->health;
    result.requested_bytes = outcome->totals.requested_bytes;
    result.peak_requested = {outcome->totals.peak_requested_bytes,
                             outcome->totals.peak_requested_event};
  }

  result.events_done = shared.events_done;
  result.digest = shared.digest;
  result.failed_calls = shared.failed_calls;
  result.lanes = shared.lanes;
  result.live_blocks = shared.live_blocks;
  result.usable_bytes = shared.usable_bytes;
  result.system_bytes = shared.system_bytes;
  result.resident_bytes = shared.resident_bytes;
  result.peak_usable = {shared.peak_usable_bytes, shared.peak_usable_event};
  result.peak_system = {shared.peak_system_bytes, shared.peak_system_event};
  result.peak_resident = {shared.peak_resident_bytes, shared.peak_resident_event};
  result.syscalls = shared.syscalls;
  result.minor_faults = shared.minor_faults;
  result.peak_mappings = shared.peak_mappings;
  result.mallinfo_arena = shared.mallinfo_arena;
  result.mallinfo_hblkhd = shared.mallinfo_hblkhd;
  result.mallinfo_uordblks = shared.mallinfo_uordblks;
  result.mallinfo_fordblks = shared.mallinfo_fordblks;
  result.initial_heap_bytes = shared.initial_heap_bytes;
  result.engine_allocations = shared.own_allocations;
  result.heap_start = shared.heap_start;
  result.thread_cache_bytes = shared.thread_cache_bytes;
  if (shared.unsettled_system_bytes != 0) {
    result.unsettled = {shared.unsettled_system_bytes, shared.unsettled_resident_bytes};
  }
  if (shared.placement != 0) result.placement = shared.placement_counts;
  result.allocator_seconds = Seconds(shared.replay_ns);
  result.wait_seconds = Seconds(shared.wait_ns);
  result.sample_seconds = Seconds(shared.sample_ns);

  ReadTimeline(shared_memory,
               outcome != nullptr ? outcome->sample_requested_bytes : std::vector<uint64_t>(),
               &result);
  const Region* regions = At<Region>(shared_memory, kRegionsOffset);
  result.regions.assign(regions,
                        regions + std::min<uint64_t>(shared.region_count, kRegionCapacity));
  const Slot* own = At<Slot>(shared_memory, kOwnBlocksOffset);
  result.own_blocks.assign(own,
                           own + std::min<uint64_t>(shared.own_block_count, kOwnBlockCapacity));
  ReadBlocks(shared_memory, outcome != nullptr ? &outcome->blocks : nullptr, &result);
  return result;
}

}  // namespace heaptape
