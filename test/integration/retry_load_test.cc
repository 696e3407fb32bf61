// Many messages, and lost connections: no message is lost, and none is duplicated unnecessarily.

#include "support/referee.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_load_test {

class RetryLoad : public OrdersTest {
 protected:
  void Publish(int messages) {
    for (int i = 0; i < messages; ++i) {
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

  Referee referee_;
};

TEST_F(RetryLoad, HandlesTenThousandExactlyOnceAfterThreeFailuresEach) {
  constexpr int kMessages = 10'000;
  Client client(loop_, Options());
  const auto consumer =
      client.Consume({.queue = "orders",
                      .retry = {.backoff = {.base = absl::Milliseconds(200), .factor = 2}},
                      .prefetch = 200},
                     FailTimes(3));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Publish(kMessages);
  ASSERT_TRUE(
      RunUntil([&] { return events_.Count(EventKind::kHandled) >= kMessages; }, absl::Minutes(3)));

  EXPECT_TRUE(referee_.EachHandledOnceAfter(3));
  EXPECT_EQ(events_.Count(EventKind::kUnconfirmed), 0U);
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 0; }));
  for (const char* queue : {"retry.200", "retry.400", "retry.800", "orders.parked"}) {
    EXPECT_EQ(peer_.Count(queue), 0U) << queue;
  }
}

TEST_F(RetryLoad, LosesNothingIfConnectionsAreLostDuringCopies) {
  constexpr int kMessages = 1000;
  bool failing = true;
  RetryOptions retry = Every(absl::Milliseconds(200));
  retry.max_attempts = 0;
  Client client(loop_, Options());
  const auto consumer =
      client.Consume({.queue = "orders", .retry = retry}, [&](const Delivery& delivery) -> Outcome {
        if (failing) return absl::UnavailableError("not yet");
        referee_.Handled(delivery.body());
        return Outcome::Ok();
      });
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Publish(kMessages);
  for (int cut = 1; cut <= 2; ++cut) {
    ASSERT_TRUE(CloseConnectionsUntil(
        [&] { return events_.Count(EventKind::kConsuming) > std::size_t(cut); }));
  }
  failing = false;
  ASSERT_TRUE(RunUntil([&] { return referee_.done() == kMessages; }));

  EXPECT_GE(events_.Count(EventKind::kDisconnected), 2U);
  EXPECT_TRUE(referee_.NoneLost());
}

}  // namespace retryq::testing::retry_load_test
