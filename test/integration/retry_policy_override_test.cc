// Policies that override the arguments of delay queues (F29 in doc/rabbitmq_facts.md): the broker
// still accepts the declares, and the worker reports it.

#include <nlohmann/json.hpp>

#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_policy_override_test {

class RetryPolicyOverride : public RetryTest {
 protected:
  void SetPolicy(const Json& definition) {
    vhost_.management().Put("/policies/" + Management::Segment(vhost_.name()) + "/override",
                            {{"pattern", "^retry[.]"}, {"definition", definition}});
  }

  // Fails a message once, and returns what is reported about the delay queue.
  std::string Said(absl::Duration delay, EventKind kind, int messages) {
    peer_.DeclareQueue("orders");
    Client client(loop_, Options());
    absl::StatusOr<Consumer> consumer =
        client.Consume({.queue = "orders", .retry = Every(delay)}, calls_.FailTimes(1));
    EXPECT_TRUE(consumer.ok());
    for (int i = 0; i < messages; ++i) peer_.Publish("", "orders", "body");
    EXPECT_TRUE(RunUntil([&] { return events_.Count(kind) > 0; }));
    const RecordedEvents::Entry* said = events_.Last(kind);
    return said == nullptr ? "" : said->error;
  }
};

TEST_F(RetryPolicyOverride, ReportsThatAShorterTtlReleasesMessagesEarly) {
  SetPolicy({{"message-ttl", 500}});
  EXPECT_THAT(Said(absl::Seconds(20), EventKind::kOverridden, 1), HasSubstr("s early"));
}

TEST_F(RetryPolicyOverride, LetsNoMessageRunBeforeItsDelayIsOver) {
  SetPolicy({{"message-ttl", 200}});
  peer_.DeclareQueue("orders");
  Client client(loop_, Options());
  std::vector<absl::Time> calls;
  absl::StatusOr<Consumer> consumer = client.Consume(
      {.queue = "orders", .retry = Every(absl::Seconds(3))}, [&](const Delivery&) -> Outcome {
        calls.push_back(absl::Now());
        return calls.size() == 1 ? absl::UnavailableError("down") : absl::OkStatus();
      });
  ASSERT_TRUE(consumer.ok());
  peer_.Publish("", "orders", "body");
  ASSERT_TRUE(RunUntil([&] { return calls.size() == 2; }));
  EXPECT_GE(calls[1] - calls[0], absl::Seconds(3));
  EXPECT_LE(events_.Count(EventKind::kForwarded), 4U);
}

TEST_F(RetryPolicyOverride, ReportsThatALengthLimitEvictsMessages) {
  SetPolicy({{"max-length", 1}});
  EXPECT_THAT(Said(absl::Seconds(20), EventKind::kOverridden, 2), HasSubstr("limited in length"));
}

// Such a policy sends each copy that it nacks to the work queue, too.
TEST_F(RetryPolicyOverride, MultipliesNoMessageThatAFullDelayQueueDeadLetters) {
  constexpr std::size_t kMessages = 4;
  SetPolicy({{"max-length", 1}, {"overflow", "reject-publish-dlx"}});
  peer_.DeclareQueue("orders");
  {
    Client client(loop_, Options());
    absl::StatusOr<Consumer> consumer = client.Consume(
        {.queue = "orders", .retry = Every(absl::Seconds(1))}, calls_.FailTimes(1'000'000));
    ASSERT_TRUE(consumer.ok());
    for (std::size_t i = 0; i < kMessages; ++i) peer_.Publish("", "orders", "body");
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) >= 10; }));
  }
  std::size_t messages = peer_.Count("orders");
  for (const std::string& queue : vhost_.QueuesBeginning("retry.")) messages += peer_.Count(queue);
  // One copy more of each message that the first nack met.
  EXPECT_LE(messages, 2 * kMessages);
}

TEST_F(RetryPolicyOverride, ReportsThatAShorterLeaseIsUnsafe) {
  SetPolicy({{"expires", 300}});
  peer_.DeclareQueue("orders");
  Client client(loop_, Options());
  absl::StatusOr<Consumer> consumer =
      client.Consume({.queue = "orders", .retry = Every(absl::Seconds(20))}, calls_.FailTimes(1));
  ASSERT_TRUE(consumer.ok());
  // The queue of the first is gone when the second is to follow it there.
  peer_.Publish("", "orders", "body");
  ASSERT_TRUE(RunUntil([&] {
    return events_.Count(EventKind::kRetried) == 1 && vhost_.QueuesBeginning("retry.").empty();
  }));
  peer_.Publish("", "orders", "body");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kLeaseBroken) > 0; }));
  EXPECT_THAT(events_.Last(EventKind::kLeaseBroken)->error, HasSubstr("policy"));
}

}  // namespace retryq::testing::retry_policy_override_test
