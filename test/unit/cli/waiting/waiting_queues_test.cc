#include "cli/waiting/waiting_queues.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "support/make_message.h"

namespace retryq::cli {
namespace waiting_queues_test {

using Json = nlohmann::json;
using retryq::testing::MakeMessage;

Json Queue(const std::string& name, const std::string& type = "classic",
           const std::string& exchange = "") {
  return {{"name", name},
          {"type", type},
          {"arguments", {{"x-dead-letter-exchange", exchange}}},
          {"effective_policy_definition", Json::object()}};
}

std::optional<WaitingQueue> Read(const Json& queue, std::int64_t limit = 20) {
  return ReadWaitingQueue(queue, "retry", "orders", limit);
}

TEST(WaitingQueues, AreThoseThatCanHoldMessagesOfTheWorkQueue) {
  EXPECT_TRUE(Read(Queue("retry.1000")));
  EXPECT_TRUE(Read(Queue("retry.1000.direct")));
  EXPECT_TRUE(Read(Queue("retry.1000.q2", "quorum")));
  EXPECT_TRUE(Read(Queue("retry.1000.orders.q2", "quorum")));
  EXPECT_TRUE(Read(Queue("retry.1000.#0123456789abcdef.q2", "quorum")));
  EXPECT_FALSE(Read(Queue("retry.1000.invoices.q2", "quorum")));
  EXPECT_FALSE(Read(Queue("retry.1000.exchange.shop.key.order.q2", "quorum")));
  EXPECT_FALSE(Read(Queue("orders")));
  EXPECT_FALSE(Read(Queue("slow.1000")));
  EXPECT_FALSE(Read(Json{{"name", 7}}));
}

TEST(WaitingQueues, TellWhatIsKnownOfThem) {
  const auto queue = Read(Queue("retry.1000.orders.q2", "quorum", "shop"));
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->ttl, absl::Seconds(1));
  EXPECT_TRUE(queue->is_quorum);
  EXPECT_TRUE(queue->is_owned);
  EXPECT_EQ(queue->dead_letter_exchange, "shop");
  EXPECT_EQ(queue->delivery_limit, 20);
  EXPECT_FALSE(Read(Queue("retry.1000"))->delivery_limit);
}

TEST(WaitingQueues, HaveNoDeliveryLimitWhereThereIsNone) {
  EXPECT_FALSE(Read(Queue("retry.1000.q2", "quorum"), -1)->delivery_limit);
  Json unlimited = Queue("retry.1000.q2", "quorum");
  unlimited["effective_policy_definition"]["delivery-limit"] = -1;
  EXPECT_FALSE(Read(unlimited)->delivery_limit);
  unlimited["effective_policy_definition"]["delivery-limit"] = 7;
  EXPECT_EQ(Read(unlimited, -1)->delivery_limit, 7);
  EXPECT_EQ(Read(Json{{"name", "retry.1000.q2"}, {"type", "quorum"}})->delivery_limit, 20);
}

struct Case {
  std::string routing_key;
  std::optional<amqp::Value> failed_in;
  bool waits_through_the_default_exchange;
  bool waits_through_another;
};

TEST(WaitsFor, GoesByWhereTheMessageReturnsTo) {
  const WaitingQueue to_queues{.name = "retry.1000"};
  const WaitingQueue to_exchange{.name = "retry.1000", .dead_letter_exchange = "shop"};
  for (const Case& each :
       {Case{"orders", "orders", true, true}, Case{"orders", {}, true, false},
        Case{"orders", "invoices", false, false}, Case{"orders", std::int64_t{1}, true, false},
        Case{"order.placed", "orders", false, true}, Case{"order.placed", {}, false, false}}) {
    amqp::Table headers;
    if (each.failed_in) {
      headers.Set("x-retry-queue", *each.failed_in);
      headers = testing::Copied(headers);
    }
    const auto message = MakeMessage({.routing_key = each.routing_key, .headers = headers});
    EXPECT_EQ(WaitsFor(*message, to_queues, "orders"), each.waits_through_the_default_exchange)
        << each.routing_key;
    EXPECT_EQ(WaitsFor(*message, to_exchange, "orders"), each.waits_through_another)
        << each.routing_key;
  }
}

TEST(WaitsFor, TakesAMessageWithoutHeaders) {
  const auto message = MakeMessage({.routing_key = "orders"});
  EXPECT_TRUE(WaitsFor(*message, {.name = "retry.1000"}, "orders"));
}

}  // namespace waiting_queues_test
}  // namespace retryq::cli
