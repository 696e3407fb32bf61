// Faults of a broker that is not part of a cluster.

#include <nlohmann/json.hpp>

#include "fault/fault.h"
#include "fault/messages.h"
#include "fault/scene.h"

namespace retryq::fault {
namespace {

void Kill(Scene& scene) {
  scene.node().Kill();
  scene.Last(absl::Seconds(1));
  scene.node().Restart();
}

// If the parked queue is also new, and a quorum queue, no worker can park messages in it any more.
void DeclareParkedQueue(Scene& scene) { scene.Connect()->DeclareQueue(kParkedQueue); }

void KillWhenQueuesAreNew(Scene& scene) {
  scene.Await("a delay queue", [&] { return !scene.vhost().QueuesBeginning("retry.").empty(); });
  Kill(scene);
}

void Restart(Scene& scene) { scene.node().Restart(); }

std::function<void(Scene&)> FreezeFor(absl::Duration duration) {
  return [=](Scene& scene) {
    scene.node().Freeze();
    scene.Last(duration);
    scene.node().Thaw();
  };
}

// An alarm that the rabbitmqctl command `raise` causes and `clear` ends.
std::function<void(Scene&)> Alarm(const std::string& name, std::vector<std::string> raise,
                                  std::vector<std::string> clear) {
  return [=](Scene& scene) {
    scene.node().Control(raise);
    scene.Await(name, [&] {
      const testing::Json nodes = scene.vhost().management().Get("/nodes").value();
      return nodes.at(0).value(name, false);
    });
    scene.Last(Scene::kLong);
    scene.node().Control(clear);
  };
}

}  // namespace

std::vector<Fault> BrokerFaults() {
  constexpr auto kBroker = Fault::Place::kBroker;
  return {
      {.name = "broker-kill",
       .what = "the broker is killed by SIGKILL and started again",
       .place = kBroker,
       .classic_may_lose = "F25",
       .strike = Kill},
      {.name = "broker-kill-new",
       .what = "the same as soon as there is a delay queue; new quorum queues may have no leader "
               "after that, for ever",
       .place = kBroker,
       .classic_may_lose = "F25",
       .prepare = DeclareParkedQueue,
       .at_once = true,
       .strike = KillWhenQueuesAreNew},
      {.name = "broker-restart",
       .what = "the broker is restarted gracefully; classic work queue",
       .place = kBroker,
       .classic_may_lose = "F26",
       .strike = Restart},
      {.name = "broker-restart-quorum",
       .what = "the broker is restarted gracefully; quorum work queue",
       .place = kBroker,
       .work_queue_type = "quorum",
       .classic_may_lose = "F26",
       .strike = Restart},
      {.name = "broker-stop-short",
       .what = "the broker is frozen by SIGSTOP for 1.5 s, less than heartbeats and "
               "confirm_timeout allow",
       .place = kBroker,
       .quick = false,
       .strike = FreezeFor(Scene::kShort)},
      {.name = "broker-stop-long",
       .what = "the same for 9 s, more than they allow",
       .place = kBroker,
       .strike = FreezeFor(Scene::kLong)},
      {.name = "alarm-memory",
       .what = "the broker has a memory alarm for 9 s, and takes no publishes",
       .place = kBroker,
       .strike = Alarm("mem_alarm", {"set_vm_memory_high_watermark", "0.00001"},
                       {"set_vm_memory_high_watermark", "0.4"})},
      {.name = "alarm-disk",
       .what = "the broker has a disk alarm for 9 s, and takes no publishes",
       .place = kBroker,
       .quick = false,
       .strike = Alarm("disk_free_alarm", {"set_disk_free_limit", "mem_relative", "1000.0"},
                       {"set_disk_free_limit", "50MB"})},
  };
}

}  // namespace retryq::fault
