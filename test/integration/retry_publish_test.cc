// Client::Publish: now or later, to a queue or an exchange.

#include <gmock/gmock.h>

#include <optional>

#include "support/retry_test.h"

namespace retryq::testing {
namespace retry_publish_test {

using ::testing::HasSubstr;

class RetryPublish : public RetryTest {
 protected:
  void SetUp() override { peer_.DeclareQueue("orders"); }

  // The status that the publish ends with.
  absl::Status Publish(Client& client, OutgoingMessage message, absl::Duration delay,
                       absl::Duration deadline = absl::Seconds(20)) {
    std::optional<absl::Status> answer;
    client.Publish(std::move(message), {.delay = delay, .round_up = true, .deadline = deadline},
                   [&](absl::Status status) { answer = std::move(status); });
    EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
    return answer.value_or(absl::UnknownError("no answer"));
  }

  // Waits until the queue has a message, and takes it.
  amqp::MessagePtr Await(const std::string& queue) {
    amqp::MessagePtr message;
    EXPECT_TRUE(RunUntil([&] { return (message = peer_.Get(queue)) != nullptr; }));
    return message;
  }
};

// To a queue and to an exchange the same delay needs two delay queues.
TEST_F(RetryPublish, ToAQueueAndToAnExchangeGoSideBySide) {
  peer_.DeclareExchange("shop", "fanout");
  peer_.DeclareQueue("mails");
  peer_.Bind("mails", "shop");
  Client client(loop_, Options());
  const absl::Duration delay = absl::Milliseconds(256);
  EXPECT_EQ(Publish(client, {.routing_key = "orders", .body = "an order"}, delay),
            absl::OkStatus());
  EXPECT_EQ(Publish(client, {.exchange = "shop", .body = "a mail"}, delay), absl::OkStatus());

  EXPECT_EQ(Await("orders")->body, "an order");
  EXPECT_EQ(Await("mails")->body, "a mail");
}

TEST_F(RetryPublish, ToAMissingExchangeIsNotFoundAndOthersGoOn) {
  Client client(loop_, Options());
  for (const absl::Duration delay : {absl::ZeroDuration(), absl::Hours(1)}) {
    const absl::Status status =
        Publish(client, {.exchange = "nowhere", .routing_key = "orders"}, delay);
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("nowhere"));
  }
  EXPECT_EQ(Publish(client, {.routing_key = "orders"}, absl::ZeroDuration()), absl::OkStatus());
}

TEST_F(RetryPublish, ThatWaitsCountsAsTheFirstAttemptWhenItArrives) {
  Client client(loop_, Options());
  const auto consumer = client.Consume({.queue = "orders", .retry = Every(absl::Milliseconds(50))},
                                       calls_.FailTimes(1));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  EXPECT_EQ(Publish(client, {.routing_key = "orders"}, absl::Milliseconds(128)), absl::OkStatus());
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 2; }));
  EXPECT_EQ(calls_[0].attempt(), 0U);
  EXPECT_EQ(calls_[1].attempt(), 1U);
}

}  // namespace retry_publish_test
}  // namespace retryq::testing
