// Messages that kill the worker that handles them, in a simulated RabbitMQ.

#include "base/header_names.h"
#include "support/make_message.h"
#include "support/simulated_world.h"

namespace retryq::poison_test {

constexpr char kQueue[] = "orders";
constexpr char kParked[] = "orders.parked";

class PoisonTest : public ::testing::Test, protected testing::SimulatedWorld {
 protected:
  void DeclareQueue(const std::string& type) {
    rabbit_.DeclareQueue(kQueue, {{"x-queue-type", type}});
  }

  void Publish(const std::string& id, const amqp::Table& headers = {}) {
    const std::string encoded = headers.Encode().value();
    amqp::Properties properties{.message_id = id};
    if (!encoded.empty()) properties.headers = amqp::TableView(encoded);
    ASSERT_TRUE(rabbit_.Publish("", kQueue, properties, "body"));
  }

  // Runs a worker once: it handles all messages except "poison", which kills it, and ends after
  // this time at the latest. Returns whether it died.
  bool Work(const RetryOptions& retry, std::uint16_t prefetch = 1,
            absl::Duration life = absl::Hours(1)) {
    testing::SimulatedProcess& worker = Start({.observer = &events_});
    std::vector<Settlement> in_hand;
    bool dying = false;
    worker.Consume({.queue = kQueue, .retry = retry, .prefetch = prefetch},
                   [&](const Delivery& delivery, Settlement settlement) {
                     calls_.emplace_back(delivery.id());
                     attempts_.push_back(delivery.attempt());
                     dying = dying || delivery.id() == "poison";
                     in_hand.push_back(std::move(settlement));
                     if (!dying) std::move(in_hand.back()).Settle(Outcome::Ok());
                   });
    const absl::Time end = time_.Now() + life;
    while (!dying && time_.Now() < end) time_.Advance(absl::Milliseconds(100));
    // What it has sent reaches the broker.
    time_.Advance(absl::Milliseconds(100));
    Kill(worker);
    return dying;
  }

  // Runs workers until one survives.
  int Deaths(const RetryOptions& retry, std::uint16_t prefetch = 1) {
    int deaths = 0;
    while (deaths < 100 && Work(retry, prefetch)) ++deaths;
    return deaths;
  }

  std::int64_t FailuresOfParked() {
    const auto parked = rabbit_.Messages(kParked);
    if (parked.empty()) return -1;
    return parked[0]->properties.headers->FindInt64(kRetryCountHeader).value_or(-1);
  }

  testing::RecordedEvents events_;
  std::vector<std::string> calls_;
  std::vector<std::uint64_t> attempts_;
};

TEST_F(PoisonTest, KeepsItsCountWhenItIsMovedBeforeTheBrokerDropsIt) {
  DeclareQueue("quorum");
  Publish("poison");
  EXPECT_EQ(Deaths({.max_attempts = 25}), 25);
  EXPECT_GE(events_.Count(EventKind::kMoved), 2U);
  EXPECT_EQ(FailuresOfParked(), 25);
  EXPECT_EQ(attempts_.back(), 24U);
}

TEST_F(PoisonTest, WithoutALimitOfAttemptsIsParkedAtItsAge) {
  DeclareQueue("quorum");
  Publish("poison");
  const RetryOptions retry{.max_attempts = 0, .max_age = absl::Minutes(10)};
  for (int death = 0; death < 30; ++death) {
    if (!Work(retry)) break;
    time_.Advance(absl::Minutes(1));  // until the next worker is started
  }
  EXPECT_EQ(rabbit_.Count(kParked), 1U);
  EXPECT_LT(calls_.size(), 30U);
}

TEST_F(PoisonTest, CountsAgainstMessagesPrefetchedWithIt) {
  DeclareQueue("classic");
  for (const char* id : {"one", "poison", "two", "three"}) Publish(id);
  const RetryOptions retry{.max_attempts = 3, .count_redeliveries = CountRedeliveries::kAlways};
  EXPECT_EQ(Deaths(retry, /*prefetch=*/10), 3);
  EXPECT_EQ(events_.Count(EventKind::kHandled), 1U);  // what came before it
  EXPECT_EQ(rabbit_.Count(kParked), 3U);
  EXPECT_THAT(rabbit_.let_go(), IsEmpty());
}

}  // namespace retryq::poison_test
