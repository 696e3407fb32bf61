// Handlers on other threads, and stopping consumers.

#include <atomic>
#include <latch>
#include <thread>

#include "support/consume.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_shutdown_test {

class RetryShutdown : public OrdersTest {
 protected:
  void Publish(int messages) {
    for (int i = 0; i < messages; ++i) peer_.Publish("", "orders", std::to_string(i));
  }

  // Keeps its deliveries unsettled.
  AsyncHandler Keep() {
    return [this](const Delivery& delivery, Settlement settlement) {
      calls_.Note(delivery);
      open_.push_back(std::move(settlement));
    };
  }

  std::vector<Settlement> open_;
};

TEST_F(RetryShutdown, HandlersRunConcurrentlyOnThreads) {
  constexpr int kThreads = 4;
  std::latch all_run(kThreads);  // opens when all run at the same time
  Client client(loop_, Options());
  const Consumer consumer = Consume(
      client,
      {.queue = "orders", .retry = Every(absl::Milliseconds(50)), .handler_threads = kThreads},
      [&](const Delivery& delivery) -> Outcome {
        if (delivery.attempt() > 0) return Outcome::Ok();
        all_run.arrive_and_wait();
        return absl::UnavailableError("not yet");
      });
  Publish(kThreads);
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == kThreads; }));
  EXPECT_EQ(events_.Count(EventKind::kRetried), std::size_t{kThreads});
}

TEST_F(RetryShutdown, ADrainFinishesHandlersAndAcceptsNoNewMessages) {
  Client client(loop_, Options());
  const Consumer consumer = Consume(
      client, {.queue = "orders", .retry = Every(absl::Minutes(10)), .prefetch = 3}, Keep());
  Publish(5);
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 3; }));

  // One succeeds and one fails after the drain has begun, and one is parked.
  const std::unique_ptr<Timer> later = loop_.After(absl::Milliseconds(300), [&] {
    std::move(open_[0]).Settle(Outcome::Ok());
    std::move(open_[1]).Settle(absl::UnavailableError("not yet"));
    std::move(open_[2]).Settle(Outcome::Park(absl::UnknownError("bad")));
  });
  loop_.Drain();
  EXPECT_EQ(loop_.Run(), absl::OkStatus());

  EXPECT_EQ(calls_.size(), 3U);
  EXPECT_EQ(peer_.Count("retry.600000"), 1U);
  EXPECT_EQ(peer_.Count("orders.parked"), 1U);
  ASSERT_EQ(peer_.Count("orders"), 2U);
  EXPECT_FALSE(peer_.Get("orders")->redelivered);
  EXPECT_FALSE(peer_.Get("orders")->redelivered);
}

TEST_F(RetryShutdown, DrainingOneConsumerDoesNotStopItsClient) {
  peer_.DeclareQueue("mails");
  Client client(loop_, Options());
  auto orders = client.Consume({.queue = "orders"}, calls_.Succeed());
  const auto mails = client.Consume({.queue = "mails"}, calls_.Succeed());
  ASSERT_TRUE(orders.ok() && mails.ok());
  Publish(1);
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 1; }));

  std::optional<bool> complete;
  orders->Drain(absl::Seconds(10), [&](bool all) { complete = all; });
  ASSERT_TRUE(RunUntil([&] { return complete.has_value(); }));
  EXPECT_EQ(complete, true);

  Publish(1);
  peer_.Publish("", "mails", "a mail");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 2; }));
  EXPECT_EQ(calls_.back().body(), "a mail");
  EXPECT_EQ(peer_.Count("orders"), 1U);
}

TEST_F(RetryShutdown, APauseRightAfterAResumeKeepsTheConnection) {
  peer_.DeclareQueue("quorum", {{"x-queue-type", "quorum"}});
  Client client(loop_, Options());
  std::size_t tried = 0;
  for (const char* queue : {"orders", "quorum"}) {
    const std::size_t begun = events_.Count(EventKind::kConsuming);
    Consumer consumer = Consume(client, {.queue = queue}, calls_.Succeed());
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kConsuming) > begun; }));
    consumer.Pause();
    ASSERT_TRUE(RunUntil([&] { return peer_.Consumers(queue) == 0; }));
    consumer.Resume();
    consumer.Pause();
    consumer.Resume();
    peer_.Publish("", queue, "message");
    ++tried;
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == tried; }));
    EXPECT_EQ(events_.Count(EventKind::kInterrupted), 0U);
  }
}

