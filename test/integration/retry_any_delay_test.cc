// Random delays, and delays that handlers and publishers choose, on a real broker.

#include "retryq/broker/delay_grid.h"
#include "retryq/broker/delay_queue_name.h"
#include "support/consume.h"
#include "support/referee.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_any_delay_test {

constexpr absl::Duration kOdd = absl::Milliseconds(1234);

class RetryAnyDelay : public OrdersTest {
 protected:
  // Fails every message twice, so that each has random delays, for 200 messages.
  void RetryAtRandom(const ClientOptions& options);
};

void RetryAnyDelay::RetryAtRandom(const ClientOptions& options) {
  constexpr std::size_t kMessages = 200;
  constexpr std::uint64_t kFailures = 2;
  Referee referee;
  std::map<std::string, absl::Time> failed_at;
  std::size_t early = 0;
  absl::Duration latest;
  Client client(loop_, options);
  const Consumer consumer =
      Consume(client,
              {.queue = "orders",
               .retry = {.backoff = {.base = absl::Milliseconds(600), .jitter = 0.5}},
               .prefetch = 1000},
              Handler([&](const Delivery& delivery) -> Outcome {
                const std::string id(delivery.body());
                const absl::Time now = absl::Now();
                if (delivery.attempt() > 0) {
                  const absl::Duration waited = now - failed_at.at(id);
                  if (waited < *delivery.history().delay - absl::Milliseconds(1)) ++early;
                  latest = std::max(latest, now - *delivery.history().not_before);
                }
                failed_at[id] = now;
                if (delivery.attempt() < kFailures) {
                  referee.Failed(id);
                  return absl::UnavailableError("not yet");
                }
                referee.Handled(id);
                return Outcome::Ok();
              }));
  for (std::size_t i = 0; i < kMessages; ++i) {
    const std::string id = std::to_string(i);
    referee.Sent(id);
    peer_.Send("", "orders", id);
  }
  peer_.AwaitConfirms();
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == kMessages; },
                       absl::Seconds(120)));
  EXPECT_TRUE(referee.EachHandledOnceAfter(kFailures));
  EXPECT_EQ(early, 0U);
  // Some messages wait in queues that are shorter than their delay, and are forwarded for the rest;
  // on a broker that is so busy that all are late, no rest is left.
  EXPECT_TRUE(std::any_of(events_.entries.begin(), events_.entries.end(), [](const auto& entry) {
    return entry.kind == EventKind::kRetried &&
           ParseDelayQueueName(entry.delay_queue, "retry").value().ttl < *entry.delay;
  }));
  if (latest < absl::Milliseconds(100)) {
    EXPECT_GT(events_.Count(EventKind::kForwarded), 0U);
  }
  EXPECT_EQ(events_.Count(EventKind::kOverridden), 0U);
  std::printf("latest by %s, %.1f hops a retry\n", absl::FormatDuration(latest).c_str(),
              1.0 + static_cast<double>(events_.Count(EventKind::kForwarded)) /
                        static_cast<double>(kMessages * kFailures));
}

TEST_F(RetryAnyDelay, JitterStaysWithinItsDelayQueues) {
  ClientOptions options = Options();
  options.delay_queues.max_delay_queues = 20;
  RetryAtRandom(options);
  const std::vector<std::string> queues = vhost_.QueuesBeginning("retry.");
  EXPECT_LE(queues.size(), 20U);
  EXPECT_THAT(queues, ::testing::Contains("retry.300")) << "the least that is left of 600 ms";
}

TEST_F(RetryAnyDelay, JitterIsKeptThroughQuorumQueuesToo) {
  ClientOptions options = Options();
  options.delay_queues.queue_type = QueueType::kQuorum;
  RetryAtRandom(options);
}

TEST_F(RetryAnyDelay, RetryAfterIsExact) {
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client, {.queue = "orders"}, [&](const Delivery& delivery) -> Outcome {
        calls_.Note(delivery);
        if (delivery.attempt() > 0) return Outcome::Ok();
        return Outcome::RetryAfter(kOdd, absl::UnavailableError("429"));
      });
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 2; }));
  EXPECT_THAT(calls_.Gaps(), Each(Ge(kOdd)));
  EXPECT_EQ(calls_[1].attempt(), 1U);
  EXPECT_EQ(calls_[1].history().delay, kOdd);
  std::printf("after %s instead of %s\n", absl::FormatDuration(calls_.Gaps()[0]).c_str(),
              absl::FormatDuration(kOdd).c_str());
}

TEST_F(RetryAnyDelay, IsKeptIfItsWorkerStops) {
  {
    Client client(loop_, Options());
    const auto consumer = client.Consume(
        {.queue = "orders"},
        calls_.Answer(Outcome::RetryAfter(absl::Seconds(2) + kOdd, absl::UnavailableError("429"))));
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    peer_.Publish("", "orders", "one");
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == 1; }));
  }
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 1; }));
  EXPECT_THAT(calls_.Gaps(), SizeIs(0)) << "it is back before its time, and nobody has it";
  Client client(loop_, Options());
  const Consumer consumer = Consume(client, {.queue = "orders"}, calls_.Succeed());
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));
  EXPECT_THAT(calls_.Gaps(), Each(Ge(absl::Seconds(2) + kOdd)));
}

}  // namespace retryq::testing::retry_any_delay_test
