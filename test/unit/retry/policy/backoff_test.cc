#include "retryq/backoff.h"

#include <cmath>

#include "retryq/testing/seeded_random.h"
#include "support/test.h"

namespace retryq::backoff_test {

constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();
constexpr absl::Duration kTenYears = absl::Milliseconds(315'360'000'000);

std::vector<std::int64_t> DelaysInMs(const BackoffOptions& options, std::uint64_t count) {
  std::vector<std::int64_t> delays;
  for (std::uint64_t n = 0; n < count; ++n) {
    delays.push_back(absl::ToInt64Milliseconds(BackoffDelay(options, n)));
  }
  return delays;
}

TEST(BackoffDelay, DoublesByDefaultFromOneSecondToTenMinutes) {
  EXPECT_THAT(DelaysInMs({}, 12), ElementsAre(1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000,
                                              256000, 512000, 600000, 600000));
}

TEST(BackoffDelay, StaysFixedWithFactorOne) {
  const BackoffOptions options{.base = absl::Milliseconds(250), .factor = 1.0};
  EXPECT_THAT(DelaysInMs(options, 3), ElementsAre(250, 250, 250));
  EXPECT_EQ(BackoffDelay(options, kForever), absl::Milliseconds(250));
}

TEST(BackoffDelay, IsExactForDyadicFactorsAndRoundsUp) {
  EXPECT_THAT(DelaysInMs({.base = absl::Milliseconds(1), .factor = 1.5}, 8),
              ElementsAre(1, 2, 3, 4, 6, 8, 12, 18));
  EXPECT_THAT(DelaysInMs({.base = absl::Milliseconds(1000), .factor = 1.25}, 7),
              ElementsAre(1000, 1250, 1563, 1954, 2442, 3052, 3815));
}

TEST(BackoffDelay, ReadsDecimalFactorsAsWritten) {
  EXPECT_THAT(DelaysInMs({.factor = 1.1}, 5), ElementsAre(1000, 1100, 1210, 1331, 1465));
  EXPECT_THAT(DelaysInMs({.factor = 1.2}, 5), ElementsAre(1000, 1200, 1440, 1728, 2074));
  EXPECT_THAT(DelaysInMs({.factor = 1.3}, 4), ElementsAre(1000, 1300, 1690, 2197));
  EXPECT_THAT(DelaysInMs({.base = absl::Milliseconds(10), .factor = 4.7}, 3),
              ElementsAre(10, 47, 221));
}

TEST(BackoffDelay, RoundsPartsOfMillisecondsUpAndOnlyAtTheEnd) {
  const BackoffOptions options{.base = absl::Microseconds(1500), .max = absl::Microseconds(9900)};
  EXPECT_THAT(DelaysInMs(options, 5), ElementsAre(2, 3, 6, 10, 10));
  const BackoffOptions quarter_nanosecond{.base = absl::Seconds(1) + absl::Nanoseconds(1) / 4};
  EXPECT_THAT(DelaysInMs(quarter_nanosecond, 2), ElementsAre(1001, 2001));
}

TEST(BackoffDelay, RaisesADefaultMaxToTheBase) {
  EXPECT_EQ(BackoffDelay({.base = absl::Hours(1)}, 7), absl::Hours(1));
}

TEST(BackoffDelay, ReachesTheMaxForAnyNumberOfFailures) {
  for (const double factor : {2.0, 1.5, 1.1, 10.0, 1e300, 1.0 + 1e-15}) {
    const BackoffOptions options{.factor = factor, .max = kTenYears};
    EXPECT_EQ(BackoffDelay(options, kForever), kTenYears) << factor;
    EXPECT_EQ(BackoffDelay(options, kForever - 1), kTenYears) << factor;
  }
}

TEST(BackoffDelay, GrowsByTheSmallestFactor) {
  const double factor = std::nextafter(1.0, 2.0);
  const BackoffOptions options{.factor = factor, .max = kTenYears};
  EXPECT_EQ(BackoffDelay(options, 0), absl::Milliseconds(1000));
  // e-fold after 2^52 steps: 2718.28… ms.
  EXPECT_EQ(BackoffDelay(options, std::uint64_t{1} << 52), absl::Milliseconds(2719));
}

TEST(BackoffDelay, IsThePowerRoundedUp) {
  constexpr long double kTolerance = 1e-12L;
  testing::SeededRandom random(7);
  int checked = 0;
  for (int round = 0; round < 300; ++round) {
    // A factor of up to four decimals; mostly small, since those take the most steps.
    const std::uint64_t numerator = 10001 + random.Below(random.OneIn(4) ? 90000 : 2000);
    const std::uint64_t base_us = 1000 + random.Below(5'000'000);
    const BackoffOptions options{.base = absl::Microseconds(static_cast<std::int64_t>(base_us)),
                                 .factor = static_cast<double>(numerator) / 10000,
                                 .max = kTenYears};
    long double exact = static_cast<long double>(base_us) / 1000;
    for (std::uint64_t n = 0; n < 400; ++n) {
      const absl::Duration delay = BackoffDelay(options, n);
      if (delay == kTenYears) break;
      const auto ms = static_cast<long double>(absl::ToInt64Milliseconds(delay));
      ASSERT_GE(ms, exact * (1 - kTolerance)) << options.factor << "^" << n;
      ASSERT_LT(ms, exact * (1 + kTolerance) + 1) << options.factor << "^" << n;
      ++checked;
      exact = exact * static_cast<long double>(numerator) / 10000;
    }
  }
  EXPECT_GT(checked, 20'000);
}

TEST(BackoffDelay, NeverDecreases) {
  testing::SeededRandom random(11);
  for (int round = 0; round < 200; ++round) {
    const double spread = std::pow(10.0, -static_cast<double>(random.Below(16)));
    const BackoffOptions options{
        .base =
            absl::Nanoseconds(static_cast<std::int64_t>(1'000'000 + random.Below(1'000'000'000))),
        .factor = 1.0 + spread * static_cast<double>(1 + random.Below(1000)) / 100.0,
        .max = kTenYears};
    absl::Duration last = absl::ZeroDuration();
    std::uint64_t n = 0;
    for (int step = 0; step < 200; ++step) {
      const absl::Duration delay = BackoffDelay(options, n);
      ASSERT_GE(delay, last) << "factor " << options.factor << ", n " << n;
      ASSERT_LE(delay, options.max);
      last = delay;
      n += 1 + (step > 100 ? random.Next() >> (step / 4) : 0);
      if (n > kForever / 2) break;
    }
  }
}

std::string ErrorOf(const BackoffOptions& options) {
  const absl::Status status = Validate(options, "retry.backoff");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(BackoffOptions, AreValidByDefault) { EXPECT_TRUE(Validate(BackoffOptions{}).ok()); }

TEST(BackoffOptions, MayHaveABaseAboveTheDefaultMax) {
  EXPECT_TRUE(Validate({.base = absl::Hours(1)}).ok());
}

TEST(BackoffOptions, NameEveryWrongField) {
  EXPECT_THAT(
      ErrorOf({.base = absl::ZeroDuration(), .factor = 0.5, .max = -absl::Seconds(1), .jitter = 2}),
      AllOf(HasSubstr("retry.backoff.base must be between 1ms and 3650 days, but is 0"),
            HasSubstr("; retry.backoff.factor must be a finite number of at least 1, but is 0.5"),
            HasSubstr("; retry.backoff.max must be at least base (0), but is -1s"),
            HasSubstr("; retry.backoff.jitter must be between 0 and 1, but is 2")));
}

TEST(BackoffOptions, RefuseNonFiniteNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(ErrorOf({.base = absl::InfiniteDuration()}),
              AllOf(HasSubstr("base"), Not(HasSubstr("max"))));
  EXPECT_THAT(ErrorOf({.max = absl::InfiniteDuration()}),
              HasSubstr("max must be at most 3650 days"));
  EXPECT_THAT(ErrorOf({.factor = nan}), HasSubstr("factor"));
  EXPECT_THAT(ErrorOf({.factor = infinity}), HasSubstr("factor"));
  EXPECT_THAT(ErrorOf({.jitter = nan}), HasSubstr("jitter must be between 0 and 1"));
}

TEST(BackoffOptions, RefuseABaseBelowAMillisecond) {
  EXPECT_THAT(ErrorOf({.base = absl::Microseconds(999)}), HasSubstr("but is 999us"));
}

TEST(BackoffOptions, AcceptEveryKindOfBackoff) {
  for (const BackoffOptions& options : std::vector<BackoffOptions>{
           {.factor = 1.0},
           {.jitter = 1.0},
           {.jitter_kind = JitterKind::kDecorrelated},
           {.jitter = 0.5, .growth = Growth::kLinear},
           {.jitter = 0.5, .delays = {absl::Milliseconds(1), kTenYears}},
           {.delays = {absl::Seconds(1)}, .function = [](const Failure&) { return kTenYears; }}}) {
    EXPECT_TRUE(Validate(options).ok()) << Validate(options);
  }
}

TEST(BackoffOptions, NameInvalidDelays) {
  EXPECT_EQ(ErrorOf({.delays = {absl::Seconds(1), absl::Microseconds(999), kTenYears,
                                absl::InfiniteDuration()}}),
            "retry.backoff.delays[1] must be between 1ms and 3650 days, but is 999us; "
            "retry.backoff.delays[3] must be between 1ms and 3650 days, but is inf");
}

TEST(BackoffOptions, NameContradictions) {
  const std::vector<Duration> delays = {absl::Seconds(1)};
  EXPECT_THAT(
      ErrorOf({.growth = Growth::kLinear, .delays = delays}),
      HasSubstr("retry.backoff.growth = kLinear cannot be combined with retry.backoff.delays"));
  const std::string error = ErrorOf({.jitter = 0.5,
                                     .jitter_kind = JitterKind::kDecorrelated,
                                     .growth = Growth::kLinear,
                                     .delays = delays,
                                     .function = [](const Failure&) { return kTenYears; }});
  for (const char* other : {"jitter:", "growth = kLinear:", "delays:", "function:"}) {
    EXPECT_THAT(
        error, HasSubstr(std::string("retry.backoff.jitter_kind = kDecorrelated cannot be combined "
                                     "with retry.backoff.") +
                         other));
  }
}

TEST(BackoffDelay, GrowsByTheBaseUpToTheMax) {
  const BackoffOptions options{
      .base = absl::Microseconds(250'500), .max = absl::Seconds(1), .growth = Growth::kLinear};
  EXPECT_THAT(DelaysInMs(options, 5), ElementsAre(251, 501, 752, 1000, 1000));
  EXPECT_EQ(BackoffDelay(options, kForever), absl::Seconds(1));
}

TEST(BackoffDelay, UsesAListInOrderAndRepeatsItsLastDelay) {
  const BackoffOptions options{
      .delays = {absl::Seconds(5), absl::Microseconds(1500), absl::Hours(1)}};
  EXPECT_THAT(DelaysInMs(options, 5), ElementsAre(5000, 2, 3'600'000, 3'600'000, 3'600'000));
  EXPECT_EQ(BackoffDelay(options, kForever), absl::Hours(1));
}

TEST(LongestDelay, IsTheMaxOrTheLongestOfAList) {
  EXPECT_EQ(LongestDelay(BackoffOptions{.max = absl::Seconds(10)}), absl::Seconds(10));
  EXPECT_EQ(LongestDelay(BackoffOptions{.base = absl::Hours(1)}), absl::Hours(1));
  EXPECT_EQ(LongestDelay(BackoffOptions{.delays = {absl::Microseconds(1500), absl::Seconds(1)}}),
            absl::Seconds(1));
  EXPECT_EQ(LongestDelay(BackoffOptions{.delays = {absl::Microseconds(1500)}}),
            absl::Milliseconds(2));
}

}  // namespace retryq::backoff_test
