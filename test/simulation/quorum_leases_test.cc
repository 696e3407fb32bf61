// Whatever the schedule of publishes, confirms, lost connections and outages, and however the
// clocks of the clients differ, within what `outage` allows: no message that is confirmed while its
// lease covers it goes with its quorum queue.
//
// Each seed produces one history; RETRYQ_SEED=<seed> runs only that one.

#include "simulation/lease_history.h"
#include "support/test.h"

namespace retryq::simulation::quorum_leases_test {

const DelayQueueOptions kOptions{.queue_type = QueueType::kQuorum, .outage = absl::Minutes(10)};

class Client : public LeaseClient {
 public:
  Client(LeaseWorld& world, absl::Duration skew) : LeaseClient(world, kOptions, skew) {}

 private:
  void Declare(DeclareParams params, DeclareCallback done) override {
    world_.Later(Latency(), [this, params = std::move(params), done = std::move(done),
                             connection = connection_] {
      if (!world_.broker.up()) return;
      const absl::StatusOr<DeclareOk> answer = world_.broker.Declare(params);
      world_.Later(Latency(), [this, answer, done, connection] {
        if (connection == connection_) done(answer);
      });
    });
  }

  void Send(const Lease& lease) override {
    const MessageId message = Begin(lease);
    world_.Later(Latency(), [this, message, name = lease.name, connection = connection_] {
      if (!world_.broker.up()) return;
      const bool confirmed = world_.broker.Publish(*name, message);
      world_.Later(Latency(), [this, message, confirmed, connection] {
        if (connection != connection_) return;
        confirmed ? OnConfirm(message) : LoseConnection();
      });
    });
  }

  absl::Duration Latency() {
    testing::SeededRandom& random = world_.random;
    if (random.OneIn(12)) return random.Between(absl::ZeroDuration(), absl::Minutes(2));
    if (random.OneIn(4)) return random.Between(absl::ZeroDuration(), absl::Seconds(2));
    return random.Between(absl::ZeroDuration(), absl::Milliseconds(5));
  }
};

class History {
 public:
  // `slack`: how far clocks may differ and how long the broker may be down, in all.
  History(std::uint64_t seed, absl::Duration slack) : around_(seed, /*restarts_may_renew=*/true) {
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

  LeaseTotals Run() {
    for (int step = 0; step < 30; ++step) {
      for (std::uint64_t i = Below(3); i > 0; --i)
        clients_[Below(clients_.size())]->PublishOne(route_);
      if (Below(20) == 0) clients_[Below(clients_.size())]->LoseConnection();
      if (Below(12) == 0) BreakDown();
      around_.time.Advance(Pause());
    }
    return around_.End();
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

  LeaseWorld around_;
  std::vector<std::unique_ptr<Client>> clients_;
  DelayRoute route_;
  absl::Duration skew_;
  absl::Duration downtime_left_;
};

// What `outage` allows, less the second that a step of the model may take.
absl::Duration Allowed() { return kOptions.outage - kOptions.confirm_timeout - absl::Seconds(1); }

TEST(QuorumLeases, NoConfirmedMessageIsDeletedWithItsQueue) {
  const LeaseTotals totals =
      RunLeases(5000, [](std::uint64_t seed) { return History(seed, Allowed()).Run(); });
  if (NumberFrom("RETRYQ_SEED", 0) != 0) return;
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

}  // namespace retryq::simulation::quorum_leases_test
