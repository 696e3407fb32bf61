#include "retryq/breaker.h"

#include "support/test.h"

namespace retryq::breaker_test {

using Result = CallResult;
using State = Breaker::State;

constexpr absl::Duration kStart = absl::Seconds(1000);

class BreakerTest : public ::testing::Test {
 protected:
  // Ends calls with this result until the state changes; returns their number.
  int Calls(Breaker& breaker, Result result, int most) {
    for (int call = 1; call <= most; ++call) {
      if (breaker.OnCall(result, now_)) return call;
    }
    return 0;
  }

  Breaker Open(const BreakerOptions& options) {
    Breaker breaker(options);
    Calls(breaker, Result::kFailed, options.calls);
    EXPECT_EQ(breaker.state(), State::kOpen);
    return breaker;
  }
  Breaker Probing(const BreakerOptions& options) {
    Breaker breaker = Open(options);
    now_ += options.pause;
    EXPECT_TRUE(breaker.TryAgain(now_));
    return breaker;
  }

  absl::Duration now_ = kStart;
};

TEST_F(BreakerTest, StaysClosedWhileCallsSucceed) {
  Breaker breaker{BreakerOptions{}};
  EXPECT_EQ(Calls(breaker, Result::kSucceeded, 1000), 0);
  EXPECT_EQ(breaker.state(), State::kClosed);
  EXPECT_EQ(breaker.PauseLeft(now_), absl::ZeroDuration());
  EXPECT_FALSE(breaker.TryAgain(now_));
}

TEST_F(BreakerTest, ForgetsFailuresThatAreNotAmongTheLastCalls) {
  Breaker breaker({.calls = 10, .ratio = 0.5});
  Calls(breaker, Result::kSucceeded, 10);
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(Calls(breaker, Result::kFailed, 4), 0);
    EXPECT_EQ(Calls(breaker, Result::kSucceeded, 6), 0);
  }
  EXPECT_EQ(Calls(breaker, Result::kFailed, 10), 5);
}

TEST_F(BreakerTest, OpensAtExactlyTheRatioWhateverItsBinaryFraction) {
  for (int failures = 1; failures <= 10; ++failures) {
    Breaker breaker({.calls = 10, .ratio = failures * 0.1});
    Calls(breaker, Result::kSucceeded, 10 - failures);
    EXPECT_EQ(Calls(breaker, Result::kFailed, 10), failures);
  }
}

TEST_F(BreakerTest, IgnoresCallsThatNeitherFailedNorSucceeded) {
  Breaker breaker({.calls = 4, .ratio = 1});
  Calls(breaker, Result::kFailed, 3);
  EXPECT_EQ(Calls(breaker, Result::kNeither, 100), 0);
  EXPECT_EQ(Calls(breaker, Result::kFailed, 1), 1);
}

TEST_F(BreakerTest, StaysOpenForItsPauseRegardlessOfLateCalls) {
  Breaker breaker = Open({.pause = absl::Seconds(30)});
  now_ += absl::Seconds(29);
  EXPECT_EQ(breaker.PauseLeft(now_), absl::Seconds(1));
  EXPECT_FALSE(breaker.TryAgain(now_));
  EXPECT_EQ(Calls(breaker, Result::kSucceeded, 100), 0);
  EXPECT_EQ(Calls(breaker, Result::kFailed, 100), 0);
  now_ += absl::Seconds(1);
  EXPECT_EQ(breaker.PauseLeft(now_), absl::ZeroDuration());
  EXPECT_TRUE(breaker.TryAgain(now_));
  EXPECT_EQ(breaker.state(), State::kProbing);
  EXPECT_FALSE(breaker.TryAgain(now_));
}

TEST_F(BreakerTest, OpensAgainForAFullPauseWhenAProbeFails) {
  Breaker breaker = Probing({.probes = 3});
  Calls(breaker, Result::kSucceeded, 2);
  EXPECT_EQ(Calls(breaker, Result::kFailed, 1), 1);
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(breaker.PauseLeft(now_), absl::Seconds(30));
}

TEST_F(BreakerTest, ClosesAfterEnoughConsecutiveSuccesses) {
  Breaker breaker = Probing({.pause = absl::Seconds(30), .probes = 3});
  Calls(breaker, Result::kSucceeded, 2);
  Calls(breaker, Result::kFailed, 1);
  now_ += absl::Seconds(30);
  ASSERT_TRUE(breaker.TryAgain(now_));
  EXPECT_EQ(Calls(breaker, Result::kNeither, 10), 0);
  EXPECT_EQ(Calls(breaker, Result::kSucceeded, 10), 3);
  EXPECT_EQ(breaker.state(), State::kClosed);
}

TEST_F(BreakerTest, RestartsItsCountsAfterItCloses) {
  Breaker breaker = Probing({.calls = 20, .probes = 1});
  Calls(breaker, Result::kSucceeded, 1);
  ASSERT_EQ(breaker.state(), State::kClosed);
  EXPECT_EQ(Calls(breaker, Result::kFailed, 100), 20);
}

TEST(BreakerOptionsTest, AreValidByDefaultAndAtTheirBounds) {
  EXPECT_TRUE(Validate(BreakerOptions{}).ok());
  EXPECT_TRUE(
      Validate(BreakerOptions{.calls = 1, .ratio = 1e-3, .pause = absl::Seconds(1), .probes = 1})
          .ok());
  EXPECT_TRUE(Validate(BreakerOptions{
                           .calls = 10'000, .ratio = 1, .pause = absl::Hours(24), .probes = 1'000})
                  .ok());
}

TEST(BreakerOptionsTest, AreRefusedWithEveryWrongFieldNamed) {
  for (const double ratio : {0.0, -1.0, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
    const absl::Status status = Validate(
        BreakerOptions{.calls = 0, .ratio = ratio, .pause = absl::Seconds(0), .probes = 0});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("breaker.calls must be 1 to 10000, but is 0"),
                      HasSubstr("breaker.ratio must be above 0 and at most 1"),
                      HasSubstr("breaker.pause must be 1s to 24h, but is 0"),
                      HasSubstr("breaker.probes must be 1 to 1000, but is 0")));
  }
  EXPECT_FALSE(Validate(BreakerOptions{.calls = 10'001}).ok());
  EXPECT_FALSE(Validate(BreakerOptions{.pause = absl::InfiniteDuration()}).ok());
  EXPECT_FALSE(Validate(BreakerOptions{.probes = 1'001}).ok());
}

TEST(BreakerState, HasAName) {
  EXPECT_EQ(NameOf(State::kClosed), "closed");
  EXPECT_EQ(NameOf(State::kProbing), "probing");
  EXPECT_EQ(NameOf(State::kOpen), "open");
}

}  // namespace retryq::breaker_test
