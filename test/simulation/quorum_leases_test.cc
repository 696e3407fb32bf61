// Whatever the schedule of publishes, confirms, lost connections and outages, and however the
// clocks of the clients differ, within what `outage` allows: no message that is confirmed while its
// lease covers it goes with its quorum queue.
//
// Each seed produces one history; RETRYQ_SEED=<seed> runs only that one.

#include <unordered_map>
#include <unordered_set>

#include "retry/delay_queues/delay_queues.h"
#include "retry/delay_queues/quorum_lease.h"
#include "retry/delay_queues/route_declaration.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/model_broker.h"
#include "support/scripted_broker.h"
#include "support/test.h"

namespace retryq::quorum_leases_test {

using MessageId = ModelBroker::MessageId;

const DelayQueueOptions kOptions{.queue_type = QueueType::kQuorum, .outage = absl::Minutes(10)};

// The state that all clients of a history share.
struct Surroundings {
  explicit Surroundings(std::uint64_t seed) : random(seed) {}

  absl::Duration Latency() {
    if (random.OneIn(12)) return random.Between(absl::ZeroDuration(), absl::Minutes(2));
    if (random.OneIn(4)) return random.Between(absl::ZeroDuration(), absl::Seconds(2));
    return random.Between(absl::ZeroDuration(), absl::Milliseconds(5));
  }

  // Cannot be cancelled: data on its way arrives, unless the broker is down.
  void Later(absl::Duration delay, std::function<void()> work) {
    timers.push_back(time.After(delay, std::move(work)));
  }

  testing::SimulatedTime time;
  testing::SeededRandom random;
  ModelBroker broker{time, random, /*restarts_renew=*/random.OneIn(2)};
  std::vector<std::unique_ptr<Timer>> timers;
  std::unordered_set<MessageId> safe;
  MessageId last_message = 0;
  std::uint64_t unsafe = 0;
};

// A client with its own clock and connection. Reacts like the publisher.
class Client : private testing::ScriptedBroker {
 public:
  Client(Surroundings& around, absl::Duration skew)
      : ScriptedBroker(around.time),
        around_(around),
        clock_(around.time, skew),
        queues_(*this, EnvironmentWith(&clock_), kOptions) {}

  void PublishOne(const DelayRoute& route) {
    if (const Lease lease = queues_.CurrentLease(route, clock_.SinceBoot()); lease.name != nullptr)
      return Send(lease);
    queues_.Acquire(route, [this](const absl::StatusOr<Lease>& lease) {
      if (lease.ok()) Send(*lease);
    });
  }

  void LoseConnection() {
    ++connection_;
    unconfirmed_.clear();
    queues_.DropAll(absl::UnavailableError("lost"));
  }

 private:
  Environment EnvironmentWith(const Clock* clock) {
    Environment environment = testing::EnvironmentOf(around_.time, around_.random);
    environment.clock = clock;
    return environment;
  }

  void Declare(DeclareParams params, DeclareCallback done) override {
    around_.Later(around_.Latency(), [this, params = std::move(params), done = std::move(done),
                                      connection = connection_] {
      if (!around_.broker.up()) return;
      const absl::StatusOr<DeclareOk> answer = around_.broker.Declare(params);
      around_.Later(around_.Latency(), [this, answer, done, connection] {
        if (connection == connection_) done(answer);
      });
    });
  }

  void Send(const Lease& lease) {
    const MessageId message = ++around_.last_message;
    unconfirmed_.emplace(message, lease);
    around_.Later(around_.Latency(), [this, message, name = lease.name, connection = connection_] {
      if (!around_.broker.up()) return;
      const bool confirmed = around_.broker.Publish(*name, message);
      around_.Later(around_.Latency(), [this, message, confirmed, connection] {
        if (connection != connection_) return;
        confirmed ? OnConfirm(message) : LoseConnection();
      });
    });
  }

  void OnConfirm(MessageId message) {
    const auto found = unconfirmed_.find(message);
    if (queues_.Covers(found->second)) {
      around_.safe.insert(message);
    } else {
      ++around_.unsafe;
    }
    unconfirmed_.erase(found);
  }

  Surroundings& around_;
  const testing::SkewedClock clock_;
  std::uint64_t connection_ = 0;
  std::unordered_map<MessageId, Lease> unconfirmed_;
  DelayQueues queues_;
};

struct Totals {
  std::uint64_t safe = 0;    // messages confirmed and covered
  std::uint64_t unsafe = 0;  // messages confirmed and not covered
  std::uint64_t lost = 0;    // messages confirmed and covered that were deleted with their queue
  std::size_t most_queues = 0;
};

class History {
 public:
  // `slack`: how far clocks may differ and how long the broker may be down, in all.
  History(std::uint64_t seed, absl::Duration slack) : around_(seed) {
    const absl::Duration ttls[] = {absl::Milliseconds(20), absl::Seconds(1), absl::Minutes(3),
                                   absl::Hours(1)};
    route_.ttl = ttls[around_.random.Below(4)];
    const absl::Duration skews[] = {absl::ZeroDuration(), slack / 2,
                                    around_.random.Between(absl::ZeroDuration(), slack / 2)};
    skew_ = skews[Below(3)];
    downtime_left_ = slack - 2 * skew_;
    for (const absl::Duration skew : {-skew_, skew_}) {
      clients_.push_back(std::make_unique<Client>(around_, skew));
    }
  }

