// The features of other retry systems work here, and their problems do not occur. Each test is
// named after a system.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "retryq/broker/delay_queue_name.h"
#include "support/consume.h"
#include "support/retry_test.h"

namespace retryq::testing::moving_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Moving : public RetryTest {
 protected:
  // With the message-id as its body.
  void Publish(const std::string& queue, const std::string& id, amqp::Properties properties = {}) {
    properties.message_id = id;
    peer_.Publish("", queue, id, properties);
  }

  std::size_t Handled() const { return events_.Count(EventKind::kHandled); }
};

// Had: retry in N seconds. Suffered: queues that stay for ever.
TEST_F(Moving, FromAFixedDelayQueue) {
  peer_.DeclareQueue("orders");
  Client client(loop_, ShortLeases());
  const Consumer consumer = Consume(
      client, {.queue = "orders", .retry = Every(absl::Milliseconds(300))}, calls_.FailTimes(3));
  Publish("orders", "order");
  ASSERT_TRUE(RunUntil([&] { return Handled() == 1; }));
  for (const absl::Duration gap : calls_.Gaps()) EXPECT_GE(gap, absl::Milliseconds(299));
  EXPECT_EQ(calls_.size(), 4U);
  EXPECT_THAT(vhost_.QueuesBeginning("retry"), ElementsAre("retry.300"));
  ASSERT_TRUE(RunUntil([&] { return vhost_.QueuesBeginning("retry").empty(); }, absl::Minutes(1)));
}

// Had: any delay, by a queue that a second consumer shuffles once a divisor. Suffered: that
// consumer, and a hop for each divisor. Here 2.7 s would be 270 hops of 10 ms.
TEST_F(Moving, FromABusyWaitingQueue) {
  peer_.DeclareQueue("orders");
  Client client(loop_, Options());
  std::map<std::string, absl::Duration> late;
  std::map<std::string, absl::Time> due;
  const Consumer consumer =
      Consume(client, {.queue = "orders"}, [&](const Delivery& delivery) -> Outcome {
        const std::string id(delivery.id());
        if (delivery.attempt() > 0) {
          late[id] = absl::Now() - due[id];
          return Outcome::Ok();
        }
        const absl::Duration delay = absl::Milliseconds(std::stoi(id));
        due[id] = absl::Now() + delay;
        return Outcome::RetryAfter(delay, absl::UnavailableError("not yet"));
      });
  for (const char* delay : {"10", "130", "777", "1240", "1990", "2710"}) Publish("orders", delay);
  ASSERT_TRUE(RunUntil([&] { return late.size() == 6; }));
  for (const auto& [id, lateness] : late) EXPECT_GE(lateness, -absl::Milliseconds(2)) << id;
  EXPECT_LE(events_.Count(EventKind::kForwarded), 6U * 9U);
  EXPECT_EQ(peer_.Consumers("orders"), 1U);
}

