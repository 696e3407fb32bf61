// Retrying on the example's Broker while things break: each message is counted by its id, and in
// the end has been handled, or is parked, or waits.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "examples/rabbitmq_c_test.h"
#include "support/referee.h"

namespace retryq::testing {
namespace rabbitmq_c_faults_test {

class RetryOnRabbitmqC : public RabbitmqCTest {
 protected:
  static constexpr int kMessages = 300;

  // Those of these numbers.
  void Send(int begin = 0, int end = kMessages) {
    for (int i = begin; i < end; ++i) {
      const std::string id = std::to_string(i);
      referee_.Sent(id);
      peer_.Send("", "orders", id);
    }
    peer_.AwaitConfirms();
  }

  Handler FailTimes(std::uint64_t failures) {
    return [this, failures](const Delivery& delivery) -> Outcome {
      if (delivery.attempt() < failures) {
        referee_.Failed(delivery.body());
        return absl::UnavailableError("not yet");
      }
      referee_.Handled(delivery.body());
      return Outcome::Ok();
    };
  }

  ::testing::AssertionResult AllAreDone() {
    return RunUntil([&] { return referee_.done() == std::size_t{kMessages}; }, absl::Minutes(2));
  }
  ::testing::AssertionResult NothingIsLeft() {
    return RunUntil([&] { return peer_.Count("orders") == 0; });
  }

  ClientOptions options_ = Options();
  Referee referee_;
};

TEST_F(RetryOnRabbitmqC, HandlesEachOnceAfterItsFailures) {
  Client client(loop_, *broker_, options_);
  const auto consumer = client.Consume(
      {.queue = "orders", .retry = {.backoff = {.base = absl::Milliseconds(100)}}}, FailTimes(3));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(AllAreDone());
  EXPECT_TRUE(referee_.EachHandledOnceAfter(3));
  EXPECT_TRUE(NothingIsLeft());
  EXPECT_EQ(events_.Count(EventKind::kUnconfirmed), 0U);
}

TEST_F(RetryOnRabbitmqC, ParksWhatFailsForGood) {
  Client client(loop_, *broker_, options_);
  RetryOptions retry = Every(absl::Milliseconds(50));
  retry.max_attempts = 2;
  const auto consumer =
      client.Consume({.queue = "orders", .retry = retry}, [&](const Delivery& delivery) -> Outcome {
        if (std::stoi(std::string(delivery.body())) % 3 == 0) {
          referee_.Failed(delivery.body());
          return absl::UnavailableError("never");
        }
        referee_.Handled(delivery.body());
        return Outcome::Ok();
      });
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == kMessages / 3; }));
  while (const amqp::MessagePtr parked = peer_.Get("orders.parked")) referee_.Parked(parked->body);
  ASSERT_TRUE(AllAreDone());
  EXPECT_TRUE(referee_.NoneLost());
  EXPECT_TRUE(NothingIsLeft());
}

