// Messages that are given up: parked, rejected or discarded.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/retry_test.h"

namespace retryq::testing {
namespace retry_limits_test {

using ::testing::HasSubstr;

class RetryLimits : public RetryTest {
 protected:
  void SetUp() override { peer_.DeclareQueue("orders"); }

  // 50 ms between attempts, and at most so many of them.
  static RetryOptions Attempts(std::uint64_t max_attempts) {
    RetryOptions retry = Every(absl::Milliseconds(50));
    retry.max_attempts = max_attempts;
    return retry;
  }

  bool NothingLeft() { return peer_.Count("orders") == 0 && peer_.Count("orders.parked") == 0; }
};

TEST_F(RetryLimits, LeaveInItsQueueWhatIsTooLargeForMemory) {
  peer_.Publish("", "orders", std::string(300'000, 'x'));
  peer_.Publish("", "orders", "behind it");
  {
    Client client(loop_, Options());
    const auto consumer = client.Consume(
        {.queue = "orders", .retry = Attempts(3), .max_body = 200'000}, calls_.FailTimes(0));
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));
    EXPECT_THAT(events_.Last(EventKind::kHeld)->error, HasSubstr("its body of 300000 bytes"));
  }
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 1; }));
  EXPECT_EQ(peer_.Get("orders")->body.size(), 300'000U);
  EXPECT_EQ(calls_.size(), 1U);
}

TEST_F(RetryLimits, ParkAfterTheLastAttemptWithWhatHappened) {
  peer_.DeclareExchange("shop", "topic");
  peer_.Bind("orders", "shop", "#");
  Client client(loop_, Options());
  const auto consumer =
      client.Consume({.queue = "orders", .retry = Attempts(3)}, calls_.FailTimes(100));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  const std::string headers = amqp::Table({{"colour", "red"}}).Encode().value();
  peer_.Publish("shop", "order.placed", "an order",
                {.headers = amqp::TableView(headers), .message_id = "id-1"});
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == 1; }));

  EXPECT_EQ(calls_.size(), 3U);
  EXPECT_EQ(vhost_.Queue("orders.parked").value().at("durable"), true);
  EXPECT_EQ(vhost_.Queue("orders.parked").value().at("arguments"),
            Json({{"x-queue-type", "classic"}}));
  const amqp::MessagePtr parked = peer_.Get("orders.parked");
  ASSERT_NE(parked, nullptr);
  EXPECT_EQ(parked->body, "an order");
  EXPECT_EQ(parked->properties.delivery_mode, 2);
  EXPECT_EQ(parked->properties.message_id, "id-1");
  const amqp::TableView table = *parked->properties.headers;
  EXPECT_EQ(table.FindString("colour"), "red");
  EXPECT_EQ(table.FindInt64("x-retry-count"), 3);
  EXPECT_EQ(table.FindString("x-retry-queue"), "orders");
  EXPECT_EQ(table.FindString("x-retry-exchange"), "shop");
  EXPECT_EQ(table.FindString("x-retry-routing-key"), "order.placed");
  EXPECT_EQ(table.FindString("x-retry-error"), "UNAVAILABLE: not yet");
  EXPECT_EQ(table.FindString("x-retry-id"), "id-1");
  EXPECT_EQ(table.Find("x-retry-first-failure").value().type, 'l');
  EXPECT_EQ(table.Find("x-retry-parked").value().type, 'l');
  EXPECT_FALSE(table.Find("x-retry-delay").has_value());
  EXPECT_FALSE(table.Find("x-retry-not-before").has_value());
  EXPECT_FALSE(table.Find("x-death").has_value());
  EXPECT_FALSE(table.Find("x-first-death-queue").has_value());
  EXPECT_TRUE(NothingLeft());
}

TEST_F(RetryLimits, ParkAtOnceWhatRetryingCannotFix) {
  Client client(loop_, Options());
  const auto consumer = client.Consume({.queue = "orders", .retry = Attempts(3)},
                                       calls_.Answer(absl::InvalidArgumentError("no JSON")));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  peer_.Publish("", "orders", "an order");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == 1; }));

  EXPECT_EQ(calls_.size(), 1U);
  EXPECT_EQ(peer_.Get("orders.parked")->properties.headers->FindString("x-retry-error"),
            "INVALID_ARGUMENT: no JSON");
}

