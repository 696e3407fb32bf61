// Messages that return to a quorum queue, and which returns count as failures.

#include <nlohmann/json.hpp>

#include "support/consume.h"
#include "support/management.h"
#include "support/own_broker.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_returns_test {

// Before 4.3 a quorum queue counts every return.
bool CountsAllReturns() {
  const std::string version =
      Management(ManagementUrl()).Get("/overview").value().at("rabbitmq_version");
  return version.starts_with("3.") || version.starts_with("4.0") || version.starts_with("4.1") ||
         version.starts_with("4.2");
}

class RetryReturns : public RetryTest {
 protected:
  void SetUp() override {
    peer_.DeclareQueue("orders", {{"x-queue-type", "quorum"}});
    for (const std::string body : {"one", "two", "three"}) peer_.Publish("", "orders", body);
  }

  // Keeps its deliveries unsettled.
  AsyncHandler Keep() {
    return [this](const Delivery& delivery, Settlement settlement) {
      calls_.Note(delivery);
      open_.push_back(std::move(settlement));
    };
  }
  std::vector<std::uint64_t> Attempts() const {
    std::vector<std::uint64_t> attempts;
    for (std::size_t i = 0; i < calls_.size(); ++i) attempts.push_back(calls_[i].attempt());
    return attempts;
  }

  const ConsumerOptions kOptions{.queue = "orders", .retry = {.max_attempts = 2}};
  std::vector<Settlement> open_;
};

TEST_F(RetryReturns, ByAGracefulStopNeverCount) {
  for (std::size_t stops = 1; stops <= 5; ++stops) {
    Client client(loop_, Options());
    auto consumer = client.Consume(kOptions, Keep());
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    ASSERT_TRUE(RunUntil([&] { return open_.size() == 3; })) << stops;
    std::optional<bool> complete;
    consumer->Drain(absl::Seconds(30), [&](bool all) { complete = all; });
    for (Settlement& settlement : std::exchange(open_, {})) {
      std::move(settlement).Settle(Outcome::Requeue());
    }
    ASSERT_TRUE(RunUntil([&] { return complete.has_value(); }));
    EXPECT_EQ(complete, true);
  }
  EXPECT_EQ(events_.Count(EventKind::kRequeued), 15U);
  Client client(loop_, Options());
  const Consumer consumer = Consume(client, kOptions, calls_.Succeed());
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 3; }));
  EXPECT_THAT(Attempts(), Each(0));
  EXPECT_EQ(events_.Count(EventKind::kParked), 0U);
}

// Before 4.3 only copies are not counted, and there is no time for copies here.
TEST_F(RetryReturns, ByADestroyedConsumerDoNotCountFrom43) {
  const bool counts_all = CountsAllReturns();
  for (std::size_t round = 1; round <= 3; ++round) {
    Client client(loop_, Options());
    auto consumer = client.Consume({.queue = "orders"}, Keep());
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    ASSERT_TRUE(RunUntil([&] { return open_.size() == 3; })) << round;
    EXPECT_THAT(Attempts(), Each(counts_all ? round - 1 : 0));
    consumer = absl::CancelledError("gone");
    open_.clear();
    calls_ = Calls();
    ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 3; }));
  }
}

class RetryConsumerTimeouts : public OnOwnBroker<OrdersTest> {
 protected:
  void SetUp() override {
    OnOwnBroker::SetUp();
    if (IsSkipped()) return;
    broker().SetConsumerTimeout(absl::Seconds(2));
    peer_.DeclareQueue("slow", {{"x-queue-type", "quorum"}});
    PublishOften();
  }

  // From 4.3 on a timeout may be forgotten until something else happens in the queue (F62 in
  // doc/rabbitmq_facts.md).
  void PublishOften() {
    traffic_ = loop_.After(absl::Seconds(1), [this] {
      peer_.Publish("", "slow", kTraffic);
      PublishOften();
    });
  }

  static constexpr const char* kTraffic = "passes";
  std::unique_ptr<Timer> traffic_;
};

TEST_F(RetryConsumerTimeouts, ParkAMessageAfterMaxAttempts) {
  std::vector<Settlement> never;
  RetryOptions retry = Every(absl::Milliseconds(50));
  retry.max_attempts = 3;
  Client client(loop_, Options());
  const Consumer consumer = Consume(client, {.queue = "slow", .retry = retry},
                                    [&](const Delivery& delivery, Settlement settlement) {
                                      if (delivery.body() == kTraffic) {
                                        return std::move(settlement).Settle(Outcome::Ok());
                                      }
                                      calls_.Note(delivery);
                                      never.push_back(std::move(settlement));
                                    });
  peer_.Publish("", "slow", "hangs");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == 1; }, absl::Minutes(2)));
  ASSERT_EQ(calls_.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(calls_[i].attempt(), i);
  EXPECT_THAT(events_.Last(EventKind::kParked)->error,
              AllOf(HasSubstr("gave up after 3 attempts"),
                    AnyOf(HasSubstr("consumer timeout"), HasSubstr("lost its connection"))));
  EXPECT_TRUE(Holds("slow.parked", 1));
  // Up to 4.0 the channel is closed. 4.3 cancels the consumer, but only on quorum queues.
  EXPECT_THAT(events_.Last(EventKind::kInterrupted)->error,
              AnyOf(HasSubstr("timeout"), HasSubstr("ended the consumer")));
  EXPECT_EQ(events_.Count(EventKind::kDisconnected), 0U);
}

// Only 4.3 requeues them uncounted.
TEST_F(RetryConsumerTimeouts, DoNotCountForMessagesThatOnlyWaitedFrom43) {
  const bool counts_all = CountsAllReturns();
  std::vector<Settlement> never;
  std::vector<Settlement> waiting;
  RetryOptions retry = Every(absl::Milliseconds(50));
  retry.max_attempts = 2;
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client, {.queue = "slow", .retry = retry},
              [&](const Delivery& delivery, Settlement settlement) {
                if (delivery.body() == kTraffic) return std::move(settlement).Settle(Outcome::Ok());
                calls_.Note(delivery);
                if (delivery.body() == "hangs") {
                  never.push_back(std::move(settlement));
                  return;
                }
                EXPECT_EQ(delivery.attempt(), counts_all && delivery.redelivered() ? 1U : 0U);
                settlement.SetBegun(false);
                waiting.push_back(std::move(settlement));
              });
  peer_.Publish("", "slow", "hangs");
  peer_.Publish("", "slow", "waits");
  // The second timeout parks the one, or before 4.3 both.
  ASSERT_TRUE(RunUntil([&] { return Holds("slow.parked", counts_all ? 2 : 1); }, absl::Minutes(2)));
  if (!counts_all) {
    EXPECT_EQ(peer_.Get("slow.parked")->body, "hangs");
  }
}

}  // namespace retryq::testing::retry_returns_test
