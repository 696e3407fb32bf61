// Whatever the schedule of publishes, confirms, lost connections and clock steps: no message
// that is confirmed while its lease covers it outlives its queue.
//
// Each seed produces one history; RETRYQ_SEED=<seed> runs only that one.

#include "retry/delay_queues/route_declaration.h"
#include "simulation/lease_history.h"
#include "support/test.h"

namespace retryq::simulation::classic_leases_test {

// The behaviour of broker, network and clock in a history.
enum class Weather {
  // Any reply may take any time, and connections are lost; the clock delays messages by at most
  // half a margin.
  kRough,
  // Replies arrive within seconds and connections stay, so that renewals continue; the wall clock
  // steps back repeatedly, by at most half a margin.
  kSteady,
};

const DelayQueueOptions kOptions;

// The broker, network and clock of a history.
struct Surroundings : LeaseWorld {
  Surroundings(std::uint64_t seed, Weather of) : LeaseWorld(seed), weather(of) {}

  absl::Duration Latency() {
    if (random.OneIn(4)) return random.Between(absl::ZeroDuration(), absl::Seconds(2));
    if (weather == Weather::kRough && random.OneIn(12)) {
      return random.Between(absl::ZeroDuration(), absl::Minutes(4));
    }
    return random.Between(absl::ZeroDuration(), absl::Milliseconds(5));
  }

  // Sometimes exactly long enough to reach the queue at its end.
  absl::Duration LatencyTo(const std::string& queue) {
    if (weather == Weather::kRough && random.OneIn(8)) {
      if (const auto end = broker.EndOf(queue); end.has_value()) {
        const absl::Duration wait = *end - time.SinceBoot() + Around(ModelBroker::kEdge);
        return std::max(wait, absl::ZeroDuration());
      }
    }
    return Latency();
  }

  absl::Duration Around(absl::Duration spread) { return random.Between(-spread, spread); }

  const Weather weather;
};

// A client with a connection that delays and loses data.
class Client : public LeaseClient {
 public:
  explicit Client(Surroundings& around)
      : LeaseClient(around, kOptions, absl::ZeroDuration()), around_(around) {}

  // Data on its way may still arrive.
  void LoseConnection() override {
    ++channel_;
    LeaseClient::LoseConnection();
  }

 private:
  void Declare(DeclareParams params, DeclareCallback done) override {
    const absl::Duration latency = around_.LatencyTo(params.queue.name);
    around_.Later(latency, [this, params = std::move(params), done = std::move(done),
                            connection = connection_] {
      if (connection != connection_ && around_.random.OneIn(2)) return;
      const absl::StatusOr<DeclareOk> answer = around_.broker.Declare(params);
      around_.Later(around_.Latency(), [this, answer, done, connection] {
        if (connection == connection_) done(answer);
      });
    });
  }

  // A channel keeps its order.
  void Send(const Lease& lease) override {
    const MessageId message = Begin(lease);
    const absl::Duration now = around_.time.SinceBoot();
    channel_free_ = std::max(channel_free_, now + around_.LatencyTo(*lease.name));
    around_.Later(channel_free_ - now, [this, message, name = lease.name, channel = channel_] {
      if (channel != channel_ && around_.random.OneIn(2)) return;
      const bool confirmed = around_.broker.Publish(*name, message);
      around_.Later(around_.Latency(), [this, message, confirmed, channel] {
        if (channel != channel_) return;
        confirmed ? OnConfirm(message) : OnChannelClosed(message);
      });
    });
  }

  void OnChannelClosed(MessageId culprit) {
    queues_.Broken(unconfirmed_.at(culprit), "no exchange");
    ++channel_;
    unconfirmed_.clear();
    queues_.DropAll(absl::UnavailableError("channel closed"));
  }

  Surroundings& around_;
  std::uint64_t channel_ = 0;
  absl::Duration channel_free_ = absl::ZeroDuration();
};

class History {
 public:
  History(std::uint64_t seed, Weather weather) : around_(seed, weather) {
    for (std::uint64_t i = 0; i <= Below(2); ++i) {
      clients_.push_back(std::make_unique<Client>(around_));
    }
    const absl::Duration ttls[] = {absl::Milliseconds(20), absl::Seconds(1),  absl::Seconds(50),
                                   absl::Minutes(3),       absl::Minutes(10), absl::Hours(1)};
    route_.ttl = ttls[Below(6)];
  }

