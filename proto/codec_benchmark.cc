// What a batch costs: encoding with compression (the collector's work) and
// decoding (the plan compiler's input), in time and bytes an event.

#include <zstd.h>

#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "proto/batch_codec.h"
#include "proto/random_events.h"

namespace heaptape {
namespace {

std::vector<Event> RandomLoop() {
  RandomEventsOptions options;
  options.count = kMaxBatchEvents;
  options.threads = 1;
  options.live_target = 10000;
  options.max_size = 1009;
  options.every_kind = false;
  return RandomEvents(options);
}

void BM_EncodeAndCompress(benchmark::State& state) {
  const std::vector<Event> events = RandomLoop();
  BatchEncoder encoder;
  PackedEventBatch batch;
  std::string content, compressed;
  size_t bytes = 0;
  for (auto _ : state) {
    encoder.Encode(events, &batch);
    batch.SerializeToString(&content);
    compressed.resize(ZSTD_compressBound(content.size()));
    bytes = ZSTD_compress(compressed.data(), compressed.size(), content.data(), content.size(),
                          static_cast<int>(state.range(0)));
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * events.size()));
  state.counters["bytes_per_event"] = static_cast<double>(bytes) / static_cast<double>(events.size());
}
BENCHMARK(BM_EncodeAndCompress)->Arg(1)->Arg(3);

void BM_Encode(benchmark::State& state) {
  const std::vector<Event> events = RandomLoop();
  BatchEncoder encoder;
  PackedEventBatch batch;
  for (auto _ : state) encoder.Encode(events, &batch);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * events.size()));
}
BENCHMARK(BM_Encode);

void BM_Decode(benchmark::State& state) {
  BatchEncoder encoder;
  PackedEventBatch batch;
  encoder.Encode(RandomLoop(), &batch);
  const std::string bytes = batch.SerializeAsString();
  BatchDecoder decoder;
  std::vector<Event> events;
  for (auto _ : state) {
    batch.ParseFromString(bytes);
    benchmark::DoNotOptimize(decoder.Decode(batch, &events).ok());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * events.size()));
}
BENCHMARK(BM_Decode);

}  // namespace
}  // namespace heaptape
