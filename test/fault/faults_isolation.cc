// Faults that affect one work queue, its messages or its workers, but not a second work queue.

#include <nlohmann/json.hpp>

#include "fault/fault.h"
#include "fault/messages.h"
#include "fault/scene.h"
#include "support/standard.h"

namespace retryq::fault {
namespace {

// Longer than the longest delay, so that messages come due that no queue accepts.
constexpr absl::Duration kGone = absl::Seconds(6);

// The first publish to a new quorum queue waits a second, and so does the first publish to the next
// one.
constexpr absl::Duration kNewQueue = absl::Seconds(3);

// A dead letter that a quorum queue could not deliver is tried again after three minutes (F11);
// here after some seconds.
void TryDeadLettersOften(Scene& scene) {
  scene.node().Control(
      {"eval", "application:set_env(rabbit, dead_letter_worker_publisher_confirm_timeout, 4000)."});
}

// Messages that may be deleted with the work queue: those in it, and those that the workers have
// prefetched. The producer is paused meanwhile. Messages that come due later are not destroyed by
// this.
void MayBeGoneWithWorkQueue(Scene& scene, std::uint64_t ready) {
  constexpr std::uint64_t kInHand = 2 * kPrefetch;
  scene.referee().MayHaveDestroyed(ready + kInHand);
}

void DeleteWorkQueue(Scene& scene) {
  scene.PauseProducer();
  MayBeGoneWithWorkQueue(scene, scene.Connect()->Delete(kWorkQueue));
  scene.ResumeProducer();
  scene.Last(kGone);
  scene.DeclareWorkQueue();
}

// The last consumer is gone, and the auto-delete queue with it.
void LoseAutoDeleteWorkQueue(Scene& scene) {
  scene.PauseProducer();
  const absl::Time counted = absl::Now();
  const std::uint32_t ready = scene.Connect()->Count(kWorkQueue);
  scene.WithProxy([](testing::Proxy& proxy) {
    proxy.SetFlow(testing::Proxy::Way::kToBroker, testing::Proxy::Flow::kHold);
    proxy.Cut();
  });
  scene.Await("the work queue is gone", [&] { return !scene.vhost().HasQueue(kWorkQueue); });
  // On a busy machine this takes a while, in which messages come due that no queue accepts.
  MayBeGoneWithWorkQueue(scene, ready + scene.ComingDue(counted, absl::Now()));
  scene.ResumeProducer();
  scene.Last(kGone);
  scene.DeclareWorkQueue();
  scene.WithProxy([](testing::Proxy& proxy) {
    proxy.SetFlow(testing::Proxy::Way::kToBroker, testing::Proxy::Flow::kPass);
  });
}

// The queue accepts no message until the fault ends. It must have been declared with
// reject-publish: a policy that also sets overflow would first drop messages from its head.
std::function<void(Scene&)> Fill(const std::string& queue) {
  return [=](Scene& scene) {
    const std::string policy = absl::StrCat("/policies/", scene.vhost().name(), "/full");
    scene.vhost().management().Put(policy, {{"pattern", absl::StrCat("^", queue, "$")},
                                            {"apply-to", "queues"},
                                            {"definition", {{"max-length", 0}}}});
    scene.Last(kGone);
    scene.vhost().management().Delete(policy);
  };
}

void DeclareClassicParkedQueue(Scene& scene) {
  scene.Connect()->DeclareQueue(kParkedQueue,
                                {{"x-queue-type", "classic"}, {"x-overflow", "reject-publish"}});
}

// 3.10 and 4.0 check every `channel_tick_interval`.
void TimeConsumersOut(Scene& scene) {
  for (const char* name : {"consumer_timeout", "channel_tick_interval"}) {
    scene.node().Control({"eval", absl::StrCat("application:set_env(rabbit, ", name, ", 2000).")});
  }
}

// From 4.3 on RabbitMQ can forget a timeout until something else happens in the queue (F62 in
// doc/rabbitmq_facts.md).
void SendOneMore(Scene& scene) { scene.SendOneMore(); }

std::function<void(Scene&)> LetTrafficFlow(absl::Duration duration) {
  return [=](Scene& scene) { scene.Last(duration); };
}

void CutOften(Scene& scene) {
  constexpr absl::Duration kPause = absl::Milliseconds(500);
  const absl::Duration duration = scene.quick() ? absl::Seconds(10) : absl::Minutes(1);
  for (int i = 0; i < duration / kPause; ++i) {
    scene.WithProxy([](testing::Proxy& proxy) { proxy.Cut(); });
    scene.Last(kPause);
  }
}

void PublishPoison(Scene& scene) {
  const std::unique_ptr<testing::Peer> peer = scene.Connect();
  for (int i = 0; i < 40; ++i) {
    scene.PublishPoison(*peer);
    scene.Last(absl::Milliseconds(250));
  }
}

// Restarts both workers with shared delay queues, as in older versions, and then again without.
void ChangeVersions(Scene& scene) {
  for (const char* flag : {"--share", ""}) {
    for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {
      scene.RestartWorker(index,
                          *flag == 0 ? std::vector<std::string>{} : std::vector<std::string>{flag});
      scene.AwaitRecovery();
      scene.Last(absl::Seconds(2));
    }
  }
}

}  // namespace

std::vector<Fault> IsolationFaults() {
  using Place = Fault::Place;
  constexpr auto kSameWorkers = Fault::Unaffected::kSameWorkers;
  constexpr auto kOwnWorker = Fault::Unaffected::kOwnWorker;
  // So that more messages of each delay come due than RabbitMQ keeps unconfirmed for a quorum delay
  // queue (F37).
  constexpr int kMany = 100;
  return {
      {.name = "delete-work-queue",
       .what = "the work queue is deleted, and declared again after 6 s, longer than the delays",
       .unaffected = kSameWorkers,
       .rate = kMany,
       .classic_may_lose = "F11",
       .prepare = TryDeadLettersOften,
       .strike = DeleteWorkQueue},
      {.name = "full-work-queue",
       .what = "the work queue is full for 6 s and refuses messages",
       .unaffected = kSameWorkers,
       .work_queue_refuses = true,
       .quick = false,
       .rate = kMany,
       .classic_may_lose = "F39",
       .prepare = TryDeadLettersOften,
       .strike = Fill(kWorkQueue)},
      {.name = "auto-delete-work-queue",
       .what = "the work queue is auto-delete, and all its consumers lose their connections; it is "
               "declared again after 6 s",
       .unaffected = kOwnWorker,
       .auto_delete_work_queue = true,
       .quick = false,
       .classic_may_lose = "F40",
       .prepare = TryDeadLettersOften,
       .strike = LoseAutoDeleteWorkQueue},
      {.name = "full-parked-queue",
       .what = "the parked queue is full for 6 s and refuses messages",
       .unaffected = kSameWorkers,
       .recovery = WorkerAct::kParked,
       .prepare = DeclareClassicParkedQueue,
       .strike = Fill(kParkedQueue)},
      {.name = "consumer-timeout",
       .what = "one message in sixty is never settled, and the broker's consumer timeout is 2 s; "
               "quorum work queue",
       .place = Place::kBroker,
       .work_queue_type = "quorum",
       .unaffected = kSameWorkers,
       .worker_flags = {"--count", "--hang"},
       // A consumer that has ended is started again after at most ten seconds.
       .quiet = absl::Seconds(30),
       .quick = false,
       .prepare = TimeConsumersOut,
       .unstick = SendOneMore,
       .strike = LetTrafficFlow(absl::Seconds(10))},
      {.name = "cut-often",
       .what = "the workers' connections are cut every half second for a minute (with --quick: for "
               "10 s)",
       .unaffected = kOwnWorker,
       .quick = false,
       .strike = CutOften},
      {.name = "poison",
       .what = "for 10 s every seventh message kills its worker, or has headers that leave no room "
               "in a frame, are nested 500 deep, or forge counts and ways; quorum work queue",
       .work_queue_type = "quorum",
       .unaffected = kOwnWorker,
       .workers_die = true,
       .worker_flags = {"--count"},
       .quick = false,
       .rate = 24,
       .strike = PublishPoison},
      {.name = "two-versions",
       .what =
           "workers that name quorum delay queues as retryq did before these belonged to a work "
           "queue, beside workers of today, and each becomes the other",
       .unaffected = kSameWorkers,
       .unaffected_lateness = kNewQueue,
       .strike = ChangeVersions},
  };
}

}  // namespace retryq::fault
