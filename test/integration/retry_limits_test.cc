// Messages that are given up: parked, rejected or discarded.

#include <nlohmann/json.hpp>

#include "support/consume.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_limits_test {

class RetryLimits : public OrdersTest {
 protected:
  // 50 ms between attempts, and at most this number of attempts.
  static RetryOptions Attempts(std::uint64_t max_attempts) {
    RetryOptions retry = Every(absl::Milliseconds(50));
    retry.max_attempts = max_attempts;
    return retry;
  }

  bool NothingLeft() { return peer_.Count("orders") == 0 && peer_.Count("orders.parked") == 0; }
};

// A body of this size, in which no two parts are equal.
std::string Body(std::size_t size) {
  std::string body;
  for (std::size_t i = 0; body.size() < size; ++i) body += absl::StrCat(i, ",");
  return body.substr(0, size);
}

TEST_F(RetryLimits, ParkMessagesThatAreTooLargeForMemory) {
  constexpr std::size_t kEach = 20;
  peer_.DeclareQueue("mail", {{"x-queue-type", "quorum"}});
  for (std::size_t i = 0; i < kEach; ++i) {
    for (const std::string queue : {"orders", "mail"}) {
      const std::string id = absl::StrCat("large-", i);
      peer_.Send("", queue, Body(300'000 + i), {.content_type = "a/b", .message_id = id});
      peer_.Send("", queue, absl::StrCat("small-", i));
    }
  }
  peer_.AwaitConfirms();
  Client client(loop_, Options());
  std::vector<Consumer> consumers;
  for (const std::string queue : {"orders", "mail"}) {
    Consumer consumer =
        Consume(client, {.queue = queue, .prefetch = 5, .max_body = 1024}, calls_.FailTimes(0));
    consumers.push_back(std::move(consumer));
  }
  ASSERT_TRUE(RunUntil([&] {
    return events_.Count(EventKind::kHandled) == 2 * kEach &&
           events_.Count(EventKind::kParked) == 2 * kEach;
  }));
  for (const std::string queue : {"orders", "mail"}) {
    EXPECT_EQ(peer_.Count(queue), 0U);
    for (std::size_t i = 0; i < kEach; ++i) {
      const amqp::MessagePtr parked = peer_.Get(queue + ".parked");
      ASSERT_NE(parked, nullptr);
      EXPECT_TRUE(parked->body == Body(300'000 + i)) << i;
      EXPECT_EQ(parked->properties.message_id, absl::StrCat("large-", i));
      EXPECT_EQ(parked->properties.content_type, "a/b");
      EXPECT_EQ(parked->properties.headers->FindString("x-retry-queue"), queue);
      EXPECT_EQ(parked->properties.headers->FindInt64("x-retry-count"), 0);
    }
    EXPECT_EQ(peer_.Get(queue + ".parked"), nullptr);
  }
  EXPECT_EQ(events_.Count(EventKind::kHeld), 0U);
}

TEST_F(RetryLimits, LeaveTooLargeMessagesInTheQueueIfTheyCannotBeParked) {
  {
    Client client(loop_, Options());
    const Consumer consumer =
        Consume(client, {.queue = "orders", .max_body = 200'000}, calls_.FailTimes(0));
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kConsuming) == 1; }));
    peer_.Delete("orders.parked");
    peer_.Publish("", "orders", Body(300'000));
    peer_.Publish("", "orders", "behind it");
    ASSERT_TRUE(RunUntil([&] {
      return events_.Count(EventKind::kHandled) == 1 && events_.Count(EventKind::kHeld) == 1;
    }));
    EXPECT_THAT(events_.Last(EventKind::kHeld)->error, HasSubstr("it was not routed to a queue"));
  }
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 1; }));
  EXPECT_TRUE(peer_.Get("orders")->body == Body(300'000));
}

// Deliveries that are in memory at the same time: further ones are not lost.
TEST_F(RetryLimits, BoundTheTotalOfBodiesInMemory) {
  constexpr std::size_t kMessages = 30;
  for (std::size_t i = 0; i < kMessages; ++i) peer_.Send("", "orders", Body(90'000 + i));
  peer_.AwaitConfirms();
  Client client(loop_, Options());
  std::vector<Settlement> open;
  std::set<std::size_t> seen;
  std::size_t most = 0;
  const Consumer consumer = Consume(client, {.queue = "orders", .max_body = 100'000},
                                    [&](const Delivery& delivery, Settlement settlement) {
                                      open.push_back(std::move(settlement));
                                      most = std::max(most, open.size());
                                      seen.insert(delivery.body().size());
                                    });
  ASSERT_TRUE(RunUntil([&] {
    if (!open.empty()) {
      Settlement settlement = std::move(open.back());
      open.pop_back();
      std::move(settlement).Settle(Outcome::Ok());
    }
    return seen.size() == kMessages && open.empty();
  }));
  EXPECT_EQ(most, 2U);
  EXPECT_EQ(events_.Count(EventKind::kFailed), 0U);
}

TEST_F(RetryLimits, ParkAfterTheLastAttemptWithTheHistory) {
  peer_.DeclareExchange("shop", "topic");
  peer_.Bind("orders", "shop", "#");
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client, {.queue = "orders", .retry = Attempts(3)}, calls_.FailTimes(100));
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

TEST_F(RetryLimits, RedeclareTheParkedQueueIfItIsDeleted) {
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client, {.queue = "orders"}, calls_.Answer(Outcome::Park(absl::UnknownError("bad"))));
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
  const Consumer consumer =
      Consume(client, {.queue = "jobs", .retry = retry}, calls_.FailTimes(100));
  peer_.Publish("", "jobs", "a job");
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("dead") == 1; }));

  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_EQ(events_.Count(EventKind::kRejected), 1U);
  EXPECT_EQ(peer_.Get("dead")->body, "a job");
  EXPECT_EQ(peer_.Count("jobs") + peer_.Count("jobs.parked"), 0U);
}

TEST_F(RetryLimits, TreatAnExceptionAsAFailure) {
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client, {.queue = "orders", .retry = Attempts(2)},
              [](const Delivery&) -> Outcome { throw std::runtime_error("boom"); });
  peer_.Publish("", "orders", "an order");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == 1; }));
  EXPECT_THAT(events_.Last(EventKind::kFailed)->error, HasSubstr("boom"));
}

}  // namespace retryq::testing::retry_limits_test
