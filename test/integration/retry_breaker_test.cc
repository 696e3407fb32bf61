// The circuit breaker and snoozing on a real broker.

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "support/retry_test.h"

namespace retryq::testing {
namespace retry_breaker_test {

using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::SizeIs;

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
  const auto consumer =
      client.Consume(WithBreaker(), Handler([this](const Delivery& order) { return Call(order); }));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerOpened) == 4; }));
  // Ten calls, and then one for each pause.
  EXPECT_EQ(failed_calls_, 13U);
  EXPECT_THAT(events_.Last(EventKind::kBreakerOpened)->error, HasSubstr("the bank is down"));
  down_ = false;
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerClosed) == 1; }));
  ExpectAllHandledOnceAndNoAttemptCountedBesideTheCalls();
}

TEST_P(RetryBreaker, HasWhatItDoesNotTryReadyForOthers) {
  Client client(loop_, Options());
  ConsumerOptions options = WithBreaker();
  options.retry = Every(absl::Hours(1));
  options.breaker->pause = absl::Hours(1);
  const auto consumer = client.Consume(
      std::move(options), Handler([this](const Delivery& order) { return Call(order); }));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerOpened) == 1; }));
  ASSERT_TRUE(RunUntil([this] { return Holds("orders", kMessages - 10); }));
  EXPECT_EQ(failed_calls_, 10U);
}

TEST_P(RetryBreaker, TriesOneMessageAtATimeWhateverThePrefetch) {
  Client client(loop_, Options());
  std::vector<Settlement> open;
  const auto consumer =
      client.Consume(WithBreaker(), AsyncHandler([&](const Delivery&, Settlement settlement) {
                       if (events_.Count(EventKind::kBreakerOpened) == 0) {
                         std::move(settlement).Settle(absl::UnavailableError("down"));
                       } else {
                         open.push_back(std::move(settlement));
                       }
                     }));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerProbing) == 1; }));
  for (int probe = 0; probe < 2; ++probe) {
    ASSERT_TRUE(RunUntil([&] { return !open.empty(); }));
    ASSERT_TRUE(RunFor(absl::Milliseconds(300)).ok());
    ASSERT_THAT(open, SizeIs(1));
    std::move(std::exchange(open, {}).front()).Settle(Outcome::Ok());
  }
  ASSERT_TRUE(RunUntil([&] { return open.size() == 64; }));
  EXPECT_EQ(events_.Count(EventKind::kBreakerClosed), 1U);
}

TEST_P(RetryBreaker, GivesBackWhatWaitsForAThread) {
  Client client(loop_, Options());
  ConsumerOptions options = WithBreaker();
  options.handler_threads = 4;
  const auto consumer = client.Consume(
      std::move(options), Handler([this](const Delivery& order) { return Call(order); }));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerOpened) == 3; }));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_LE(failed_calls_, 10U + 2U + 64U);
    down_ = false;
  }
  ExpectAllHandledOnceAndNoAttemptCountedBesideTheCalls();
}

TEST_P(RetryBreaker, StaysOpenOverALostConnection) {
  Client client(loop_, Options());
  const auto consumer =
      client.Consume(WithBreaker(), Handler([this](const Delivery& order) { return Call(order); }));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerOpened) == 1; }));
  std::vector<std::string> connections;
  ASSERT_TRUE(RunUntil([&] {
    connections = vhost_.ConnectionsOf(kClientName);
    return connections.size() == 2;
  }));
  for (const std::string& connection : connections) vhost_.CloseConnection(connection);
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerOpened) >= 3; }));
  down_ = false;
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerClosed) == 1; }));
  ASSERT_TRUE(RunUntil([this] { return handled_.size() == kMessages; }));
}

TEST_P(RetryBreaker, DrainsInTimeWhileItIsOpen) {
  Client client(loop_, Options());
  ConsumerOptions options = WithBreaker();
  options.retry = Every(absl::Hours(1));
  options.breaker->pause = absl::Hours(1);
  auto consumer = client.Consume(std::move(options),
                                 Handler([this](const Delivery& order) { return Call(order); }));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  Send();
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kBreakerOpened) == 1; }));
  std::optional<bool> complete;
  consumer->Drain(absl::Seconds(30), [&](bool all) { complete = all; });
  ASSERT_TRUE(RunUntil([&] { return complete.has_value(); }, absl::Seconds(10)));
  EXPECT_EQ(complete, true);
  EXPECT_TRUE(RunUntil([this] { return Holds("orders", kMessages - 10); }));
}

INSTANTIATE_TEST_SUITE_P(WorkQueues, RetryBreaker, ::testing::Values("classic", "quorum"),
                         [](const auto& of) { return std::string(of.param); });

using RetrySnooze = RetryTest;

TEST_F(RetrySnooze, BringsAMessageBackUncountedAndRemembersItsFailures) {
  peer_.DeclareQueue("orders", {{"x-queue-type", "quorum"}});
  Client client(loop_, Options());
  const auto consumer =
      client.Consume({.queue = "orders", .retry = {.max_attempts = 2}},
                     Handler([this](const Delivery& order) -> Outcome {
                       calls_.Note(order);
                       if (calls_.size() == 4) return absl::UnavailableError("down");
                       if (calls_.size() == 8) return Outcome::Ok();
                       return Outcome::Snooze(absl::Milliseconds(123), "closed at night");
                     }));
  ASSERT_TRUE(consumer.ok()) << consumer.status();
  peer_.Publish("", "orders", "an order");
  ASSERT_TRUE(RunUntil([this] { return events_.Count(EventKind::kHandled) == 1; }));
  ASSERT_EQ(calls_.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(calls_[i].attempt(), i < 4 ? 0U : 1U) << i;
    EXPECT_EQ(calls_[i].last_error(), i < 4 ? "" : "UNAVAILABLE: down") << i;
    EXPECT_EQ(calls_[i].first_failure().has_value(), i >= 4) << i;
    EXPECT_EQ(calls_[i].id(), i == 0 ? "" : calls_[1].id()) << i;
  }
  EXPECT_THAT(calls_.Gaps(), Each(Ge(absl::Milliseconds(122))));
  EXPECT_EQ(events_.Count(EventKind::kSnoozed), 6U);
  EXPECT_EQ(events_.Count(EventKind::kFailed), 1U);
  EXPECT_EQ(events_.Last(EventKind::kSnoozed)->error, "closed at night");
}

}  // namespace retry_breaker_test
}  // namespace retryq::testing