TEST_F(RetryLimits, ParkInTheQueueThatIsNamedAndThereAlready) {
  peer_.DeclareQueue("graveyard", {{"x-queue-type", "quorum"}});
  Client client(loop_, Options());
  const auto consumer = client.Consume({.queue = "orders", .parked_queue = "graveyard"},
                                       calls_.Answer(Outcome::Park(absl::UnknownError("bad"))));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  peer_.Publish("", "orders", "an order");
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("graveyard") == 1; }));
  EXPECT_FALSE(vhost_.HasQueue("orders.parked"));
}

TEST_F(RetryLimits, DeclareTheParkedQueueAgainWhenItVanishes) {
  Client client(loop_, Options());
  const auto consumer =
      client.Consume({.queue = "orders"}, calls_.Answer(Outcome::Park(absl::UnknownError("bad"))));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == 1; }));

  vhost_.DeleteQueue("orders.parked");
  peer_.Publish("", "orders", "two");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == 2; }));

  EXPECT_EQ(peer_.Get("orders.parked")->body, "two");
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

TEST_F(RetryLimits, RejectToTheQueuesOwnDeadLetterExchange) {
  peer_.DeclareQueue("dead");
  peer_.DeclareQueue("jobs",
                     {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "dead"}});
  RetryOptions retry = Attempts(2);
  retry.on_limit = OnLimit::kReject;
  Client client(loop_, Options());
  const auto consumer = client.Consume({.queue = "jobs", .retry = retry}, calls_.FailTimes(100));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  peer_.Publish("", "jobs", "a job");
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("dead") == 1; }));

  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_EQ(events_.Count(EventKind::kRejected), 1U);
  EXPECT_EQ(peer_.Get("dead")->body, "a job");
  EXPECT_EQ(peer_.Count("jobs") + peer_.Count("jobs.parked"), 0U);
}

TEST_F(RetryLimits, DiscardWhereTold) {
  RetryOptions retry = Attempts(2);
  retry.on_limit = OnLimit::kDiscard;
  Client client(loop_, Options());
  const auto consumer = client.Consume({.queue = "orders", .retry = retry}, calls_.FailTimes(100));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  peer_.Publish("", "orders", "an order");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kDiscarded) == 1; }));

  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_TRUE(NothingLeft());
}

TEST_F(RetryLimits, DiscardWhenTheHandlerSaysSo) {
  Client client(loop_, Options());
  const auto consumer =
      client.Consume({.queue = "orders"}, calls_.Answer(Outcome::Discard("too old to matter")));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  peer_.Publish("", "orders", "an order");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kDiscarded) == 1; }));

  EXPECT_THAT(events_.Last(EventKind::kDiscarded)->error, HasSubstr("too old to matter"));
  EXPECT_TRUE(NothingLeft());
}

TEST_F(RetryLimits, ParkWhatHasFailedForTooLong) {
  RetryOptions retry = Every(absl::Milliseconds(400));
  retry.max_age = absl::Seconds(1);
  Client client(loop_, Options());
  const auto consumer = client.Consume({.queue = "orders", .retry = retry}, calls_.FailTimes(100));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  peer_.Publish("", "orders", "an order");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == 1; }));

  EXPECT_GE(calls_.size(), 2U);
  EXPECT_LE(calls_.size(), 3U);
  EXPECT_EQ(peer_.Count("orders.parked"), 1U);
}

TEST_F(RetryLimits, TakeAnExceptionForAFailure) {
  Client client(loop_, Options());
  const auto consumer =
      client.Consume({.queue = "orders", .retry = Attempts(2)},
                     [](const Delivery&) -> Outcome { throw std::runtime_error("boom"); });
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  peer_.Publish("", "orders", "an order");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == 1; }));
  EXPECT_THAT(events_.Last(EventKind::kFailed)->error, HasSubstr("boom"));
}

}  // namespace retry_limits_test
}  // namespace retryq::testing
