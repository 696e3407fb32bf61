// A caller that makes any call at any time, whose other threads settle and handle messages, on real
// connections to a server that violates the protocol. See random_caller.h and random_connection.h
// for what must hold.
//
//   RETRYQ_CALLERS=N   30 times as many as programs; 300 by default
//   RETRYQ_SEED=N      that one alone, as far as threads and sockets do the same again

#include "simulation/hostile_world.h"
#include "simulation/random_caller.h"
#include "simulation/random_connection.h"
#include "simulation/seeds.h"
#include "support/test.h"

namespace retryq::simulation::hostile_caller_test {

TEST(HostileCaller, MayCallAnythingAtAnyTimeFromAnyThread) {
  int calls = 0;
  ForEachSeed(NumberFrom("RETRYQ_CALLERS", 300) / 30, [&calls](std::uint64_t seed) {
    HostileWorld world(seed + 1'000'000);
    calls += RandomCaller(
                 world,
                 {.steps = 150,
                  .pauses = {absl::ZeroDuration(), absl::Milliseconds(1), absl::Milliseconds(4)},
                  .threads = true},
                 seed)
                 .Run();
  });
  EXPECT_GT(calls, 0);
}

TEST(HostileCaller, MayUseConnectionsAndChannelsAtAnyTime) {
  int calls = 0;
  ForEachSeed(NumberFrom("RETRYQ_CALLERS", 300) / 30, [&calls](std::uint64_t seed) {
    HostileWorld world(seed + 2'000'000);
    calls += RandomConnection(world, seed).Run();
  });
  EXPECT_GT(calls, 0);
}

}  // namespace retryq::simulation::hostile_caller_test
