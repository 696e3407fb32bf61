// A resource alarm: the broker accepts no publishes. Consuming, acks and heartbeats continue, no
// message is given up, and all publishes are confirmed once the alarm is over.

#include <future>

#include "support/consume.h"
#include "support/own_broker.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_alarm_test {

class RetryAlarm : public OnOwnBroker<OrdersTest> {};

TEST_F(RetryAlarm, PausesPublishingButStillConsumesAcksAndSendsHeartbeats) {
  constexpr int kMessages = 40;
  for (int i = 0; i < kMessages; ++i) peer_.Publish("", "orders", std::to_string(i));
  broker().RaiseAlarm();

  ClientOptions options = Options();
  options.url = vhost_.Url("heartbeat=2");
  options.delay_queues.confirm_timeout = absl::Seconds(5);
  Client client(loop_, options);
  // Every other message fails at first.
  const Consumer consumer = Consume(
      client, {.queue = "orders", .retry = Every(absl::Milliseconds(100)), .prefetch = kMessages},
      [this](const Delivery& delivery) -> Outcome {
        calls_.Note(delivery);
        const bool fails = delivery.body().back() % 2 == 0 && delivery.attempt() == 0;
        return fails ? absl::UnavailableError("not yet") : absl::OkStatus();
      });

  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kBlocked) == 1; }));
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == kMessages / 2; }));
  // Longer than the broker and the client wait for heartbeats, and for confirms.
  ASSERT_TRUE(RunFor(absl::Seconds(10)).ok());
  EXPECT_EQ(events_.Count(EventKind::kDisconnected), 0U);
  EXPECT_EQ(events_.Count(EventKind::kUnconfirmed), 0U);
  EXPECT_EQ(events_.Count(EventKind::kRetried), 0U);
  EXPECT_EQ(calls_.size(), std::size_t{kMessages});

  // Meanwhile the loop runs: the broker closes a connection that misses heartbeats.
  const std::future<void> cleared =
      std::async(std::launch::async, [this] { broker().ClearAlarm(); });
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == kMessages; }));
  EXPECT_EQ(events_.Count(EventKind::kUnblocked), 1U);
  EXPECT_EQ(events_.Count(EventKind::kRetried), std::size_t{kMessages / 2});
  EXPECT_EQ(calls_.size(), std::size_t{kMessages + kMessages / 2});
  EXPECT_EQ(events_.Count(EventKind::kDisconnected), 0U);
  EXPECT_EQ(events_.Count(EventKind::kRenamed), 0U);
}

// Handlers that publish their results and settle by the answers: no message fails because of a
// stop.
TEST_F(RetryAlarm, AStopEndsThePublishesThatHandlersWaitFor) {
  peer_.DeclareQueue("results");
  for (int i = 0; i < 4; ++i) peer_.Publish("", "orders", "message");
  broker().RaiseAlarm();
  Client client(loop_, Options());
  std::vector<absl::Status> answers;
  const Consumer consumer =
      Consume(client, {.queue = "orders"}, [&](const Delivery&, Settlement settlement) {
        auto open = std::make_shared<Settlement>(std::move(settlement));
        client.Publish({.routing_key = "results"}, {},
                       [&answers, open](const absl::Status& answer) {
                         answers.push_back(answer);
                         std::move(*open).Settle(answer);
                       });
      });
  ASSERT_TRUE(RunUntil([&] {
    return events_.Count(EventKind::kDelivered) == 4 && events_.Count(EventKind::kBlocked) == 1;
  }));
  const absl::Duration begun = loop_.clock().SinceBoot();
  loop_.Drain();
  EXPECT_EQ(loop_.Run(), absl::OkStatus());
  EXPECT_LT(loop_.clock().SinceBoot() - begun, absl::Seconds(10));
  EXPECT_EQ(answers.size(), 4U);
  // The broker accepts the publish that makes it block the connection.
  EXPECT_GE(events_.Count(EventKind::kRequeued), 3U);
  EXPECT_EQ(events_.Count(EventKind::kRequeued) + events_.Count(EventKind::kHandled), 4U);
  EXPECT_EQ(events_.Count(EventKind::kFailed), 0U);
  broker().ClearAlarm();
}

}  // namespace retryq::testing::retry_alarm_test
