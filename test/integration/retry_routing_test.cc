// The queues to which a retried message returns, and the delay queues that it passes.

#include <nlohmann/json.hpp>

#include "support/consume.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_routing_test {

class RetryRouting : public RetryTest {
 protected:
  RetryRouting() {
    peer_.DeclareQueue("orders");
    peer_.DeclareQueue("mails");
  }

  ConsumerOptions On(const std::string& queue, const std::string& work_exchange = "") {
    return {.queue = queue,
            .work_exchange = work_exchange,
            .retry = Every(absl::Milliseconds(300)),
            .share_retries = share_retries_};
  }

  Calls orders_;
  Calls mails_;
  bool share_retries_ = false;
};

TEST_F(RetryRouting, ConsumersOfDifferentQueuesShareDelayQueues) {
  Client client(loop_, Options());
  const auto orders = client.Consume(On("orders"), orders_.FailTimes(2));
  const auto mails = client.Consume(On("mails"), mails_.FailTimes(1));
  ASSERT_TRUE(orders.ok() && mails.ok());

  peer_.Publish("", "orders", "an order");
  peer_.Publish("", "mails", "a mail");
  ASSERT_TRUE(RunUntil([&] { return orders_.size() == 3 && mails_.size() == 2; }));

  EXPECT_EQ(orders_.back().body(), "an order");
  EXPECT_EQ(mails_.back().body(), "a mail");
  EXPECT_THAT(vhost_.QueuesBeginning("retry."), ElementsAre("retry.300"));
}

// If two clients need the same names with different arguments, a hash distinguishes the second
// one's.
TEST_F(RetryRouting, ClientsWithDifferentWorkExchangesShareAPrefix) {
  peer_.DeclareExchange("work", "direct");
  peer_.Bind("orders", "work", "order");
  RecordedEvents second_events;
  Client first(loop_, Options());
  const Consumer orders = Consume(first, On("orders", "work"), orders_.FailTimes(1));
  peer_.Publish("work", "order", "an order");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == 1; }));

  ClientOptions options = Options();
  options.observer = &second_events;
  Client second(loop_, options);
  const Consumer mails = Consume(second, On("mails"), mails_.FailTimes(1));
  peer_.Publish("", "mails", "a mail");
  ASSERT_TRUE(RunUntil([&] { return orders_.size() == 2 && mails_.size() == 2; }));

  ASSERT_EQ(second_events.Count(EventKind::kRenamed), 1U);
  const std::string renamed = second_events.Last(EventKind::kRenamed)->delay_queue;
  EXPECT_THAT(renamed, MatchesRegex("retry\\.300\\.[0-9a-f]{8}"));
  EXPECT_THAT(vhost_.QueuesBeginning("retry."), ElementsAre("retry.300", renamed));
  EXPECT_EQ(vhost_.Queue(renamed).value().at("arguments").at("x-dead-letter-exchange"), "");
  EXPECT_TRUE(vhost_.HasExchange(renamed));
}

TEST_F(RetryRouting, ReturnsOnlyToTheQueueThatFailedByDefault) {
  peer_.DeclareExchange("shop", "fanout");
  peer_.Bind("orders", "shop");
  peer_.Bind("mails", "shop");
  Client client(loop_, Options());
  const auto orders = client.Consume(On("orders"), orders_.FailTimes(2));
  const auto mails = client.Consume(On("mails"), mails_.Succeed());
  ASSERT_TRUE(orders.ok() && mails.ok());

  peer_.Publish("shop", "order.placed", "an order");
  ASSERT_TRUE(RunUntil([&] { return orders_.size() == 3; }));

  EXPECT_EQ(mails_.size(), 1U);
  EXPECT_EQ(peer_.Count("mails"), 0U);
}

TEST_F(RetryRouting, PassesTheOriginalExchangeAndRoutingKeyToTheHandler) {
  peer_.DeclareExchange("shop", "topic");
  peer_.Bind("orders", "shop", "order.#");
  Client client(loop_, Options());
  const Consumer orders = Consume(client, On("orders"), orders_.FailTimes(2));

  peer_.Publish("shop", "order.placed", "an order");
  ASSERT_TRUE(RunUntil([&] { return orders_.size() == 3; }));

  EXPECT_EQ(orders_.back().exchange(), "shop");
  EXPECT_EQ(orders_.back().routing_key(), "order.placed");
  EXPECT_EQ(orders_.back().message()->exchange, "");
  EXPECT_EQ(orders_.back().message()->routing_key, "orders");
}

// A named work exchange, and two queues that are bound to it.
class RetryFanOut : public RetryRouting, public ::testing::WithParamInterface<const char*> {
 protected:
  RetryFanOut() {
    peer_.DeclareExchange("work", GetParam());
    peer_.Bind("orders", "work", "order.*");
    peer_.Bind("mails", "work", "order.#");
  }

  void RetryOrdersOnce() {
    Client client(loop_, Options());
    const auto orders = client.Consume(On("orders", "work"), orders_.FailTimes(1));
    const auto mails = client.Consume(On("mails", "work"), mails_.Succeed());
    ASSERT_TRUE(orders.ok() && mails.ok());
    peer_.Publish("work", "order.placed", "an order");
    ASSERT_TRUE(RunUntil([&] {
      return orders_.size() == 2 && mails_.size() + events_.Count(EventKind::kSkipped) == 2;
    }));
    EXPECT_EQ(orders_.back().attempt(), 1U);
    EXPECT_EQ(orders_.back().exchange(), "work");
    EXPECT_EQ(orders_.back().routing_key(), "order.placed");
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1 + mails_.size(); }));
    EXPECT_EQ(peer_.Count("orders") + peer_.Count("mails"), 0U);
  }
};

TEST_P(RetryFanOut, GivesEveryBoundQueueACopyIfConfigured) {
  share_retries_ = true;
  RetryOrdersOnce();
  ASSERT_EQ(mails_.size(), 2U);
  // The attempts of all queues count together.
  EXPECT_EQ(mails_.back().attempt(), 1U);
}

TEST_P(RetryFanOut, IsSkippedByTheOtherQueues) {
  RetryOrdersOnce();
  EXPECT_EQ(mails_.size(), 1U);
  EXPECT_EQ(events_.Last(EventKind::kSkipped)->queue, "mails");
}

INSTANTIATE_TEST_SUITE_P(Through, RetryFanOut, ::testing::Values("topic", "fanout"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(RetryRouting, ReturnsDirectlyIfTheMessageBypassedTheWorkExchange) {
  peer_.DeclareExchange("work", "fanout");
  peer_.Bind("orders", "work");
  peer_.Bind("mails", "work");
  Client client(loop_, Options());
  const Consumer orders = Consume(client, On("orders", "work"), orders_.FailTimes(3));

  peer_.Publish("", "orders", "an order");
  ASSERT_TRUE(RunUntil([&] { return orders_.size() == 4; }));

  EXPECT_THAT(vhost_.QueuesBeginning("retry."), ElementsAre("retry.300.direct"));
  EXPECT_EQ(vhost_.Queue("retry.300.direct").value().at("arguments").at("x-dead-letter-exchange"),
            "");
  EXPECT_EQ(orders_.back().exchange(), "");
  EXPECT_EQ(orders_.back().routing_key(), "orders");
  EXPECT_EQ(peer_.Count("mails"), 0U);
}

}  // namespace retryq::testing::retry_routing_test
