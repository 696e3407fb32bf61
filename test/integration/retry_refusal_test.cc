// A message whose copy the broker refuses by closing the channel, because it is larger than the
// broker now allows. It is neither lost nor published endlessly, and delays no other message.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "support/broker_node.h"
#include "support/consume.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_refusal_test {

// Larger than what any other test on this broker publishes.
constexpr std::size_t kLimit = 8 << 20;
// What RabbitMQ 4 allows; 3 allows more, which no test needs.
constexpr std::size_t kUsualLimit = 16 << 20;

class RetryRefusal : public RetryTest {
 protected:
  // The limit applies to the whole broker, so only one process may set it at a time. It applies to
  // channels that are opened while it is set: the peer of a test must not open one while another
  // process has set it.
  static void SetUpTestSuite() {
    if (!OnPrivateBroker()) return;
    lock_ = ::open(std::getenv("RETRYQ_BROKER"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(::flock(lock_, LOCK_EX), 0);
  }
  static void TearDownTestSuite() {
    if (lock_ >= 0) ::close(lock_);
  }

  void SetUp() override {
    if (!OnPrivateBroker()) {
      GTEST_SKIP() << "only on a private broker, named by RETRYQ_BROKER, can its limit be changed";
    }
    peer_.DeclareQueue("orders");
  }
  void TearDown() override {
    if (OnPrivateBroker()) LimitMessages(kUsualLimit);
  }

  static bool OnPrivateBroker() { return std::getenv("RETRYQ_BROKER") != nullptr; }

  // Applies to channels that are opened from now on; with RabbitMQ 4, which stores it elsewhere, to
  // all channels.
  static void LimitMessages(std::size_t bytes) {
    const std::string command = absl::StrCat(
        "'", BrokerScript(), "' ctl eval 'application:set_env(rabbit, max_message_size, ", bytes,
        "), persistent_term:put(max_message_size, ", bytes, ").' >/dev/null");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

 private:
  static inline int lock_ = -1;
};

TEST_F(RetryRefusal, HoldsAndReportsAMessageWithoutBlockingOthersAndParksItLater) {
  constexpr int kOthers = 50;
  const std::string large(kLimit + 1, 'x');
  peer_.Publish("", "orders", large);
  LimitMessages(kLimit);
  {
    Client client(loop_, Options());
    const Consumer consumer = Consume(
        client, {.queue = "orders", .retry = Every(absl::Milliseconds(100))}, calls_.FailTimes(1));
    for (int i = 0; i < kOthers; ++i) peer_.Publish("", "orders", std::to_string(i));

    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == kOthers; }));
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHeld) >= 2; }));
    EXPECT_THAT(events_.Last(EventKind::kHeld)->error, HasSubstr("larger than"));
    EXPECT_EQ(events_.Count(EventKind::kDisconnected), 0U);
    EXPECT_EQ(calls_.size(), std::size_t{1 + 2 * kOthers});

    LimitMessages(kUsualLimit);
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == 1; }));
  }
  const amqp::MessagePtr parked = peer_.Get("orders.parked");
  ASSERT_NE(parked, nullptr);
  EXPECT_EQ(parked->body, large);
  EXPECT_EQ(peer_.Count("orders.parked"), 0U);
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

TEST_F(RetryRefusal, LeavesTheMessageInItsQueueWhenTheConsumerStops) {
  const std::string large(kLimit + 1, 'x');
  peer_.Publish("", "orders", large);
  LimitMessages(kLimit);
  {
    Client client(loop_, Options());
    const Consumer consumer = Consume(client, {.queue = "orders"}, calls_.FailTimes(1));
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHeld) == 1; }));
  }
  ASSERT_TRUE(RunUntil([&] { return peer_.Count("orders") == 1; }));
  EXPECT_EQ(peer_.Get("orders")->body, large);
}

}  // namespace retryq::testing::retry_refusal_test
