// Messages whose attempts another retry system has counted. Each test is named after a system.

#include "support/consume.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::moving_test {

class Moving : public RetryTest {
 protected:
  // With the message-id as its body.
  void Publish(const std::string& queue, const std::string& id, amqp::Properties properties = {}) {
    properties.message_id = id;
    peer_.Publish("", queue, id, properties);
  }
};

// Had: growing delays by a TTL per message, a limit, a count in x-retry-count or x-death. Suffered:
// the longest delay at the head holds up all others; lost headers.
TEST_F(Moving, FromOneRetryQueueWithATtlPerMessage) {
  peer_.DeclareQueue("orders");
  Client client(loop_, Options());
  const Consumer consumer = Consume(
      client,
      {.queue = "orders",
       .retry = {.earlier_counts = {"x-retry-count", "x-death"},
                 .max_retry_after = absl::Hours(1)}},
      [&](const Delivery& delivery) -> Outcome {
        calls_.Note(delivery);
        if (delivery.history().delay) return Outcome::Ok();
        const absl::Duration delay = delivery.id() == "long" ? absl::Hours(1) : absl::Seconds(1);
        return Outcome::RetryAfter(delay, absl::UnavailableError("not yet"));
      });
  const std::string counted =
      amqp::Table{{"customer", std::int32_t{7}}, {"x-retry-count", std::int64_t{4}}}
          .Encode()
          .value();
  const std::string dead =
      amqp::Table{
          {"x-death", amqp::Array{amqp::Value(amqp::Table{{"count", std::int64_t{2}},
                                                          {"reason", "expired"},
                                                          {"queue", "retry-queue"},
                                                          {"original-expiration", "500"}})}}}
          .Encode()
          .value();
  Publish("orders", "long");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == 1; }));
  Publish("orders", "counted", {.headers = amqp::TableView(counted)});
  Publish("orders", "dead", {.headers = amqp::TableView(dead)});
  Publish("orders", "short");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 3; }));

  std::map<std::string, std::vector<std::uint64_t>> attempts;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    attempts[std::string(calls_[i].id())].push_back(calls_[i].attempt());
  }
  EXPECT_THAT(attempts["counted"], ElementsAre(4, 5));
  EXPECT_THAT(attempts["dead"], ElementsAre(2, 3));
  EXPECT_THAT(attempts["short"], ElementsAre(0, 1));
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].id() != "counted") continue;
    const auto customer = calls_[i].headers().Find("customer");
    ASSERT_TRUE(customer.has_value());
    EXPECT_EQ(customer->type, 'I');  // to the wire type
  }
  EXPECT_THAT(attempts["long"], ElementsAre(0));  // continues to wait, and delays no other message
}

// Had: copies to the end of the queue, counted in tables inside of a header, by queue. A queue's
// name may have dots. As rascal writes it: numbers take as few bytes as they need.
TEST_F(Moving, FromCountsInNestedHeaders) {
  peer_.DeclareQueue("orders.v1");
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client,
              {.queue = "orders.v1",
               .retry = {.backoff = {.base = absl::Milliseconds(100)},
                         .max_attempts = 5,
                         .earlier_counts = {"rascal.recovery.orders.v1.republished"}}},
              calls_.FailTimes(10));
  const amqp::Table counted = {{"republished", std::int8_t{3}}};
  const amqp::Table recovery = {{"orders.v1", counted}, {"bills", amqp::Table{}}};
  const amqp::Table rascal = {{"originalQueue", "orders.v1"},
                              {"recovery", recovery},
                              {"originalExchange", ""},
                              {"originalRoutingKey", "orders.v1"},
                              {"error", amqp::Table{{"message", "oops"}}}};
  const std::string headers = amqp::Table{{"rascal", rascal}}.Encode().value();
  Publish("orders.v1", "counted", {.headers = amqp::TableView(headers)});
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == 1; }));
  std::vector<std::uint64_t> attempts;
  for (std::size_t i = 0; i < calls_.size(); ++i) attempts.push_back(calls_[i].attempt());
  EXPECT_THAT(attempts, ElementsAre(3, 4));
  EXPECT_TRUE(*calls_.back().headers().Find("rascal")->Decode() == amqp::Value(rascal));
}

}  // namespace retryq::testing::moving_test
