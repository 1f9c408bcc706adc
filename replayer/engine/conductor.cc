#include "replayer/engine/conductor.h"

namespace heaptape {

namespace {

constexpr uint32_t kNoLane = ~0u;

Engine* g_engine;
Outcome g_outcome;           // of the thread that gave the turn to lane 0
uint32_t g_ended = kNoLane;  // a lane whose thread lane 0 must wait for

Outcome ConductByFsBase(Engine* engine) {
  for (;;) {
    const Outcome outcome = Execute(engine);
    SetFsBase(engine->lanes[0].fs_base);
    if (outcome != Outcome::kLaneEnd) return outcome;
    engine->lanes.End(engine->lane);
    engine->lane = 0;
  }
}

Outcome ConductByToken(Engine* engine) {
  for (;;) {
    Outcome outcome = Execute(engine);
    // Until it is over, or lane 0's turn comes with something to execute.
    for (;;) {
      if (outcome == Outcome::kLane && engine->lane == 0) break;
      if (outcome != Outcome::kLane) return outcome;
      engine->lanes.GiveTurn(engine->lane);
      engine->lanes.AwaitTurn(0);
      outcome = g_outcome;
      if (outcome == Outcome::kLaneEnd) {
        engine->lanes.Join(g_ended);
        engine->lane = 0;
        break;
      }
    }
  }
}

}  // namespace

void LaneBody(uint32_t lane) {
  Engine* engine = g_engine;
  engine->lanes.AwaitTurn(lane);
  if (engine->lanes_by_fs_base) return;  // our turn to end
  for (;;) {
    const Outcome outcome = Execute(engine);
    if (outcome == Outcome::kLane) {
      if (engine->lane == lane) continue;
      g_outcome = outcome;
      const uint32_t next = engine->lane;
      engine->lanes.GiveTurn(next);
    } else {
      g_outcome = outcome;
      if (outcome == Outcome::kLaneEnd) g_ended = lane;
      engine->lanes.GiveTurn(0);
      if (outcome == Outcome::kLaneEnd) return;
    }
    engine->lanes.AwaitTurn(lane);
  }
}

Outcome Conduct(Engine* engine) {
  g_engine = engine;
  return engine->lanes_by_fs_base ? ConductByFsBase(engine) : ConductByToken(engine);
}

}  // namespace heaptape