  Totals Run() {
    for (int step = 0; step < 30; ++step) {
      for (std::uint64_t i = Below(3); i > 0; --i)
        clients_[Below(clients_.size())]->PublishOne(route_);
      if (Below(20) == 0) clients_[Below(clients_.size())]->LoseConnection();
      if (Below(12) == 0) BreakDown();
      around_.time.Advance(Pause());
    }
    around_.time.Advance(absl::Hours(30));
    around_.broker.Settle();

    const std::unordered_set<MessageId>& lost = around_.broker.lost();
    const auto is_safe = [&](MessageId message) { return around_.safe.count(message) > 0; };
    return {.safe = around_.safe.size(),
            .unsafe = around_.unsafe,
            .lost = static_cast<std::uint64_t>(std::count_if(lost.begin(), lost.end(), is_safe)),
            .most_queues = around_.broker.queues()};
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return around_.random.Below(bound); }

  void BreakDown() {
    const absl::Duration downtime =
        Below(2) == 0 ? downtime_left_
                      : around_.random.Between(absl::ZeroDuration(), downtime_left_);
    downtime_left_ -= downtime;
    around_.broker.GoDown();
    for (const auto& client : clients_) client->LoseConnection();
    around_.time.Advance(downtime);
    around_.broker.ComeBack();
    for (const auto& client : clients_) client->LoseConnection();
  }

  absl::Duration Pause() {
    switch (Below(6)) {
      case 0:
      case 1:
        return ToTheEndOfAnEpoch();
      case 2:
        return ToTheLastMoment();
      case 3:
        return around_.random.Between(absl::ZeroDuration(), EpochLength(route_.ttl, kOptions));
      default:
        return around_.random.Between(absl::ZeroDuration(), absl::Seconds(2));
    }
  }

  // For one of the clients, or a little before or after.
  absl::Duration ToTheEndOfAnEpoch() {
    const absl::Duration skew = Below(2) == 0 ? skew_ : -skew_;
    const Epoch epoch =
        Epoch::At(around_.time.Now() + skew, absl::ZeroDuration(), route_.ttl, kOptions);
    return std::max(epoch.ends + around_.random.Between(-absl::Seconds(1), absl::Seconds(1)),
                    absl::ZeroDuration());
  }

  // Before a queue goes; with the downtime that may still be, if there is any.
  absl::Duration ToTheLastMoment() {
    const absl::Duration next = around_.broker.NextLoss();
    if (next == absl::InfiniteDuration()) return absl::ZeroDuration();
    const absl::Duration before = next - downtime_left_ - around_.time.SinceBoot() -
                                  around_.random.Between(absl::ZeroDuration(), absl::Seconds(1));
    if (before <= absl::ZeroDuration()) return absl::ZeroDuration();
    around_.time.Advance(before);
    if (downtime_left_ > absl::ZeroDuration()) BreakDown();
    return absl::ZeroDuration();
  }

  Surroundings around_;
  std::vector<std::unique_ptr<Client>> clients_;
  DelayRoute route_;
  absl::Duration skew_;
  absl::Duration downtime_left_;
};

// What `outage` allows, less the second that a step of the model may take.
absl::Duration Allowed() { return kOptions.outage - kOptions.confirm_timeout - absl::Seconds(1); }

TEST(QuorumLeases, NoConfirmedMessageIsDeletedWithItsQueue) {
  std::uint64_t first = 1;
  std::uint64_t count = 5000;
  if (const char* seed = std::getenv("RETRYQ_SEED"); seed != nullptr) {
    first = std::strtoull(seed, nullptr, 10);
    count = 1;
  }
  Totals totals;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Totals more = History(seed, Allowed()).Run();
    ASSERT_EQ(more.lost, 0U) << "RETRYQ_SEED=" << seed
                             << ": a message went with its queue that was covered";
    totals.safe += more.safe;
    totals.unsafe += more.unsafe;
    totals.most_queues = std::max(totals.most_queues, more.most_queues);
  }
  if (count == 1) return;
  EXPECT_GT(totals.safe, 20'000U);
  EXPECT_GT(totals.unsafe, 100U);
  // Names of quorum queues stay in the broker's memory forever.
  EXPECT_LE(totals.most_queues, std::size_t{2} * QuorumSlot::kSlots);
}

// Otherwise the test above would prove nothing.
TEST(QuorumLeases, ClockErrorsAndOutagesBeyondTheLimitsLoseMessages) {
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) lost += History(seed, 3 * Allowed()).Run().lost;
  EXPECT_GT(lost, 20U);
}

}  // namespace retryq::quorum_leases_test