TEST_F(RetryShutdown, APauseReturnsUnstartedMessagesUncounted) {
  constexpr std::size_t kMessages = 10;
  for (const char* type : {"classic", "quorum"}) {
    SCOPED_TRACE(type);
    peer_.DeclareQueue(type, {{"x-queue-type", type}});
    Client client(loop_, Options());
    std::latch may_end(1);
    std::atomic<std::size_t> calls = 0;
    std::atomic<std::size_t> failures = 0;
    Consumer consumer =
        Consume(client, {.queue = type, .handler_threads = 1}, [&](const Delivery& delivery) {
          ++calls;
          failures += delivery.attempt();
          may_end.wait();
          return absl::OkStatus();
        });
    for (std::size_t i = 0; i < kMessages; ++i) peer_.Publish("", type, std::to_string(i));
    ASSERT_TRUE(RunUntil([&] { return calls == 1; }));
    consumer.Pause();
    ASSERT_TRUE(RunUntil([&] { return peer_.Count(type) == kMessages - 1; }));
    EXPECT_EQ(calls, 1U);
    may_end.count_down();
    consumer.Resume();
    ASSERT_TRUE(RunUntil([&] { return calls == kMessages; }));
    EXPECT_EQ(failures, 0U);
    ASSERT_TRUE(RunUntil([&] { return peer_.Count(type) == 0; }));
  }
}

TEST_F(RetryShutdown, AnExclusiveConsumerWaitsUntilTheQueueIsFree) {
  Client client(loop_, Options());
  auto first = client.Consume({.queue = "orders", .exclusive = true}, calls_.Succeed());
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kConsuming) == 1; }));
  bool ready = false;
  auto second = client.Consume({.queue = "orders", .exclusive = true}, calls_.Succeed());
  ASSERT_TRUE(first.ok() && second.ok());
  second->OnReady([&] { ready = true; });
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kInterrupted) >= 1; }));
  EXPECT_THAT(events_.Last(EventKind::kInterrupted)->error,
              ::testing::HasSubstr("it waits until the queue has no other consumer"));
  EXPECT_FALSE(ready);
  *first = Consumer();
  ASSERT_TRUE(RunUntil([&] { return ready; }));
}

TEST_F(RetryShutdown, QuorumQueuesIgnoreExclusiveConsumers) {
  peer_.DeclareQueue("quorum", {{"x-queue-type", "quorum"}});
  Client client(loop_, Options());
  const auto first = client.Consume({.queue = "quorum", .exclusive = true}, calls_.Succeed());
  const auto second = client.Consume({.queue = "quorum", .exclusive = true}, calls_.Succeed());
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(RunUntil([&] { return peer_.Consumers("quorum") == 2; }));
}

TEST_F(RetryShutdown, TheConsumerWithTheHighestPriorityGetsTheMessages) {
  for (const char* type : {"classic", "quorum"}) {
    SCOPED_TRACE(type);
    peer_.DeclareQueue(type, {{"x-queue-type", type}});
    const std::size_t consuming = events_.Count(EventKind::kConsuming);
    Client client(loop_, Options());
    std::size_t low_calls = 0;
    std::size_t high_calls = 0;
    const auto count = [](std::size_t& calls) {
      return [&calls](const Delivery&) {
        ++calls;
        return absl::OkStatus();
      };
    };
    const auto low = client.Consume({.queue = type, .priority = -1}, count(low_calls));
    const auto high = client.Consume({.queue = type, .priority = 9}, count(high_calls));
    ASSERT_TRUE(low.ok() && high.ok());
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kConsuming) == consuming + 2; }));
    for (int i = 0; i < 20; ++i) peer_.Publish("", type, "message");
    ASSERT_TRUE(RunUntil([&] { return low_calls + high_calls == 20; }));
    EXPECT_EQ(high_calls, 20U);
  }
}

}  // namespace retryq::testing::retry_shutdown_test
