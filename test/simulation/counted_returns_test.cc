// A message that returns to a quorum work queue counts as failed exactly if its handler or its
// worker has failed, with every version of the broker and any number of workers. Each seed produces
// one history.

#include "retryq/client.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "simulation/seeds.h"
#include "support/test.h"

namespace retryq::simulation::returns_test {

using testing::SeededRandom;
using testing::SimulatedBroker;
using testing::SimulatedRabbitMq;
using testing::SimulatedTime;

constexpr absl::Duration kConsumerTimeout = absl::Minutes(30);
constexpr std::uint64_t kMaxAttempts = 3;

// Workers that are stopped gracefully or paused repeatedly. Apart from this, only handlers fail.
class Returns {
 public:
  Returns(const char* version, std::uint64_t seed, std::size_t workers)
      : random_(seed),
        rabbit_(time_, random_, {.version = version, .consumer_timeout = kConsumerTimeout}) {
    rabbit_.DeclareQueue("orders", {{"x-queue-type", "quorum"}});
    for (std::size_t i = 0; i < workers; ++i) workers_.push_back(std::make_unique<Worker>(*this));
  }

  // Messages whose handlers hang, and those whose handlers do not.
  void Publish(int hanging, int quick) {
    for (int i = 0; i < hanging; ++i) rabbit_.Publish("", "orders", {}, absl::StrCat("hangs ", i));
    for (int i = 0; i < quick; ++i) rabbit_.Publish("", "orders", {}, absl::StrCat("quick ", i));
  }

  enum class Ends { kNone, kStops, kPauses };
  void RunFor(absl::Duration duration, Ends ends) {
    const absl::Duration end = time_.SinceBoot() + duration;
    while (time_.SinceBoot() < end) {
      time_.Advance(absl::Seconds(static_cast<std::int64_t>(5 + random_.Next() % 120)));
      Worker& worker = *workers_[random_.Next() % workers_.size()];
      if (ends == Ends::kStops) {
        worker.Stop();
        worker.Start();
      } else if (ends == Ends::kPauses) {
        worker.Pause();
      }
    }
  }

  std::size_t Count(std::string_view queue) const { return rabbit_.Count(queue); }
  // The calls for each message, and its highest attempt.
  struct Account {
    std::uint64_t calls = 0;
    std::uint64_t attempt = 0;
    bool handled = false;
  };
  const std::map<std::string, Account>& accounts() const { return accounts_; }

 private:
  class Worker {
   public:
    explicit Worker(Returns& world) : world_(world) { Start(); }
    ~Worker() { Stop(); }

    void Start() {
      broker_.emplace(world_.rabbit_);
      client_.emplace(testing::EnvironmentOf(world_.time_, world_.random_, nullptr), *broker_,
                      ClientOptions(), [](const absl::Status&) {});
      RetryOptions retry;
      retry.max_attempts = kMaxAttempts;
      consumer_ =
          client_
              ->Consume({.queue = "orders", .retry = retry, .prefetch = 8},
                        AsyncHandler([this](const Delivery& delivery, Settlement settlement) {
                          OnDelivery(delivery, std::move(settlement));
                        }))
              .value();
    }
    // Stops gracefully: messages whose handlers have not begun are requeued; running handlers
    // finish, unless they hang.
    void Stop() {
      std::optional<bool> drained;
      consumer_->Drain(absl::Minutes(1), [&](bool complete) { drained = complete; });
      stopping_ = true;
      GiveBack();
      while (!drained) world_.time_.Advance(absl::Milliseconds(100));
      consumer_.reset();
      world_.time_.Advance(absl::Seconds(1));
      client_.reset();
      broker_.reset();
      hung_.clear();
      stopping_ = false;
    }
    void Pause() {
      consumer_->Pause();
      GiveBack();
      world_.time_.Advance(
          absl::Milliseconds(static_cast<std::int64_t>(world_.random_.Next() % 20)));
      consumer_->Resume();
    }

