// Work queues with special arguments: priorities, a single active consumer, a length limit.

#include <nlohmann/json.hpp>

#include "support/consume.h"
#include "support/referee.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_work_queue_test {

class RetryWorkQueue : public RetryTest {
 protected:
  std::vector<std::string> Bodies() const {
    std::vector<std::string> bodies;
    for (std::size_t i = 0; i < calls_.size(); ++i) bodies.emplace_back(calls_[i].body());
    return bodies;
  }
};

TEST_F(RetryWorkQueue, WithPrioritiesReturnsRetriesBeforeLessUrgentMessages) {
  peer_.DeclareQueue("orders", {{"x-max-priority", 9}});
  Client client(loop_, Options());
  std::optional<Settlement> busy;
  const Consumer consumer =
      Consume(client, {.queue = "orders", .retry = Every(absl::Milliseconds(300)), .prefetch = 1},
              [&](const Delivery& delivery, Settlement settlement) {
                calls_.Note(delivery);
                if (delivery.body() == "urgent" && delivery.attempt() == 0) {
                  std::move(settlement).Settle(absl::UnavailableError("not yet"));
                } else if (delivery.body() == "busy") {
                  busy.emplace(std::move(settlement));
                } else {
                  std::move(settlement).Settle(Outcome::Ok());
                }
              });
  peer_.Publish("", "orders", "urgent", {.priority = 8});
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == 1; }));
  // One message is being handled and others wait when the retry returns.
  peer_.Publish("", "orders", "busy", {.priority = 1});
  ASSERT_TRUE(RunUntil([&] { return busy.has_value(); }));
  peer_.Publish("", "orders", "idle", {.priority = 1});
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 2; }));
  std::move(*busy).Settle(Outcome::Ok());
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 3; }));
  EXPECT_THAT(Bodies(), ElementsAre("urgent", "busy", "urgent", "idle"));
  EXPECT_EQ(calls_[2].properties().priority, 8);
}

TEST_F(RetryWorkQueue, WithASingleActiveConsumerContinuesWithTheNextOneAndLosesNothing) {
  constexpr int kMessages = 20;
  peer_.DeclareQueue("orders", {{"x-single-active-consumer", true}, {"x-queue-type", "quorum"}});
  Referee referee;
  std::vector<int> calls_of(2);
  const auto handler_of = [&](std::size_t worker) -> Handler {
    return [&referee, &calls_of, worker](const Delivery& delivery) -> Outcome {
      ++calls_of[worker];
      if (delivery.attempt() == 0) return absl::UnavailableError("not yet");
      referee.Handled(delivery.body());
      return absl::OkStatus();
    };
  };
  auto first = std::make_unique<Client>(loop_, Options());
  auto first_consumer = first->Consume(
      {.queue = "orders", .retry = Every(absl::Milliseconds(500)), .prefetch = 4}, handler_of(0));
  ASSERT_TRUE(first_consumer.ok());
  ASSERT_TRUE(RunUntil([&] { return peer_.Consumers("orders") == 1; }));
  Client second(loop_, Options());
  const Consumer second_consumer =
      Consume(second, {.queue = "orders", .retry = Every(absl::Milliseconds(500)), .prefetch = 4},
              handler_of(1));
  for (int i = 0; i < kMessages; ++i) {
    referee.Sent(std::to_string(i));
    peer_.Publish("", "orders", std::to_string(i));
  }
  ASSERT_TRUE(RunUntil([&] { return calls_of[0] >= kMessages / 2; }));
  EXPECT_EQ(calls_of[1], 0);
  first_consumer = absl::CancelledError("gone");
  first.reset();
  ASSERT_TRUE(RunUntil([&] { return referee.done() == kMessages; }));
  EXPECT_TRUE(referee.NoneLost());
  EXPECT_GT(calls_of[1], 0);
}

TEST_F(RetryWorkQueue, ThatIsFullKeepsARetryInItsQuorumDelayQueue) {
  peer_.DeclareQueue("orders", {{"x-max-length", 1}, {"x-overflow", "reject-publish"}});
  ClientOptions options = Options();
  options.delay_queues.queue_type = QueueType::kQuorum;
  {
    Client client(loop_, options);
    std::optional<Settlement> open;
    Consumer consumer =
        Consume(client, {.queue = "orders", .retry = Every(absl::Seconds(3))},
                [&](const Delivery&, Settlement settlement) { open = std::move(settlement); });
    peer_.Publish("", "orders", "retried");
    ASSERT_TRUE(RunUntil([&] { return open.has_value(); }));
    // The queue has no consumer any more, and is full before the retry is published.
    consumer.Drain(absl::Minutes(1), [](bool) {});
    ASSERT_TRUE(RunUntil([&] { return peer_.Consumers("orders") == 0; }));
    peer_.Publish("", "orders", "in its place");
    std::move(*open).Settle(absl::UnavailableError("not yet"));
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == 1; }));
  }
  const std::vector<std::string> delay_queues = vhost_.QueuesBeginning("retry.3000");
  ASSERT_EQ(delay_queues.size(), 1U);
  ASSERT_TRUE(RunFor(absl::Seconds(5)).ok());
  EXPECT_EQ(peer_.Get("orders")->body, "in its place");
  // The delay queue counts a message that it could not dead-letter, and tries again every three
  // minutes.
  EXPECT_TRUE(RunUntil([&] {
    const auto queue = vhost_.Queue(delay_queues[0]);
    return queue && queue->value("messages", 0) == 1;
  }));
}

}  // namespace retryq::testing::retry_work_queue_test
