// Whatever the schedule of publishes, confirms, lost connections and clock steps: no message
// that is confirmed while its lease covers it outlives its queue.
//
// Each seed produces one history; RETRYQ_SEED=<seed> runs only that one.

#include <unordered_map>
#include <unordered_set>

#include "retry/delay_queues/delay_queues.h"
#include "retry/delay_queues/route_declaration.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/model_broker.h"
#include "support/scripted_broker.h"
#include "support/test.h"

namespace retryq::classic_leases_test {

using MessageId = ModelBroker::MessageId;

// The behaviour of broker, network and clock in a history.
enum class World {
  // Any reply may take any time, and connections are lost; the clock delays messages by at most
  // half a margin.
  kRough,
  // Replies arrive within seconds and connections stay, so that renewals continue; the wall clock
  // steps back repeatedly, by at most half a margin.
  kSteady,
};

const DelayQueueOptions kOptions;

struct Totals {
  std::uint64_t safe = 0;    // messages confirmed and covered
  std::uint64_t unsafe = 0;  // messages confirmed and not covered
  std::uint64_t lost = 0;    // messages that were deleted with their queue
  std::uint64_t deceptions = 0;
};

// The state that all clients of a history share.
struct Surroundings {
  Surroundings(std::uint64_t seed, World kind) : random(seed), world(kind) {}

  absl::Duration Latency() {
    if (random.OneIn(4)) return random.Between(absl::ZeroDuration(), absl::Seconds(2));
    if (world == World::kRough && random.OneIn(12)) {
      return random.Between(absl::ZeroDuration(), absl::Minutes(4));
    }
    return random.Between(absl::ZeroDuration(), absl::Milliseconds(5));
  }

  // Sometimes exactly long enough to reach the queue at its end.
  absl::Duration LatencyTo(const std::string& queue) {
    if (world == World::kRough && random.OneIn(8)) {
      if (const auto end = broker.EndOf(queue); end.has_value()) {
        const absl::Duration wait = *end - time.SinceBoot() + Around(ModelBroker::kEdge);
        return std::max(wait, absl::ZeroDuration());
      }
    }
    return Latency();
  }

  absl::Duration Around(absl::Duration spread) { return random.Between(-spread, spread); }

  // Cannot be cancelled: data on its way arrives.
  void Later(absl::Duration delay, std::function<void()> work) {
    timers.push_back(time.After(delay, std::move(work)));
  }

  testing::SimulatedTime time;
  testing::SeededRandom random;
  const World world;
  ModelBroker broker{time, random};
  std::vector<std::unique_ptr<Timer>> timers;
  std::unordered_set<MessageId> safe;
  MessageId last_message = 0;
  std::uint64_t unsafe = 0;
};

// A client with a connection that delays and loses data. Reacts like the publisher.
class Client : private testing::ScriptedBroker {
 public:
  explicit Client(Surroundings& around)
      : ScriptedBroker(around.time),
        around_(around),
        queues_(*this, testing::EnvironmentOf(around.time, around.random), kOptions) {}

  void PublishOne(const DelayRoute& route) {
    if (const Lease lease = queues_.CurrentLease(route, around_.time.SinceBoot());
        lease.name != nullptr) {
      Send(lease);
      return;
    }
    queues_.Acquire(route, [this](const absl::StatusOr<Lease>& lease) {
      if (lease.ok()) Send(*lease);
    });
  }

