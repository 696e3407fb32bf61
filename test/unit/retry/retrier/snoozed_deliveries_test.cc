#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/header_names.h"
#include "retryq/broker/retrier.h"
#include "retryq/client.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "unit/retry/retrier/retrier_fixture.h"

namespace retryq {
namespace snoozed_deliveries_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::RetrierTest;
using ::testing::SizeIs;

class SnoozedDeliveries : public RetrierTest {
 protected:
  void StartSnoozing(RetrierOptions options) {
    Start(std::move(options),
          Handler([](const Delivery&) { return Outcome::Snooze(absl::Seconds(5), "later"); }));
  }

  const amqp::Value* Header(std::string_view name) { return LastPublish().headers.Find(name); }
};

TEST_F(SnoozedDeliveries, ReturnAfterTheirDelayUncounted) {
  StartSnoozing({.queue = "orders", .retry = {.max_attempts = 1}});
  Deliver({.exchange = "shop", .routing_key = "order.placed"});
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(LastPublish().routing_key, "orders");
  EXPECT_EQ(LastPublish().exchange.rfind("retry.", 0), 0U);
  EXPECT_EQ(*Header(kRetryCountHeader), amqp::Value(std::int64_t{0}));
  EXPECT_EQ(*Header(kRetryQueueHeader), amqp::Value("orders"));
  EXPECT_EQ(*Header(kRetryExchangeHeader), amqp::Value("shop"));
  EXPECT_EQ(*Header(kRetryDelayHeader), amqp::Value(std::int64_t{5'000}));
  EXPECT_NE(Header(kRetryNotBeforeHeader), nullptr);
  EXPECT_EQ(Header(kRetryFirstFailureHeader), nullptr);
  EXPECT_EQ(Header(kRetryErrorHeader), nullptr);
  EXPECT_THAT(broker_.acked, IsEmpty());

  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_EQ(events_.Count(EventKind::kFailed), 0U);
  ASSERT_EQ(events_.Count(EventKind::kSnoozed), 1U);
  EXPECT_EQ(events_.Last(EventKind::kSnoozed)->error, "later");
  EXPECT_EQ(events_.Last(EventKind::kSnoozed)->delay, absl::Seconds(5));
}

TEST_F(SnoozedDeliveries, KeepTheFailuresThatTheyHave) {
  StartSnoozing({.queue = "orders"});
  const amqp::Table remembered = {{kRetryCountHeader.data(), std::int64_t{3}},
                                  {kRetryFirstFailureHeader.data(), std::int64_t{1'000}},
                                  {kRetryQueueHeader.data(), "orders"},
                                  {kRetryExchangeHeader.data(), "shop"},
                                  {kRetryRoutingKeyHeader.data(), "order.placed"},
                                  {kRetryErrorHeader.data(), "down"},
                                  {kRetryIdHeader.data(), "id"}};
  Deliver({.headers = remembered});
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  for (const auto& [name, value] : remembered.fields()) {
    ASSERT_NE(Header(name), nullptr) << name;
    EXPECT_EQ(*Header(name), value) << name;
  }
}

TEST_F(SnoozedDeliveries, KeepTheRedeliveriesThatTheirQueueHasCounted) {
  StartSnoozing({.queue = "orders"});
  Redeliver(2, testing::Copied({{"x-retry-count", std::int64_t{3}}}));
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(*Header(kRetryCountHeader), amqp::Value(std::int64_t{5}));
  EXPECT_EQ(Header("x-delivery-count"), nullptr);
}

TEST_F(SnoozedDeliveries, AreParkedIfTheBrokerRefusesTheirCopy) {
  StartSnoozing({.queue = "orders"});
  Deliver();
  for (int turn = 0; turn < 10 && LastPublish().routing_key == "orders"; ++turn) {
    broker_.CloseChannel(406, "PRECONDITION_FAILED - too large");
    time_.RunReady();
  }
  EXPECT_EQ(LastPublish().routing_key, "orders.parked");
  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_EQ(events_.Count(EventKind::kParked), 1U);
}

TEST(Snooze, ReturnsAMessageOnTimeThroughSeveralDelayQueues) {
  testing::SimulatedTime time;
  testing::SeededRandom random;
  testing::SimulatedRabbitMq rabbit(time, random);
  rabbit.DeclareQueue("work");
  testing::SimulatedBroker broker(rabbit);
  Client client(testing::EnvironmentOf(time, random), broker, {}, [](const absl::Status&) {});
  struct Call {
    absl::Time at;
    std::uint64_t attempt;
  };
  std::vector<Call> calls;
  const absl::Duration delay = absl::Milliseconds(123'457);
  absl::StatusOr<Consumer> consumer =
      client.Consume({.queue = "work"}, Handler([&](const Delivery& delivery) -> Outcome {
                       calls.push_back({time.Now(), delivery.attempt()});
                       if (calls.size() == 2) return absl::UnavailableError("down");
                       if (calls.size() < 5) return Outcome::Snooze(delay, "later");
                       return Outcome::Ok();
                     }));
  ASSERT_TRUE(consumer.ok());
  ASSERT_TRUE(rabbit.Publish("", "work"));
  time.Advance(absl::Minutes(20));
  ASSERT_THAT(calls, SizeIs(5));
  EXPECT_EQ(calls[1].attempt, 0U);
  EXPECT_EQ(calls[2].attempt, 1U);
  EXPECT_EQ(calls[4].attempt, 1U);
  for (const std::size_t i : {1U, 3U, 4U}) {
    EXPECT_GE(calls[i].at - calls[i - 1].at, delay);
    EXPECT_LT(calls[i].at - calls[i - 1].at, delay + absl::Seconds(1));
  }
  EXPECT_THAT(rabbit.let_go(), IsEmpty());
}

}  // namespace snoozed_deliveries_test
}  // namespace retryq