   private:
    void GiveBack() {
      for (Settlement& waiting : std::exchange(waiting_, {})) {
        std::move(waiting).Settle(Outcome::Requeue());
      }
    }
    void OnDelivery(const Delivery& delivery, Settlement settlement) {
      Account& account = world_.accounts_[std::string(delivery.body())];
      account.attempt = std::max(account.attempt, delivery.attempt());
      if (stopping_) return std::move(settlement).Settle(Outcome::Requeue());
      if (delivery.body().starts_with("hangs")) {
        ++account.calls;
        hung_.push_back(std::move(settlement));
      } else if (world_.random_.Next() % 4 != 0) {
        settlement.SetBegun(false);
        waiting_.push_back(std::move(settlement));
      } else {
        ++account.calls;
        account.handled = true;
        std::move(settlement).Settle(Outcome::Ok());
      }
    }

    Returns& world_;
    std::optional<SimulatedBroker> broker_;
    std::optional<Client> client_;
    std::optional<Consumer> consumer_;
    std::vector<Settlement> hung_;
    std::vector<Settlement> waiting_;  // for their handler
    bool stopping_ = false;
  };

  SimulatedTime time_;
  SeededRandom random_;
  SimulatedRabbitMq rabbit_;
  std::map<std::string, Account> accounts_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

// The given seed, or the first and the last seed.
std::uint64_t First() { return simulation::NumberFrom("RETRYQ_SEED", 1); }
std::uint64_t Last() {
  return simulation::NumberFrom("RETRYQ_SEED", simulation::NumberFrom("RETRYQ_HISTORIES", 100) / 5);
}

class ReturnsOf : public ::testing::TestWithParam<const char*> {
 protected:
  bool CountsAll() const { return std::string_view(GetParam()) != "4.3.6"; }
};

TEST_P(ReturnsOf, StopsAndPausesNeverCount) {
  for (std::uint64_t seed = First(); seed <= Last(); ++seed) {
    Returns world(GetParam(), seed, 1 + seed % 3);
    world.Publish(/*hanging=*/0, /*quick=*/30);
    // Short enough that no consumer timeout occurs.
    world.RunFor(absl::Minutes(25), seed % 2 == 0 ? Returns::Ends::kStops : Returns::Ends::kPauses);
    EXPECT_EQ(world.Count("orders.parked"), 0U) << "RETRYQ_SEED=" << seed << ": parked";
    for (const auto& [body, account] : world.accounts()) {
      EXPECT_EQ(account.attempt, 0U) << "RETRYQ_SEED=" << seed << ": " << body;
    }
    if (HasFailure()) return;
  }
}

// One worker counts exactly. From 4.3 on only the worker itself knows of a timeout: each further
// worker may have received a message once before it is parked, and once more before it had an id.
TEST_P(ReturnsOf, AHangingMessageIsParkedAfterMaxAttempts) {
  for (std::uint64_t seed = First(); seed <= Last(); ++seed) {
    const std::size_t workers = 1 + seed % 3;
    Returns world(GetParam(), seed, workers);
    world.Publish(/*hanging=*/1, /*quick=*/0);
    world.RunFor(absl::Hours(12), Returns::Ends::kNone);
    EXPECT_EQ(world.Count("orders.parked"), 1U) << "RETRYQ_SEED=" << seed << ": not parked";
    const std::uint64_t calls = world.accounts().at("hangs 0").calls;
    EXPECT_GE(calls, kMaxAttempts) << "RETRYQ_SEED=" << seed << ": too early";
    EXPECT_LE(calls, CountsAll() ? kMaxAttempts : kMaxAttempts + 2 * (workers - 1))
        << "RETRYQ_SEED=" << seed << ": too late";
    if (HasFailure()) return;
  }
}

// Before 4.3 the broker also counts messages that have only waited.
TEST_P(ReturnsOf, MessagesBehindAHangingOneDoNotCountFrom43) {
  if (CountsAll()) return;
  for (std::uint64_t seed = First(); seed <= Last(); ++seed) {
    Returns world(GetParam(), seed, 1 + seed % 3);
    world.Publish(/*hanging=*/2, /*quick=*/10);
    world.RunFor(absl::Hours(24), Returns::Ends::kNone);
    EXPECT_EQ(world.Count("orders.parked"), 2U) << "RETRYQ_SEED=" << seed << ": not parked";
    for (const auto& [body, account] : world.accounts()) {
      if (body.starts_with("hangs")) continue;
      EXPECT_EQ(account.attempt, 0U) << "RETRYQ_SEED=" << seed << ": " << body;
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, ReturnsOf, ::testing::Values("3.10.8", "4.0.5", "4.3.6"),
                         [](const auto& version) {
                           std::string name = version.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace retryq::simulation::returns_test
