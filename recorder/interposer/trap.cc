#include "recorder/interposer/trap.h"

#include "recorder/interposer/log.h"
#include "recorder/wire/call.h"

namespace heaptape {
namespace {

using wire::Form;
using wire::Tag;

uint64_t events;  // so far, as a trace counts them

// What a word is called as a long one, and its size.
struct Call {
  Form form;
  uint64_t size;
};

Call CallOf(uint64_t word, uint64_t payload) {
  const uint64_t size = wire::ShortSize(word);
  switch (wire::TagOf(word)) {
    case Tag::kMalloc: return {Form::kMalloc, size};
    case Tag::kCalloc: return {Form::kCalloc, size};
    case Tag::kFree: return {Form::kFree, 0};
    case Tag::kRelease: return {Form::kRelease, 0};
    case Tag::kAcquire: return {Form::kAcquire, size};
    default: return {wire::FormOf(word), wire::PayloadValue(payload)};
  }
}

}  // namespace

void CheckTrap(const wire::SessionConfig& config, uint64_t word, uint64_t payload) {
  const Call call = CallOf(word, payload);
  bool here = false;
  if (config.trap_at == wire::TrapAt::kSize) {
    here = static_cast<uint32_t>(call.form) == config.trap_form && call.size == config.trap_value;
  } else {
    // A thread's first call is preceded by the event of its start; a realloc is
    // one event, counted as it begins.
    if (thread_log.thread == 0) __atomic_fetch_add(&events, 1, __ATOMIC_RELAXED);
    if (call.form != Form::kAcquire) {
      here = __atomic_add_fetch(&events, 1, __ATOMIC_RELAXED) == config.trap_value;
    }
  }
  if (here) asm volatile("int3");
}

}  // namespace heaptape
