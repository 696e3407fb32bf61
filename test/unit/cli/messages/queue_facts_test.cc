#include "cli/messages/queue_facts.h"

#include <nlohmann/json.hpp>

#include "support/make_message.h"
#include "support/test.h"

namespace retryq::cli::queue_facts_test {

using Json = nlohmann::json;

TEST(DeliveryLimit, DecidesWhenMessagesAreMoved) {
  const std::vector<std::pair<std::string, std::optional<std::int64_t>>> kCases = {
      {R"({"type":"classic","effective_policy_definition":{"delivery-limit":3}})", std::nullopt},
      {R"({"type":"quorum","delivery_limit":20})", 10},
      {R"({"type":"quorum","delivery_limit":3})", 1},
      {R"({"type":"quorum","delivery_limit":2})", 1},
      {R"({"type":"quorum","delivery_limit":-1})", std::nullopt},
      {R"({"type":"quorum","arguments":{"x-delivery-limit":-1},"effective_policy_definition":{}})",
       std::nullopt},
      {R"({"type":"quorum","effective_policy_definition":{}})", 10},
      {R"({"type":"quorum","effective_policy_definition":[]})", 10},
      {R"({"type":"quorum","arguments":{"x-delivery-limit":8},)"
       R"("effective_policy_definition":{"delivery-limit":6}})",
       3},
      {R"({"type":"quorum","arguments":{"x-delivery-limit":-1},)"
       R"("effective_policy_definition":{"delivery-limit":6}})",
       3},
  };
  for (const auto& [queue, move_at] : kCases) {
    const auto result = MoveAt(Json::parse(queue), "q");
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*result, move_at) << queue;
  }
}

TEST(DeliveryLimit, IsRefusedIfItIsUnknownOrTooLow) {
  const std::vector<std::pair<std::string, std::string>> kCases = {
      {"null", "delivery limit of queue 'q' is not known"},
      {"7", "delivery limit of queue 'q' is not known"},
      {R"({"type":"quorum"})", "delivery limit of queue 'q' is not known"},
      {R"({"type":"quorum","arguments":{"x-delivery-limit":20}})", "is not known"},
      {R"({"type":"quorum","delivery_limit":"many"})", "is not known"},
      {R"({"type":"quorum","delivery_limit":1})", "has a delivery limit of 1"},
      {R"({"type":"quorum","delivery_limit":0})", "has a delivery limit of 0"},
      {R"({"type":"stream"})", "'q' is a stream"},
  };
  for (const auto& [queue, why] : kCases) {
    const absl::Status status = MoveAt(Json::parse(queue), "q").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << queue;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
}

TEST(ParkedQueue, MustKeepMessages) {
  EXPECT_EQ(WhyUnfitForParking(Json::parse(R"({"type":"quorum","durable":true})")), "");
  for (const char* queue :
       {R"({"type":"stream"})", R"({"durable":false})", R"({"auto_delete":true})",
        R"({"exclusive":true})",
        R"({"arguments":{"x-message-ttl":1,"x-expires":2,"x-dead-letter-exchange":""}})"}) {
    EXPECT_NE(WhyUnfitForParking(Json::parse(queue)), "") << queue;
  }
}

Json Queue(const std::string& name, const std::string& type = "classic",
           const std::string& exchange = "") {
  return {{"name", name},
          {"type", type},
          {"arguments", {{"x-dead-letter-exchange", exchange}}},
          {"effective_policy_definition", Json::object()}};
}

std::optional<DelayQueue> Read(const Json& queue, std::int64_t limit = 20) {
  return ParseDelayQueue(queue, "retry", "orders", limit);
}

TEST(DelayQueues, AreThoseThatCanHaveMessagesOfTheWorkQueue) {
  EXPECT_TRUE(Read(Queue("retry.1000")));
  EXPECT_TRUE(Read(Queue("retry.1000.direct")));
  EXPECT_TRUE(Read(Queue("retry.1000.q2", "quorum")));
  EXPECT_TRUE(Read(Queue("retry.1000.#0123456789abcdef.q2", "quorum")));
  EXPECT_FALSE(Read(Queue("retry.1000.invoices.q2", "quorum")));
  EXPECT_FALSE(Read(Queue("retry.1000.exchange.shop.key.order.q2", "quorum")));
  EXPECT_FALSE(Read(Queue("orders")));
  EXPECT_FALSE(Read(Queue("slow.1000")));
  EXPECT_FALSE(Read(Json{{"name", 7}}));
  const auto queue = Read(Queue("retry.1000.orders.q2", "quorum", "shop"));
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->ttl, absl::Seconds(1));
  EXPECT_TRUE(queue->is_quorum);
  EXPECT_TRUE(queue->is_owned);
  EXPECT_EQ(queue->dead_letter_exchange, "shop");
}

TEST(DelayQueues, HaveADeliveryLimitIfTheyAreQuorumQueues) {
  EXPECT_FALSE(Read(Queue("retry.1000"))->delivery_limit);
  EXPECT_EQ(Read(Queue("retry.1000.q2", "quorum"))->delivery_limit, 20);
  EXPECT_FALSE(Read(Queue("retry.1000.q2", "quorum"), -1)->delivery_limit);
  Json limited = Queue("retry.1000.q2", "quorum");
  limited["effective_policy_definition"]["delivery-limit"] = -1;
  EXPECT_FALSE(Read(limited)->delivery_limit);
  limited["effective_policy_definition"]["delivery-limit"] = 7;
  EXPECT_EQ(Read(limited, -1)->delivery_limit, 7);
}

struct Case {
  std::string routing_key;
  std::optional<amqp::Value> failed_in;
  bool waits_through_the_default_exchange;
  bool waits_through_another;
};

TEST(WaitsFor, DependsOnTheQueueToWhichTheMessageReturns) {
  const DelayQueue to_queues{.name = "retry.1000"};
  const DelayQueue to_exchange{.name = "retry.1000", .dead_letter_exchange = "shop"};
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

}  // namespace retryq::cli::queue_facts_test