// The queue is gone and its exchange is kept by another binding, which leads nowhere.
TEST_F(RetryOnRabbitmqC, LosesNothingWhenCopiesAreReturned) {
  Client client(loop_, *broker_, options_);
  const auto consumer =
      client.Consume({.queue = "orders", .retry = Every(absl::Milliseconds(500))}, FailTimes(2));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send(0, 1);
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));
  peer_.DeclareExchange("nowhere", "fanout");
  vhost_.management().Post("/bindings/" + vhost_.name() + "/e/retry.500/e/nowhere",
                           {{"routing_key", ""}});
  vhost_.DeleteQueue("retry.500");
  Send(1, kMessages);
  ASSERT_TRUE(AllAreDone());
  EXPECT_TRUE(referee_.EachHandledOnceAfter(2));
  EXPECT_GE(events_.Count(EventKind::kReturned), 1U);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(RetryOnRabbitmqC, LosesNothingWhenADelayQueueIsFull) {
  options_.delay_queues.max_length = 20;
  Client client(loop_, *broker_, options_);
  const auto consumer =
      client.Consume({.queue = "orders", .retry = Every(absl::Milliseconds(200))}, FailTimes(1));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(AllAreDone());
  EXPECT_TRUE(referee_.EachHandledOnceAfter(1));
  ASSERT_NE(events_.Last(EventKind::kUnconfirmed), nullptr);
  EXPECT_EQ(events_.Last(EventKind::kUnconfirmed)->cause, "nacked");
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(RetryOnRabbitmqC, LosesNothingWhenAnExchangeGoesAndTheChannelIsClosed) {
  Client client(loop_, *broker_, options_);
  const auto consumer =
      client.Consume({.queue = "orders", .retry = Every(absl::Milliseconds(300))}, FailTimes(3));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) >= 50; }));
  vhost_.DeleteExchange("retry.300");
  ASSERT_TRUE(AllAreDone());
  EXPECT_GE(events_.Count(EventKind::kUnconfirmed), 1U);
  EXPECT_TRUE(referee_.NoneLost());
  EXPECT_EQ(events_.Count(EventKind::kDisconnected), 0U);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(RetryOnRabbitmqC, LosesNothingWhenItsConnectionsAreKilled) {
  bool failing = true;
  RetryOptions retry = Every(absl::Milliseconds(200));
  retry.max_attempts = 0;
  Client client(loop_, *broker_, options_);
  const auto consumer =
      client.Consume({.queue = "orders", .retry = retry}, [&](const Delivery& delivery) -> Outcome {
        if (failing) return absl::UnavailableError("not yet");
        referee_.Handled(delivery.body());
        return Outcome::Ok();
      });
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  for (std::size_t cut = 1; cut <= 2; ++cut) {
    ASSERT_TRUE(RunUntil([&] { return vhost_.ConnectionsOf(kClientName).size() == 2; }));
    for (const std::string& connection : vhost_.ConnectionsOf(kClientName)) {
      vhost_.CloseConnection(connection);
    }
    ASSERT_TRUE(RunUntil([&] {
      return events_.Count(EventKind::kConsuming) > cut &&
             events_.Count(EventKind::kConnected) > cut;
    }));
  }
  failing = false;
  ASSERT_TRUE(AllAreDone());
  EXPECT_GE(events_.Count(EventKind::kDisconnected), 2U);
  EXPECT_GE(events_.Count(EventKind::kInterrupted), 2U);
  EXPECT_TRUE(referee_.NoneLost());
  EXPECT_TRUE(NothingIsLeft());
}

// What is not done when it ends waits: in the work queue, or in a delay queue.
TEST_F(RetryOnRabbitmqC, DrainsWithAllCounted) {
  std::set<std::string> handled;
  Client client(loop_, *broker_, options_);
  auto consumer =
      client.Consume({.queue = "orders", .retry = Every(absl::Minutes(1)), .prefetch = 10},
                     [&](const Delivery& delivery) -> Outcome {
                       if (std::stoi(std::string(delivery.body())) % 2 == 0)
                         return absl::UnavailableError("no");
                       handled.emplace(delivery.body());
                       return Outcome::Ok();
                     });
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(RunUntil([&] { return handled.size() >= 20; }));
  std::optional<bool> drained;
  consumer->Drain(absl::Seconds(20), [&](bool complete) { drained = complete; });
  ASSERT_TRUE(RunUntil([&] { return drained.has_value(); }));
  EXPECT_EQ(drained, true);
  ASSERT_TRUE(RunUntil([&] { return peer_.Consumers("orders") == 0; }));

  std::set<std::string> waiting;
  for (const char* queue : {"orders", "retry.60000"}) {
    while (const amqp::MessagePtr message = peer_.Get(queue)) {
      EXPECT_TRUE(waiting.emplace(message->body).second) << message->body << " waits twice";
    }
  }
  for (int i = 0; i < kMessages; ++i) {
    const std::string id = std::to_string(i);
    EXPECT_EQ(handled.count(id) + waiting.count(id), 1U) << id;
  }
}

}  // namespace rabbitmq_c_faults_test
}  // namespace retryq::testing
