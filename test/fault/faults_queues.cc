// What is deleted or purged by hand while messages are in it.

#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "fault/fault.h"
#include "fault/messages.h"
#include "fault/scene.h"

namespace retryq::fault {
namespace {

// Deletes a queue that messages are in. What the broker says it deleted is gone, and what was being
// published into it may be: the broker confirms that, although the queue is going.
void DeleteFull(Scene& scene, const std::string& queue) {
  const std::unique_ptr<testing::Peer> peer = scene.Connect();
  scene.WithInFlight([&](InFlight& publishes) { publishes.Begin(queue); });
  const std::uint32_t deleted = peer->Delete(queue);
  const std::uint64_t in_flight =
      scene.WithInFlight([](InFlight& publishes) { return publishes.End(); });
  if (deleted == 0) throw std::runtime_error(absl::StrCat(queue, " was empty when it was deleted"));
  scene.referee().MayHaveDestroyed(deleted + in_flight);
}

void DeleteDelayQueues(Scene& scene) {
  for (const absl::Duration delay : {absl::Milliseconds(400), absl::Milliseconds(1600)}) {
    scene.AwaitRecovery();
    DeleteFull(scene, scene.AwaitDelayQueue(delay));
  }
}

void PurgeDelayQueues(Scene& scene) {
  for (const absl::Duration delay : {absl::Milliseconds(400), absl::Milliseconds(1600)}) {
    const std::string queue = scene.AwaitDelayQueue(delay);
    const std::uint32_t purged = scene.Connect()->Purge(queue);
    if (purged == 0) throw std::runtime_error(absl::StrCat(queue, " was empty when it was purged"));
    scene.referee().MayHaveDestroyed(purged);
  }
}

void DeleteDelayExchanges(Scene& scene) {
  for (const absl::Duration delay : {absl::Milliseconds(400), absl::Milliseconds(1600)}) {
    scene.AwaitRecovery();
    // The exchange of a delay queue has its name.
    scene.vhost().DeleteExchange(scene.AwaitDelayQueue(delay));
  }
}

void DeleteParkedQueue(Scene& scene) {
  const std::unique_ptr<testing::Peer> peer = scene.Connect();
  scene.Await("messages are parked", [&] { return peer->Count(kParkedQueue) >= 5; });
  DeleteFull(scene, kParkedQueue);
}

}  // namespace

std::vector<Fault> QueueFaults() {
  return {
      {.name = "delete-delay-queue",
       .what = "two delay queues are deleted while messages wait in them and are published to them",
       .strike = DeleteDelayQueues},
      {.name = "purge-delay-queue",
       .what = "two delay queues are purged while messages wait in them",
       .strike = PurgeDelayQueues},
      {.name = "delete-delay-exchange",
       .what = "the exchanges of two delay queues are deleted while messages are published to them",
       .strike = DeleteDelayExchanges},
      {.name = "delete-parked-queue",
       .what = "the parked queue is deleted with what is in it while messages are parked",
       .recovery = WorkerAct::kParked,
       .strike = DeleteParkedQueue},
  };
}

}  // namespace retryq::fault
