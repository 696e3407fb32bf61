// Client::Publish: now or later, to a queue or an exchange.

#include "support/consume.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_publish_test {

class RetryPublish : public OrdersTest {
 protected:
  // The result of the publish.
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

TEST_F(RetryPublish, ArrivesAtOnceWithoutADelay) {
  Client client(loop_, Options());
  EXPECT_EQ(Publish(client,
                    {.routing_key = "orders",
                     .body = "an order",
                     .content_type = "text/plain",
                     .message_id = "id-1",
                     .headers = {{"colour", "red"}}},
                    absl::ZeroDuration()),
            absl::OkStatus());

  const amqp::MessagePtr message = peer_.Get("orders");
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->body, "an order");
  EXPECT_EQ(message->properties.content_type, "text/plain");
  EXPECT_EQ(message->properties.message_id, "id-1");
  EXPECT_EQ(message->properties.delivery_mode, 2);
  EXPECT_EQ(message->properties.headers->FindString("colour"), "red");
  EXPECT_EQ(events_.Count(EventKind::kPublished), 1U);
}

TEST_F(RetryPublish, ArrivesAtAQueueAfterTheDelayRoundedUp) {
  Client client(loop_, Options());
  const absl::Time start = absl::Now();
  EXPECT_EQ(Publish(client, {.routing_key = "orders", .body = "later"}, absl::Milliseconds(1800)),
            absl::OkStatus());
  EXPECT_EQ(peer_.Count("retry.2000"), 1U);
  EXPECT_EQ(peer_.Get("orders"), nullptr);

  EXPECT_EQ(Await("orders")->body, "later");
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(1999));
}

TEST_F(RetryPublish, ArrivesThroughAnExchangeAfterTheDelay) {
  peer_.DeclareExchange("shop", "topic");
  peer_.Bind("orders", "shop", "order.#");
  Client client(loop_, Options());
  EXPECT_EQ(Publish(client, {.exchange = "shop", .routing_key = "order.placed", .body = "later"},
                    absl::Milliseconds(256)),
            absl::OkStatus());

  const amqp::MessagePtr message = Await("orders");
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->body, "later");
  EXPECT_EQ(message->exchange, "shop");
  EXPECT_EQ(message->routing_key, "order.placed");
}

TEST_F(RetryPublish, ToAMissingQueueFailsAtOnceWithNotFound) {
  Client client(loop_, Options());
  for (const absl::Duration delay : {absl::ZeroDuration(), absl::Hours(1)}) {
    const absl::Status status = Publish(client, {.routing_key = "missing"}, delay);
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("missing"));
  }
}

TEST_F(RetryPublish, ToAMissingExchangeFailsWithNotFoundAndOthersContinue) {
  Client client(loop_, Options());
  for (const absl::Duration delay : {absl::ZeroDuration(), absl::Hours(1)}) {
    const absl::Status status =
        Publish(client, {.exchange = "nowhere", .routing_key = "orders"}, delay);
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("nowhere"));
  }
  EXPECT_EQ(Publish(client, {.routing_key = "orders"}, absl::ZeroDuration()), absl::OkStatus());
}

TEST_F(RetryPublish, WithoutPermissionIsDenied) {
  const std::string user = vhost_.AddUser({{.configure = ".*", .write = "retry", .read = ".*"}});
  ClientOptions options = Options();
  options.url = vhost_.UrlAs(user, user);
  Client client(loop_, options);
  const absl::Status status = Publish(client, {.routing_key = "orders"}, absl::ZeroDuration());
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
}

}  // namespace retryq::testing::retry_publish_test
