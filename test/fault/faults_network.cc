// Faults of the network between workers and broker.

#include "fault/fault.h"
#include "fault/scene.h"

namespace retryq::fault {
namespace {

using testing::Proxy;

void SetFlow(Scene& scene, Proxy::Flow to_broker, Proxy::Flow to_client) {
  scene.WithProxy([&](Proxy& proxy) {
    proxy.SetFlow(Proxy::Way::kToBroker, to_broker);
    proxy.SetFlow(Proxy::Way::kToClient, to_client);
  });
}

// Sets the flow of bytes for a while.
std::function<void(Scene&)> Flow(Proxy::Flow to_broker, Proxy::Flow to_client,
                                 absl::Duration duration) {
  return [=](Scene& scene) {
    SetFlow(scene, to_broker, to_client);
    scene.Last(duration);
    SetFlow(scene, Proxy::Flow::kPass, Proxy::Flow::kPass);
  };
}

void CutAgainAndAgain(Scene& scene) {
  for (int i = 0; i < 6; ++i) {
    scene.WithProxy([](Proxy& proxy) { proxy.Cut(); });
    scene.Last(absl::Milliseconds(300) * (i + 1));
  }
}

}  // namespace

std::vector<Fault> NetworkFaults() {
  constexpr auto kPass = Proxy::Flow::kPass;
  constexpr auto kHold = Proxy::Flow::kHold;
  constexpr auto kTrickle = Proxy::Flow::kTrickle;
  return {
      {.name = "cut",
       .what = "all connections of the workers are cut, six times, 0.3 to 1.8 s apart",
       .strike = CutAgainAndAgain},
      {.name = "stall-short",
       .what = "nothing passes between workers and broker for 1.5 s, less than heartbeats and "
               "confirm_timeout allow",
       .quick = false,
       .strike = Flow(kHold, kHold, Scene::kShort)},
      {.name = "stall-long",
       .what = "the same for 9 s, more than they allow; what was held arrives in the end",
       .strike = Flow(kHold, kHold, Scene::kLong)},
      {.name = "half-open-to-broker",
       .what = "for 9 s nothing gets from the workers to the broker, but the other way",
       .strike = Flow(kHold, kPass, Scene::kLong)},
      {.name = "half-open-to-worker",
       .what = "for 9 s nothing gets from the broker to the workers, but the other way",
       .quick = false,
       .strike = Flow(kPass, kHold, Scene::kLong)},
      {.name = "one-byte",
       .what = "for 6 s each byte travels by itself, both ways",
       .rate = 12,
       .strike = Flow(kTrickle, kTrickle, absl::Seconds(6))},
  };
}

}  // namespace retryq::fault
