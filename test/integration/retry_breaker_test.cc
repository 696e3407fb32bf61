// The circuit breaker and snoozing on a real broker.

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "support/consume.h"
#include "support/retry_test.h"

namespace retryq::testing {
namespace retry_breaker_test {

using ::testing::HasSubstr;

// A work queue of either type.
class RetryBreaker : public RetryTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr int kMessages = 300;

  void SetUp() override { peer_.DeclareQueue("orders", {{"x-queue-type", GetParam()}}); }

  void Send() {
    for (int i = 0; i < kMessages; ++i) peer_.Publish("", "orders", absl::StrCat(i));
  }

  ConsumerOptions WithBreaker() const {
    return {.queue = "orders",
            .retry = Every(absl::Milliseconds(200)),
            .breaker = BreakerOptions{.calls = 10, .pause = absl::Seconds(1), .probes = 2}};
  }

  // The service that the handler calls. May be called on any thread.
  Outcome Call(const Delivery& delivery) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (down_) {
      ++failed_calls_;
      return absl::UnavailableError("the bank is down");
    }
    ++handled_[std::string(delivery.body())];
    attempts_ += delivery.attempt();
    return Outcome::Ok();
  }

  void ExpectAllHandledOnceAndNoAttemptCountedBesideTheCalls() {
    ASSERT_TRUE(RunUntil([this] {
      const std::lock_guard<std::mutex> lock(mutex_);
      return handled_.size() == kMessages;
    }));
    for (const auto& [body, times] : handled_) EXPECT_EQ(times, 1) << body;
    EXPECT_EQ(attempts_, failed_calls_);
    EXPECT_EQ(events_.Count(EventKind::kParked), 0U);
    ASSERT_TRUE(RunUntil([this] { return Holds("orders", 0); }));
  }

  std::mutex mutex_;
  bool down_ = true;
  std::uint64_t failed_calls_ = 0;
  std::uint64_t attempts_ = 0;  // that messages had when they were handled
  std::map<std::string, int> handled_;
};

TEST_P(RetryBreaker, KeepsAttemptsThroughAnOutageAndLosesNothing) {
  Client client(loop_, Options());
  const Consumer consumer = Consume(client, WithBreaker(),
                                    Handler([this](const Delivery& order) { return Call(order); }));
  Send();
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerOpened) == 4; }));
  // Ten calls, and then one for each pause.
  EXPECT_EQ(failed_calls_, 13U);
  EXPECT_THAT(events_.Last(EventKind::kBreakerOpened)->error, HasSubstr("the bank is down"));
  down_ = false;
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerClosed) == 1; }));
  ExpectAllHandledOnceAndNoAttemptCountedBesideTheCalls();
}

TEST_P(RetryBreaker, RequeuesMessagesThatWaitForAThread) {
  Client client(loop_, Options());
  ConsumerOptions options = WithBreaker();
  options.handler_threads = 4;
  const Consumer consumer = Consume(client, std::move(options),
                                    Handler([this](const Delivery& order) { return Call(order); }));
  Send();
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerOpened) == 3; }));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_LE(failed_calls_, 10U + 2U + 64U);
    down_ = false;
  }
  ExpectAllHandledOnceAndNoAttemptCountedBesideTheCalls();
}

INSTANTIATE_TEST_SUITE_P(WorkQueues, RetryBreaker, ::testing::Values("classic", "quorum"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace retry_breaker_test
}  // namespace retryq::testing