  // Data on its way may still arrive; replies to it do not.
  void LoseConnection() {
    ++connection_;
    ++channel_;
    unconfirmed_.clear();
    queues_.DropAll(absl::UnavailableError("lost"));
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
  void Send(const Lease& lease) {
    const MessageId message = ++around_.last_message;
    unconfirmed_.emplace(message, lease);
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

  void OnConfirm(MessageId message) {
    const auto found = unconfirmed_.find(message);
    if (queues_.Covers(found->second)) {
      around_.safe.insert(message);
    } else {
      ++around_.unsafe;
    }
    unconfirmed_.erase(found);
  }

  void OnChannelClosed(MessageId culprit) {
    queues_.Broken(unconfirmed_.at(culprit), "no exchange");
    ++channel_;
    unconfirmed_.clear();
    queues_.DropAll(absl::UnavailableError("channel closed"));
  }

  Surroundings& around_;
  std::uint64_t connection_ = 0;
  std::uint64_t channel_ = 0;
  absl::Duration channel_free_ = absl::ZeroDuration();
  std::unordered_map<MessageId, Lease> unconfirmed_;
  DelayQueues queues_;
};

class History {
 public:
  History(std::uint64_t seed, World world) : around_(seed, world) {
    for (std::uint64_t i = 0; i <= Below(2); ++i) {
      clients_.push_back(std::make_unique<Client>(around_));
    }
    const absl::Duration ttls[] = {absl::Milliseconds(20), absl::Seconds(1),  absl::Seconds(50),
                                   absl::Minutes(3),       absl::Minutes(10), absl::Hours(1)};
    route_.ttl = ttls[Below(6)];
  }

  Totals Run() {
    for (int step = 0; step < 20; ++step) {
      for (std::uint64_t i = Below(3); i > 0; --i)
        clients_[Below(clients_.size())]->PublishOne(route_);
      if (Below(4) == 0) StepWallClock();
      if (around_.world == World::kRough && Below(25) == 0) {
        clients_[Below(clients_.size())]->LoseConnection();
      }
      if (around_.world == World::kSteady && Below(6) == 0) StepBackAgainAndAgain();
      around_.time.Advance(Pause());
    }
    around_.time.Advance(absl::Hours(30));
    around_.broker.Settle();

    Totals totals{.safe = around_.safe.size(),
                  .unsafe = around_.unsafe,
                  .lost = around_.broker.lost().size(),
                  .deceptions = around_.broker.deceptions()};
    for (const MessageId message : around_.broker.lost()) {
      EXPECT_EQ(around_.safe.count(message), 0U)
          << "message " << message << ", confirmed and covered, went with its queue of "
          << route_.ttl;
    }
    return totals;
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return around_.random.Below(bound); }

  void StepWallClock() {
    if (Below(8) == 0) {
      around_.broker.StepWallClock(absl::Seconds(static_cast<std::int64_t>(Below(100))));
      return;
    }
    const absl::Duration most = around_.broker.ToleratedStep(
        kOptions.margin / 2, /*but_counted=*/around_.world == World::kSteady);
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

// Zero: all are to be run.
std::uint64_t OnlySeed() {
  const char* const seed = std::getenv("RETRYQ_SEED");  // NOLINT(concurrency-mt-unsafe)
  return seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10);
}

Totals RunHistories(World world, std::uint64_t count) {
  const std::uint64_t first = std::max<std::uint64_t>(OnlySeed(), 1);
  if (OnlySeed() != 0) count = 1;
  Totals totals;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Totals more = History(seed, world).Run();
    totals.safe += more.safe;
    totals.unsafe += more.unsafe;
    totals.lost += more.lost;
    totals.deceptions += more.deceptions;
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "RETRYQ_SEED=" << seed << ": a message went with its queue that was covered";
      break;
    }
  }
  return totals;
}

TEST(ClassicLeases, NoConfirmedMessageOutlivesItsQueueDespiteFaults) {
  const Totals totals = RunHistories(World::kRough, 7500);
  if (OnlySeed() != 0) return;
  // Checks that the dangerous events occurred.
  EXPECT_GT(totals.safe, 50'000U);
  EXPECT_GT(totals.unsafe, 500U);
  EXPECT_GT(totals.lost, 500U);
  EXPECT_GT(totals.deceptions, 500U);
}

TEST(ClassicLeases, NoWaitingMessageOutlivesItsQueueIfTheClockStepsBack) {
  const Totals totals = RunHistories(World::kSteady, 3000);
  if (OnlySeed() != 0) return;
  EXPECT_GT(totals.safe, 50'000U);
  EXPECT_GT(totals.deceptions, 100U);
}

}  // namespace retryq::classic_leases_test
