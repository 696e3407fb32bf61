#include "retry/policy/next_delay.h"
#include "support/test.h"

namespace retryq::fixed_delays_test {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// Checks that the known delays are those of the backoff. Returns how many consecutive delays are
// known.
std::uint64_t CheckAgainstBackoff(const BackoffOptions& options) {
  const FixedDelays delays(options);
  std::uint64_t known = 0;
  for (; known < 200; ++known) {
    const std::optional<absl::Duration> delay = delays.After(known);
    if (!delay) break;
    EXPECT_EQ(*delay, BackoffDelay(options, known)) << known;
  }
  for (const std::uint64_t failures : {known, known + 1, kMost - 1, kMost}) {
    const std::optional<absl::Duration> delay = delays.After(failures);
    EXPECT_EQ(delay.value_or(BackoffDelay(options, failures)), BackoffDelay(options, failures));
  }
  return known;
}

TEST(FixedDelays, MatchTheBackoffForAllFailures) {
  EXPECT_EQ(CheckAgainstBackoff({}), 200);
  EXPECT_EQ(CheckAgainstBackoff({.base = absl::Milliseconds(7), .factor = 1.3}), 200);
  EXPECT_EQ(CheckAgainstBackoff({.factor = 1.0}), 200);
  EXPECT_EQ(CheckAgainstBackoff({.max = absl::Minutes(1), .growth = Growth::kLinear}), 200);
}

TEST(FixedDelays, FollowAListToItsEnd) {
  const absl::Duration one = absl::Seconds(1);
  EXPECT_EQ(CheckAgainstBackoff({.delays = {one}}), 200);
  EXPECT_EQ(CheckAgainstBackoff({.delays = {3 * one, one, 3 * one, absl::Microseconds(1500)}}),
            200);
  EXPECT_EQ(CheckAgainstBackoff({.delays = {2 * one, one, 2 * one}}), 200)
      << "the last one is in its middle too";
}

TEST(FixedDelays, AreLimitedToTheFirstOfManyFailures) {
  EXPECT_EQ(CheckAgainstBackoff({.factor = 1.001}), 64);
  std::vector<Duration> delays;
  for (int i = 1; i <= 100; ++i) delays.push_back(absl::Seconds(i));
  EXPECT_EQ(CheckAgainstBackoff({.delays = delays}), 64);
}

TEST(FixedDelays, AreEmptyForJitterAndFunctions) {
  for (const BackoffOptions& options :
       {BackoffOptions{.jitter = 0.1}, BackoffOptions{.jitter_kind = JitterKind::kDecorrelated},
        BackoffOptions{.function = [](const Failure&) { return absl::Seconds(1); }}}) {
    const FixedDelays delays(options);
    for (const std::uint64_t failures : {std::uint64_t{0}, std::uint64_t{1}, kMost}) {
      EXPECT_EQ(delays.After(failures), std::nullopt);
    }
  }
}

}  // namespace retryq::fixed_delays_test