  LeaseTotals Run() {
    for (int step = 0; step < 20; ++step) {
      for (std::uint64_t i = Below(3); i > 0; --i)
        clients_[Below(clients_.size())]->PublishOne(route_);
      if (Below(4) == 0) StepWallClock();
      if (around_.weather == Weather::kRough && Below(25) == 0) {
        clients_[Below(clients_.size())]->LoseConnection();
      }
      if (around_.weather == Weather::kSteady && Below(6) == 0) StepBackAgainAndAgain();
      around_.time.Advance(Pause());
    }
    return around_.End();
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return around_.random.Below(bound); }

  void StepWallClock() {
    if (Below(8) == 0) {
      around_.broker.StepWallClock(absl::Seconds(static_cast<std::int64_t>(Below(100))));
      return;
    }
    const absl::Duration most = around_.broker.ToleratedStep(
        kOptions.margin / 2, /*but_counted=*/around_.weather == Weather::kSteady);
    const absl::Duration step =
        Below(2) == 0 ? most : around_.random.Between(absl::ZeroDuration(), most);
    around_.broker.StepWallClock(-step);
  }

  // No client publishes meanwhile: the queue exists only because its messages are counted.
  void StepBackAgainAndAgain() {
    const absl::Duration window = LeaseWindow(route_.ttl, kOptions);
    for (std::uint64_t i = 20; i > 0; --i) {
      around_.time.Advance(around_.random.Between(absl::ZeroDuration(), window / 2));
      StepWallClock();
    }
  }

  absl::Duration Pause() {
    const absl::Duration window = LeaseWindow(route_.ttl, kOptions);
    switch (Below(8)) {
      case 0:
        return Positive(window / 2 + around_.Around(absl::Seconds(1)));
      case 1:
        return Positive(window + around_.Around(absl::Seconds(1)));
      case 2:
        return Positive(window + kOptions.margin / 2 + around_.Around(absl::Seconds(1)));
      case 3:
      case 4:
        return UntilTheEnd();
      case 5:
        return around_.random.Between(absl::ZeroDuration(), window / 2);
      default:
        return around_.random.Between(absl::ZeroDuration(), absl::Milliseconds(50));
    }
  }

  absl::Duration UntilTheEnd() {
    const std::string name = DelayQueueDeclaration(route_, kOptions, NameFamily::kPlain).queue.name;
    const auto end = around_.broker.EndOf(name);
    if (!end.has_value()) return absl::ZeroDuration();
    return Positive(*end - around_.time.SinceBoot() + around_.Around(ModelBroker::kEdge));
  }

  static absl::Duration Positive(absl::Duration pause) {
    return std::max(pause, absl::ZeroDuration());
  }

  Surroundings around_;
  std::vector<std::unique_ptr<Client>> clients_;
  DelayRoute route_;
};

LeaseTotals RunHistories(Weather weather, std::uint64_t count) {
  return RunLeases(count, [weather](std::uint64_t seed) { return History(seed, weather).Run(); });
}

TEST(ClassicLeases, NoConfirmedMessageOutlivesItsQueueDespiteFaults) {
  const LeaseTotals totals = RunHistories(Weather::kRough, 7500);
  if (NumberFrom("RETRYQ_SEED", 0) != 0) return;
  // Checks that the dangerous events occurred.
  EXPECT_GT(totals.safe, 50'000U);
  EXPECT_GT(totals.unsafe, 500U);
  EXPECT_GT(totals.deleted, 500U);
  EXPECT_GT(totals.deceptions, 500U);
}

TEST(ClassicLeases, NoWaitingMessageOutlivesItsQueueIfTheClockStepsBack) {
  const LeaseTotals totals = RunHistories(Weather::kSteady, 3000);
  if (NumberFrom("RETRYQ_SEED", 0) != 0) return;
  EXPECT_GT(totals.safe, 50'000U);
  EXPECT_GT(totals.deceptions, 100U);
}

}  // namespace retryq::simulation::classic_leases_test
