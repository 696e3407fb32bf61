// Queues and exchanges that are deleted or purged by hand while they have messages.

#include "fault/fault.h"
#include "fault/messages.h"
#include "fault/scene.h"
#include "support/standard.h"

namespace retryq::fault {
namespace {

// Deletes a queue, and returns the number of its messages that the broker reports. They are gone,
// and messages that were being published to it may be gone too: the broker confirms them although
// the queue is being deleted.
std::uint32_t Delete(Scene& scene, const std::string& queue) {
  const std::unique_ptr<testing::Peer> peer = scene.Connect();
  scene.WithInFlight([&](InFlight& publishes) { publishes.Begin(queue); });
  const std::uint32_t deleted = peer->Delete(queue);
  const std::uint64_t in_flight =
      scene.WithInFlight([](InFlight& publishes) { return publishes.End(); });
  scene.referee().MayHaveDestroyed(deleted + in_flight);
  return deleted;
}

// Repeats the action on two delay queues until each had messages. On a busy machine, messages that
// were seen in a queue may have left it before the broker purges it.
void EmptyDelayQueues(Scene& scene,
                      const std::function<std::uint32_t(const std::string& queue)>& empty) {
  constexpr int kAttempts = 10;
  for (const absl::Duration delay : {absl::Milliseconds(400), absl::Milliseconds(1600)}) {
    int attempts = 0;
    std::string queue;
    do {
      if (++attempts > kAttempts) throw std::runtime_error(queue + " was empty each time");
      scene.AwaitRecovery();
      queue = scene.AwaitDelayQueue(delay);
    } while (empty(queue) == 0);
  }
}

void DeleteDelayQueues(Scene& scene) {
  EmptyDelayQueues(scene, [&](const std::string& queue) { return Delete(scene, queue); });
}

void PurgeDelayQueues(Scene& scene) {
  EmptyDelayQueues(scene, [&](const std::string& queue) {
    const std::uint32_t purged = scene.Connect()->Purge(queue);
    scene.referee().MayHaveDestroyed(purged);
    return purged;
  });
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
  if (Delete(scene, kParkedQueue) == 0) throw std::runtime_error("the parked queue was empty");
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
