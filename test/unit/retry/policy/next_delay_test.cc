#include "retry/policy/next_delay.h"

#include "retryq/testing/seeded_random.h"
#include "support/test.h"

namespace retryq::next_delay_test {

constexpr absl::Duration kHalfSecond = absl::Milliseconds(500);
const absl::Status kDown = absl::UnavailableError("down");

Failure After(std::uint64_t failures, std::optional<absl::Duration> previous = std::nullopt) {
  return {.failures = failures, .error = kDown, .previous_delay = previous, .age = {}};
}

// Fails if a random number is requested.
class NoRandom final : public Random {
 public:
  std::uint64_t Next() override {
    ADD_FAILURE() << "nothing is left to chance";
    return 0;
  }
};

TEST(NextDelay, IsTheBackoffWithoutJitter) {
  NoRandom random;
  EXPECT_EQ(NextDelay({}, After(3), random), absl::Seconds(8));
}

TEST(NextDelay, IsUniformBetweenTheMinimumOfJitterAndTheWholeDelay) {
  testing::SeededRandom random(5);
  const BackoffOptions options{.base = absl::Milliseconds(100), .jitter = 0.1};
  std::array<int, 11> counts = {};
  for (int i = 0; i < 11'000; ++i) {
    const absl::Duration delay = NextDelay(options, After(0), random);
    ASSERT_GE(delay, absl::Milliseconds(90));
    ASSERT_LE(delay, absl::Milliseconds(100));
    ++counts[static_cast<std::size_t>(absl::ToInt64Milliseconds(delay) - 90)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(NextDelay, KeepsAtLeastAMillisecondOfFullJitter) {
  testing::SeededRandom random(6);
  const BackoffOptions options{.base = absl::Milliseconds(3), .jitter = 1.0};
  std::array<int, 4> counts = {};
  for (int i = 0; i < 3000; ++i) {
    ++counts.at(
        static_cast<std::size_t>(absl::ToInt64Milliseconds(NextDelay(options, After(0), random))));
  }
  EXPECT_EQ(counts[0], 0);
  for (const std::size_t ms : {1U, 2U, 3U}) EXPECT_NEAR(counts[ms], 1000, 150);
}

TEST(NextDelay, JittersAListToo) {
  testing::SeededRandom random(7);
  const BackoffOptions options{.jitter = 0.5, .delays = {absl::Seconds(1), absl::Hours(1)}};
  for (int i = 0; i < 100; ++i) {
    const absl::Duration delay = NextDelay(options, After(9), random);
    ASSERT_GE(delay, absl::Minutes(30));
    ASSERT_LE(delay, absl::Hours(1));
  }
}

TEST(NextDelay, DecorrelatesFromTheBaseToThreeTimesThePreviousDelay) {
  testing::SeededRandom random(8);
  const BackoffOptions options{
      .base = absl::Seconds(1), .max = absl::Seconds(20), .jitter_kind = JitterKind::kDecorrelated};
  const auto range = [&](std::optional<absl::Duration> previous) {
    absl::Duration least = absl::InfiniteDuration(), most;
    for (int i = 0; i < 2000; ++i) {
      const absl::Duration delay = NextDelay(options, After(4, previous), random);
      least = std::min(least, delay);
      most = std::max(most, delay);
    }
    return std::make_pair(absl::Floor(least, kHalfSecond), absl::Ceil(most, kHalfSecond));
  };
  using Range = std::pair<absl::Duration, absl::Duration>;
  EXPECT_EQ(range(std::nullopt), Range(absl::Seconds(1), absl::Seconds(3)));
  EXPECT_EQ(range(absl::Seconds(5)), Range(absl::Seconds(1), absl::Seconds(15)));
  EXPECT_EQ(range(absl::Seconds(15)), Range(absl::Seconds(1), absl::Seconds(20)));
  EXPECT_EQ(range(absl::Milliseconds(1)), Range(absl::Seconds(1), absl::Seconds(3)));
  EXPECT_EQ(range(absl::InfiniteDuration()), Range(absl::Seconds(1), absl::Seconds(20)));
}

TEST(NextDelay, LimitsTheResultOfAFunctionToTheMaxInWholeMilliseconds) {
  NoRandom random;
  const auto delay_for = [&random](absl::Duration asked) {
    const BackoffOptions options{.max = absl::Minutes(1),
                                 .function = [asked](const Failure&) { return asked; }};
    return NextDelay(options, After(2), random);
  };
  EXPECT_EQ(delay_for(absl::Seconds(7)), absl::Seconds(7));
  EXPECT_EQ(delay_for(absl::Microseconds(1)), absl::Milliseconds(1));
  EXPECT_EQ(delay_for(absl::Microseconds(1001)), absl::Milliseconds(2));
  EXPECT_EQ(delay_for(absl::Hours(1)), absl::Minutes(1));
}

TEST(NextDelay, UsesTheOtherFieldsIfAFunctionReturnsAnInvalidDelay) {
  NoRandom random;
  BackoffOptions options;
  for (const absl::Duration nonsense : {absl::ZeroDuration(), -absl::Seconds(1),
                                        absl::InfiniteDuration(), -absl::InfiniteDuration()}) {
    options.function = [nonsense](const Failure&) { return nonsense; };
    EXPECT_EQ(NextDelay(options, After(2), random), absl::Seconds(4)) << nonsense;
  }
  options.function = [](const Failure&) -> absl::Duration { throw std::runtime_error("oops"); };
  EXPECT_EQ(NextDelay(options, After(2), random), absl::Seconds(4));
  options.delays = {absl::Seconds(5)};
  EXPECT_EQ(NextDelay(options, After(2), random), absl::Seconds(5));
}

TEST(BackoffRange, IsOneDelayWithoutJitter) {
  const DelayRange range = BackoffRange({}, 3);
  EXPECT_EQ(range.shortest, absl::Seconds(8));
  EXPECT_EQ(range.longest, absl::Seconds(8));
}

TEST(BackoffRange, ReflectsAFractionOfJitter) {
  const DelayRange range = BackoffRange({.base = absl::Milliseconds(101), .jitter = 0.5}, 0);
  EXPECT_EQ(range.shortest, absl::Milliseconds(51));
  EXPECT_EQ(range.longest, absl::Milliseconds(101));
  EXPECT_EQ(BackoffRange({.jitter = 1.0}, 20).shortest, absl::Milliseconds(1));
}

TEST(BackoffRange, OfDecorrelatedJitterDependsOnTheLongestPreviousDelay) {
  const BackoffOptions options{
      .base = absl::Seconds(2), .max = absl::Seconds(50), .jitter_kind = JitterKind::kDecorrelated};
  const absl::Duration longest[] = {absl::Seconds(6), absl::Seconds(18), absl::Seconds(50),
                                    absl::Seconds(50)};
  for (std::uint64_t failures = 0; failures < 4; ++failures) {
    EXPECT_EQ(BackoffRange(options, failures).shortest, absl::Seconds(2));
    EXPECT_EQ(BackoffRange(options, failures).longest, longest[failures]);
  }
  EXPECT_EQ(BackoffRange(options, UINT64_MAX).longest, absl::Seconds(50));
}

TEST(BackoffRange, ContainsAllRandomDelays) {
  testing::SeededRandom random(3);
  for (const JitterKind kind : {JitterKind::kFraction, JitterKind::kDecorrelated}) {
    BackoffOptions options{.base = absl::Milliseconds(10), .max = absl::Milliseconds(200)};
    options.jitter_kind = kind;
    if (kind == JitterKind::kFraction) options.jitter = 0.7;
    for (int message = 0; message < 1000; ++message) {
      std::optional<absl::Duration> previous;
      for (std::uint64_t failures = 0; failures < 6; ++failures) {
        previous = NextDelay(options, After(failures, previous), random);
        EXPECT_GE(*previous, BackoffRange(options, failures).shortest);
        EXPECT_LE(*previous, BackoffRange(options, failures).longest);
      }
    }
  }
}

// NextRetry.MatchesTheDecisionsOfConsumers compares the delays.
TEST(FixedDelays, AreKnownForAllFailuresOrForTheFirst) {
  EXPECT_EQ(FixedDelays({}).After(UINT64_MAX), LongestDelay(BackoffOptions()));
  const FixedDelays slow({.factor = 1.001});
  EXPECT_TRUE(slow.After(63).has_value());
  EXPECT_FALSE(slow.After(64).has_value());
}

}  // namespace retryq::next_delay_test
