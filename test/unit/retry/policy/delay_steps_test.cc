#include "retry/policy/delay_steps.h"

#include "support/test.h"

namespace retryq::delay_steps_test {

constexpr absl::Duration kOdd = absl::Milliseconds(1234);

bool IsStep(DelaySteps& steps, absl::Duration delay) {
  const Hop hop = steps.First(delay);
  return hop.ttl == delay && hop.left == absl::ZeroDuration();
}

RetryOptions Listed(std::vector<Duration> delays) {
  return {.backoff = {.delays = std::move(delays)}};
}

TEST(DelaySteps, UseTheLongestStepThatFits) {
  DelaySteps steps(64);
  EXPECT_TRUE(IsStep(steps, absl::Seconds(1)));
  EXPECT_EQ(steps.First(kOdd).ttl, absl::Seconds(1));
  EXPECT_EQ(steps.First(kOdd).left, absl::Milliseconds(234));
  EXPECT_EQ(steps.First(absl::Milliseconds(19)).ttl, absl::Milliseconds(1));
  EXPECT_EQ(steps.First(absl::Hours(24 * 3650)).ttl, DelayGrid::kLongest);
}

TEST(DelaySteps, IncludeTheExactDelaysOfPolicies) {
  DelaySteps steps(64);
  steps.Add({.backoff = {.base = kOdd, .factor = 3.0, .max = absl::Seconds(20)}});
  EXPECT_TRUE(IsStep(steps, kOdd));
  EXPECT_TRUE(IsStep(steps, 3 * kOdd));
  EXPECT_TRUE(IsStep(steps, 9 * kOdd));
  EXPECT_TRUE(IsStep(steps, absl::Seconds(20)));
  EXPECT_EQ(steps.size(), 32U + 4U);
  steps.Add({.backoff = {.base = kOdd, .factor = 1.0}});
  EXPECT_EQ(steps.size(), 32U + 4U);
}

TEST(DelaySteps, AreFoundAgainIfTheDelayOrAPolicyChanges) {
  DelaySteps steps(64);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(steps.First(kOdd).ttl, absl::Seconds(1));
    EXPECT_EQ(steps.First(kOdd).left, absl::Milliseconds(234));
    EXPECT_TRUE(IsStep(steps, absl::Seconds(2)));
  }
  EXPECT_FALSE(IsStep(steps, kOdd));
  steps.Add(Listed({kOdd}));
  EXPECT_TRUE(IsStep(steps, kOdd));
}

TEST(DelaySteps, IncludeTheDelaysOfRulesAndListsInAnyOrder) {
  DelaySteps steps(64);
  RetryOptions policy = Listed({absl::Seconds(77), kOdd, absl::Seconds(77), absl::Seconds(88)});
  policy.for_errors = {{.matches = absl::IsInternal,
                        .backoff = BackoffOptions{.base = absl::Seconds(99), .factor = 1.0}}};
  steps.Add(policy);
  for (const int seconds : {77, 88, 99}) EXPECT_TRUE(IsStep(steps, absl::Seconds(seconds)));
  EXPECT_TRUE(IsStep(steps, kOdd));
  EXPECT_EQ(steps.size(), 32U + 4U);
}

TEST(DelaySteps, IncludeOnlyDelaysThatAttemptsReach) {
  DelaySteps steps(64);
  steps.Add({.backoff = {.base = kOdd}, .max_attempts = 3});
  EXPECT_EQ(steps.size(), 32U + 2U);
  steps.Add({.backoff = {.base = absl::Milliseconds(777)}, .max_attempts = 1});
  EXPECT_EQ(steps.size(), 32U + 2U);
}

TEST(DelaySteps, NeverExceedTheirLimit) {
  DelaySteps steps(40);
  steps.Add({.backoff = {.base = kOdd, .max = absl::Hours(99), .growth = Growth::kLinear},
             .max_attempts = 0});
  EXPECT_EQ(steps.size(), 40U);
  EXPECT_TRUE(IsStep(steps, kOdd)) << "the first are exact";
  EXPECT_FALSE(IsStep(steps, 1000 * kOdd));
  steps.Add(Listed({absl::Milliseconds(777)}));
  EXPECT_EQ(steps.size(), 40U);
}

TEST(DelaySteps, AreOnlyTheGridWithoutExactQueues) {
  DelaySteps steps(64, /*exact_queues=*/false);
  steps.Add({.backoff = {.base = kOdd}});
  EXPECT_EQ(steps.steps(), DelayGrid(64, /*exact_queues=*/false).steps());
  EXPECT_FALSE(IsStep(steps, kOdd));
}

TEST(DelaySteps, IncludeTheMinimumOfAFractionOfJitter) {
  DelaySteps steps(64);
  steps.Add({.backoff = {.base = absl::Milliseconds(1100), .factor = 1.0, .jitter = 0.5}});
  EXPECT_TRUE(IsStep(steps, absl::Milliseconds(550)));
  EXPECT_EQ(steps.size(), 33U);
  steps.Add({.backoff = {.base = kOdd, .jitter = 1.0}});
  EXPECT_EQ(steps.size(), 33U) << "nothing is sure to be left of full jitter";
}

TEST(DelaySteps, ExcludeUnpredictableDelays) {
  DelaySteps steps(64);
  steps.Add({.backoff = {.base = kOdd, .jitter_kind = JitterKind::kDecorrelated}});
  steps.Add({.backoff = {.base = kOdd, .function = [](const Failure&) { return kOdd; }}});
  EXPECT_EQ(steps.size(), 32U);
}

TEST(DelaySteps, AreFoundQuicklyForDelaysThatHardlyGrow) {
  DelaySteps steps(64);
  steps.Add({.backoff = {.base = kOdd, .factor = 1.0 + 1e-12}, .max_attempts = 0});
  EXPECT_LE(steps.size(), 34U);
}

}  // namespace retryq::delay_steps_test
