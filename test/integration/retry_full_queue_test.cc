// Delay queues of limited length.

#include "support/consume.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_full_queue_test {

class RetryFullQueue : public RetryTest, public ::testing::WithParamInterface<QueueType> {
 protected:
  static constexpr std::size_t kMost = 500;

  // Handles messages that fail once. They are published until the queue reports that it is full,
  // one by one, because a quorum queue accepts a whole burst before it reports this.
  void WorkOff(DelayQueueOptions limits) {
    peer_.DeclareQueue("orders");
    limits.queue_type = GetParam();
    ClientOptions options = Options();
    options.delay_queues = limits;
    Client client(loop_, options);
    std::size_t sent = 0;
    std::set<std::string> handled;
    const Consumer consumer = Consume(client, {.queue = "orders", .retry = Every(absl::Seconds(2))},
                                      [&](const Delivery& delivery) -> Outcome {
                                        if (delivery.attempt() == 0)
                                          return absl::UnavailableError("not yet");
                                        handled.emplace(delivery.id());
                                        return Outcome::Ok();
                                      });
    const std::string body(100, 'x');
    const auto send = [&] {
      peer_.Publish("", "orders", body, {.message_id = std::to_string(sent++)});
    };
    // Messages that fail before the queue exists wait for it, and would be a burst.
    send();
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == 1; }));
    while (events_.Last(EventKind::kUnconfirmed) == nullptr && sent < kMost) {
      send();
      ASSERT_TRUE(RunFor(absl::Milliseconds(20)).ok());
    }
    ASSERT_TRUE(RunUntil([&] { return handled.size() == sent; }, absl::Minutes(3)));
    ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 0; }));
    ASSERT_NE(events_.Last(EventKind::kUnconfirmed), nullptr);
    EXPECT_THAT(events_.Last(EventKind::kUnconfirmed)->error, HasSubstr("'retry.2000"));
    EXPECT_THAT(events_.Last(EventKind::kUnconfirmed)->error, HasSubstr("is full"));
    EXPECT_EQ(events_.Count(EventKind::kRenamed), 0U);
    EXPECT_EQ(events_.Count(EventKind::kParked), 0U);
  }
};

TEST_P(RetryFullQueue, OfLimitedLengthDelaysOtherRetriesAndLosesNone) {
  WorkOff({.max_length = 10});
}

TEST_P(RetryFullQueue, OfLimitedBytesDelaysOtherRetriesAndLosesNone) {
  WorkOff({.max_length_bytes = 1000});
}

INSTANTIATE_TEST_SUITE_P(OfBothTypes, RetryFullQueue,
                         ::testing::Values(QueueType::kClassic, QueueType::kQuorum),
                         [](const auto& instance) {
                           return instance.param == QueueType::kQuorum ? "quorum" : "classic";
                         });

}  // namespace retryq::testing::retry_full_queue_test
