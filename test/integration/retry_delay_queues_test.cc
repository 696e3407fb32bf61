// The delay queues on the broker: their properties, their expiry, and their redeclaration.

#include <nlohmann/json.hpp>

#include "support/consume.h"
#include "support/referee.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_delay_queues_test {

class RetryDelayQueues : public OrdersTest {};

TEST_F(RetryDelayQueues, MatchTheDesign) {
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client, {.queue = "orders", .retry = Every(absl::Seconds(1))}, calls_.FailTimes(1));
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == 1; }));
  EXPECT_EQ(events_.Last(EventKind::kRetried)->delay_queue, "retry.1000");

  const Json queue = vhost_.Queue("retry.1000").value();
  EXPECT_EQ(queue.at("durable"), true);
  EXPECT_EQ(queue.at("auto_delete"), false);
  EXPECT_EQ(queue.at("exclusive"), false);
  EXPECT_EQ(queue.at("arguments"), Json({{"x-queue-type", "classic"},
                                         {"x-message-ttl", 1000},
                                         {"x-expires", 121000},
                                         {"x-dead-letter-exchange", ""}}));

  const Json exchange = vhost_.Exchange("retry.1000").value();
  EXPECT_EQ(exchange.at("type"), "fanout");
  EXPECT_EQ(exchange.at("durable"), true);
  EXPECT_EQ(exchange.at("auto_delete"), true);
  EXPECT_EQ(exchange.at("internal"), false);
  EXPECT_EQ(exchange.at("arguments"), Json::object());

  const Json bindings = vhost_.Bindings("retry.1000", "retry.1000");
  ASSERT_EQ(bindings.size(), 1U);
  EXPECT_EQ(bindings.at(0).at("routing_key"), "");
  EXPECT_EQ(bindings.at(0).at("arguments"), Json::object());
}

TEST_F(RetryDelayQueues, ReturnThroughANamedWorkExchange) {
  peer_.DeclareExchange("work", "direct");
  peer_.Bind("orders", "work", "order.placed");
  Client client(loop_, Options());
  const Consumer consumer = Consume(
      client, {.queue = "orders", .work_exchange = "work", .retry = Every(absl::Milliseconds(200))},
      calls_.FailTimes(1));
  peer_.Publish("work", "order.placed", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 2; }));

  EXPECT_EQ(vhost_.Queue("retry.200").value().at("arguments").at("x-dead-letter-exchange"), "work");
  EXPECT_EQ(calls_.back().message()->exchange, "work");
  EXPECT_EQ(calls_.back().message()->routing_key, "order.placed");
}

TEST_F(RetryDelayQueues, AreClassicInAVhostWhoseDefaultIsQuorum) {
  const TestVhost quorum(Json{{"default_queue_type", "quorum"}});
  Peer peer(quorum.Url());
  peer.DeclareQueue("orders", {{"x-queue-type", "classic"}});
  ClientOptions options = Options();
  options.url = quorum.Url();
  Client client(loop_, options);
  const Consumer consumer = Consume(
      client, {.queue = "orders", .retry = Every(absl::Milliseconds(200))}, calls_.FailTimes(1));
  peer.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 2; }));

  EXPECT_EQ(quorum.Queue("retry.200").value().at("type"), "classic");
  EXPECT_EQ(quorum.Queue("orders.parked").value().at("type"), "classic");
}

TEST_F(RetryDelayQueues, ExpireAfterTheirLeaseAndAreRedeclaredWhenNeeded) {
  Client client(loop_, ShortLeases());
  const Consumer consumer = Consume(
      client, {.queue = "orders", .retry = Every(absl::Milliseconds(300))}, calls_.FailTimes(1));
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 2; }));
  EXPECT_EQ(vhost_.Queue("retry.300").value().at("arguments").at("x-expires"), 5300);

  ASSERT_TRUE(RunUntil([&] { return !vhost_.HasQueue("retry.300"); }));
  EXPECT_FALSE(vhost_.HasExchange("retry.300"));
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kLapsed) == 1; }));
  EXPECT_EQ(events_.Last(EventKind::kLapsed)->delay_queue, "retry.300");

  peer_.Publish("", "orders", "two");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 4; }));
  EXPECT_EQ(events_.Count(EventKind::kDeclared), 2U);
  EXPECT_EQ(events_.Count(EventKind::kLeaseBroken), 0U);
  EXPECT_TRUE(vhost_.HasExchange("retry.300"));
}

// A message keeps failing for longer than the queue would exist without renewals.
TEST_F(RetryDelayQueues, OutliveTheirLeaseWhileTheyAreUsed) {
  Client client(loop_, ShortLeases());
  const Consumer consumer = Consume(
      client, {.queue = "orders", .retry = Every(absl::Milliseconds(700))}, calls_.FailTimes(10));
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 11; }));

  EXPECT_EQ(events_.Count(EventKind::kDeclared), 1U);
  EXPECT_GE(events_.Count(EventKind::kRenewed), 3U);
  EXPECT_EQ(events_.Count(EventKind::kLeaseBroken), 0U);
}

TEST_F(RetryDelayQueues, AreRedeclaredIfDeletedBetweenTwoFailures) {
  std::optional<Settlement> open;
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client, {.queue = "orders", .retry = Every(absl::Milliseconds(200))},
              [&](const Delivery& delivery, Settlement settlement) {
                calls_.Note(delivery);
                open = std::move(settlement);
              });
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 1; }));
  std::move(*open).Settle(absl::UnavailableError("first"));
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 2; }));

  vhost_.DeleteQueue("retry.200");
  ASSERT_FALSE(vhost_.HasExchange("retry.200"));
  std::move(*open).Settle(absl::UnavailableError("second"));

  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 3; }));
  EXPECT_EQ(calls_.back().attempt(), 2U);
  EXPECT_EQ(events_.Count(EventKind::kLeaseBroken), 1U);
  EXPECT_EQ(events_.Last(EventKind::kLeaseBroken)->delay_queue, "retry.200");
  EXPECT_TRUE(vhost_.HasQueue("retry.200"));
  std::move(*open).Settle(absl::OkStatus());
}

TEST_F(RetryDelayQueues, LoseNothingIfTheirExchangeIsDeletedDuringPublishes) {
  constexpr int kMessages = 2000;
  Referee referee;
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client, {.queue = "orders", .retry = Every(absl::Milliseconds(500)), .prefetch = 100},
              [&](const Delivery& delivery) -> Outcome {
                if (delivery.attempt() == 0) {
                  referee.Failed(delivery.body());
                  return absl::UnavailableError("not yet");
                }
                referee.Handled(delivery.body());
                return Outcome::Ok();
              });
  for (int i = 0; i < kMessages; ++i) {
    const std::string id = std::to_string(i);
    referee.Sent(id);
    peer_.Send("", "orders", id);
  }
  peer_.AwaitConfirms();

  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) > 100; }));
  vhost_.DeleteExchange("retry.500");

  ASSERT_TRUE(RunUntil([&] { return referee.done() == kMessages; }));
  EXPECT_TRUE(referee.NoneLost());
  EXPECT_GE(events_.Count(EventKind::kLeaseBroken), 1U);
  EXPECT_TRUE(vhost_.HasExchange("retry.500"));
}

}  // namespace retryq::testing::retry_delay_queues_test