// Had: any delay through a ladder of durable queues (2 s, 8 s, 32 s, …), of type quorum and of
// limited length. Suffered: up to three hops a rung. Here the rungs are exact queues of a policy,
// one hop each.
TEST_F(Moving, FromALadderOfDelayQueues) {
  peer_.DeclareQueue("orders", {{"x-queue-type", "quorum"}});
  ClientOptions options = Options();
  options.delay_queues.queue_type = QueueType::kQuorum;
  options.delay_queues.max_length = 100'000;
  Client client(loop_, options);
  const Consumer consumer = Consume(client,
                                    {.queue = "orders",
                                     .retry = {.backoff = {.base = absl::Milliseconds(200),
                                                           .factor = 4,
                                                           .max = absl::Minutes(10)}}},
                                    calls_.FailTimes(3));
  Publish("orders", "order");
  ASSERT_TRUE(RunUntil([&] { return Handled() == 1; }, absl::Minutes(1)));
  EXPECT_EQ(events_.Count(EventKind::kForwarded), 0U);
  EXPECT_EQ(calls_.size(), 4U);
  std::set<absl::Duration> rungs;  // each in one queue, or in two where the lease of one has ended
  for (const std::string& rung : vhost_.QueuesBeginning("retry.")) {
    rungs.insert(ParseDelayQueueName(rung, "retry").value().ttl);
    const Json queue = *vhost_.Queue(rung);
    EXPECT_EQ(queue.at("type"), "quorum");
    EXPECT_EQ(queue.at("arguments").at("x-max-length"), 100'000);
    EXPECT_EQ(queue.at("arguments").at("x-overflow"), "reject-publish");
  }
  EXPECT_THAT(rungs, SizeIs(3));
}

// Had: a queue per TTL with x-expires, exponential delays. Suffered: leases that ended with
// messages in their queues. Here messages come in throughout several leases of the queue.
TEST_F(Moving, FromAQueuePerTtlWithExpires) {
  constexpr int kMessages = 120;
  peer_.DeclareQueue("orders");
  Client client(loop_, ShortLeases());
  std::set<std::string> handled;
  const Consumer consumer =
      Consume(client,
              {.queue = "orders",
               .retry = {.backoff = {.base = absl::Milliseconds(500), .max = absl::Seconds(2)}}},
              [&](const Delivery& delivery) -> Outcome {
                if (delivery.attempt() < 3) return absl::UnavailableError("not yet");
                handled.emplace(delivery.id());
                return Outcome::Ok();
              });
  for (int i = 0; i < kMessages; ++i) {
    Publish("orders", std::to_string(i));
    ASSERT_TRUE(RunFor(absl::Milliseconds(100)).ok());
  }
  ASSERT_TRUE(RunUntil([&] { return handled.size() == kMessages; }));
  EXPECT_EQ(events_.Count(EventKind::kLeaseBroken), 0U);
  EXPECT_EQ(events_.Count(EventKind::kParked), 0U);
  EXPECT_GE(events_.Count(EventKind::kRenewed), 3U);
}

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
  ASSERT_TRUE(RunUntil([&] { return Handled() == 3; }));

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

// Had: one set of wait queues for many work queues, a policy each, chosen errors retried, after the
// limit the queue's own dead-letter exchange. Suffered: a headers exchange that collapses with its
// bindings, queues for ever.
TEST_F(Moving, FromSharedWaitQueues) {
  constexpr int kQueues = 20;
  peer_.DeclareQueue("dead");
  Client client(loop_, Options());
  std::vector<Consumer> consumers;
  for (int i = 0; i < kQueues; ++i) {
    const std::string queue = "work." + std::to_string(i);
    peer_.DeclareQueue(queue,
                       {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "dead"}});
    Consumer consumer = Consume(
        client,
        {.queue = queue,
         .retry = {.backoff = {.base = absl::Milliseconds(100)},
                   .max_attempts = 3,
                   .on_limit = OnLimit::kReject,
                   .retry_only =
                       [](const absl::Status& error) { return absl::IsUnavailable(error); }}},
        [&](const Delivery& delivery) -> Outcome {
          calls_.Note(delivery);
          if (delivery.body() == "broken") return absl::DataLossError("never mind");
          return absl::UnavailableError("down");
        });
    consumers.push_back(std::move(consumer));
    Publish(queue, queue);
  }
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRejected) == kQueues; }));
  EXPECT_EQ(calls_.size(), 3U * kQueues);
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("dead") == kQueues; }));
  EXPECT_THAT(vhost_.QueuesBeginning("retry"), ElementsAre("retry.100", "retry.200"));
  EXPECT_EQ(vhost_.Exchange("retry.100")->at("type"), "fanout");

  Publish("work.0", "broken");
  ASSERT_TRUE(RunUntil([&] { return calls_.back().body() == "broken"; }));
  ASSERT_TRUE(
      RunUntil([&] { return peer_.Count("dead") + peer_.Count("work.0.parked") > kQueues; }));
}

// Had: backoff in the process. Suffered: it blocks the thread, and is lost with the process.
TEST_F(Moving, FromClientSideSleep) {
  constexpr int kMessages = 50;
  constexpr absl::Duration kDelay = absl::Seconds(2);
  peer_.DeclareQueue("orders");
  for (int i = 0; i < kMessages; ++i) Publish("orders", std::to_string(i));
  const absl::Time start = absl::Now();
  {
    Client client(loop_, Options());
    const auto consumer = client.Consume({.queue = "orders", .retry = Every(kDelay), .prefetch = 1},
                                         calls_.FailTimes(1));
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == kMessages; }));
    // One message at a time, and none waited for the delay of another.
    EXPECT_LT(absl::Now() - start, kMessages * kDelay);
  }
  // The process is gone. Its waiting messages return to the next process.
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client, {.queue = "orders", .retry = Every(kDelay)}, calls_.FailTimes(1));
  std::set<std::string> ids;
  ASSERT_TRUE(RunUntil([&] {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (calls_[i].attempt() == 1) ids.emplace(calls_[i].id());
    }
    return ids.size() == static_cast<std::size_t>(kMessages);
  }));
}

// Had: a delay for each message that is published. Suffered: what waits is invisible, and there is
// one copy of it on one node.
TEST_F(Moving, FromTheDelayedMessagePlugin) {
  peer_.DeclareExchange("shop", "topic");
  peer_.DeclareQueue("orders");
  peer_.Bind("orders", "shop", "order.#");
  ClientOptions options = Options();
  options.delay_queues.queue_type = QueueType::kQuorum;  // as many copies as there are nodes
  Client client(loop_, options);
  const absl::Time start = absl::Now();
  absl::Status published = absl::UnknownError("not answered");
  client.Publish({.exchange = "shop", .routing_key = "order.placed", .body = "later"},
                 {.delay = absl::Seconds(2), .deadline = absl::Minutes(1)},
                 [&](absl::Status status) { published = std::move(status); });
  ASSERT_TRUE(RunUntil([&] { return published.ok(); })) << published;
  const std::vector<std::string> waiting = vhost_.QueuesBeginning("retry.");
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(vhost_.Queue(waiting[0])->at("type"), "quorum");
  EXPECT_EQ(peer_.Count("orders"), 0U);
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 1; }));
  EXPECT_GE(absl::Now() - start, absl::Seconds(2));
}

}  // namespace retryq::testing::moving_test
