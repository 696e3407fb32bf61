// The connection is cut in each phase of the protocol between a worker and the broker: before a
// frame, within it and after it.

#include <utility>

#include "fault/fault.h"
#include "fault/scene.h"
#include "fault/wire_methods.h"

namespace retryq::fault {
namespace {

using testing::Proxy;
using Way = Proxy::Way;
using Phase = Proxy::Phase;

constexpr Way kWorker = Way::kToBroker;  // who speaks
constexpr Way kBroker = Way::kToClient;

Phase At(Way way, Method method) {
  return {.way = way, .class_id = method.class_id, .method_id = method.method_id};
}

Phase At(Way way, Phase::Kind kind) { return {.way = way, .kind = kind}; }

// Waits until copies are confirmed and deliveries acked again.
void AwaitTraffic(Scene& scene) {
  const auto progress = [&] {
    return scene.WithInFlight(
        [](InFlight& seen) { return std::pair(seen.confirms(), seen.acks()); });
  };
  const auto before = progress();
  scene.Await("copies are confirmed and messages acked again", [&] {
    const auto now = progress();
    return now.first > before.first && now.second > before.second;
  });
}

// `anew`: the phase occurs only after a connection has been lost.
std::function<void(Scene&)> CutIn(std::vector<Phase> phases, bool anew) {
  return [phases = std::move(phases), anew](Scene& scene) {
    for (Phase phase : phases) {
      for (const Phase::Cut cut : {Phase::Cut::kBefore, Phase::Cut::kWithin, Phase::Cut::kAfter}) {
        phase.cut = cut;
        scene.WithProxy([&](Proxy& proxy) {
          proxy.CutAt(phase);
          if (anew) proxy.Cut();
        });
        scene.Await("the connection is cut in the phase", [&] {
          return scene.WithProxy([](Proxy& proxy) { return !proxy.cut_is_pending(); });
        });
        AwaitTraffic(scene);
      }
    }
  };
}

}  // namespace

std::vector<Fault> PhaseFaults() {
  return {
      {.name = "cut-handshake",
       .what = "cut before, within and after each frame of the handshake",
       .strike = CutIn({At(kWorker, Phase::Kind::kProtocolHeader), At(kBroker, kConnectionStart),
                        At(kWorker, kConnectionStartOk), At(kBroker, kConnectionTune),
                        At(kWorker, kConnectionTuneOk), At(kWorker, kConnectionOpen),
                        At(kBroker, kConnectionOpenOk)},
                       /*anew=*/true)},
      {.name = "cut-declare",
       .what = "cut before, within and after the declares of queue, exchange and binding and their "
               "answers",
       .strike = CutIn(
           {At(kWorker, kQueueDeclare), At(kBroker, kQueueDeclareOk), At(kWorker, kExchangeDeclare),
            At(kBroker, kExchangeDeclareOk), At(kWorker, kQueueBind), At(kBroker, kQueueBindOk)},
           /*anew=*/true)},
      {.name = "cut-publish",
       .what = "cut before, within and after method, header and body of a copy",
       .strike = CutIn({At(kWorker, kBasicPublish), At(kWorker, Phase::Kind::kHeader),
                        At(kWorker, Phase::Kind::kBody)},
                       /*anew=*/false)},
      {.name = "cut-confirm",
       .what = "cut before, within and after the broker's confirm",
       .strike = CutIn({At(kBroker, kBasicAck)}, /*anew=*/false)},
      {.name = "cut-ack",
       .what = "cut before, within and after a worker's ack",
       .strike = CutIn({At(kWorker, kBasicAck)}, /*anew=*/false)},
  };
}

}  // namespace retryq::fault
