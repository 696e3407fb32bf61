#include "retry/policy/decide.h"
#include "retryq/backoff.h"
#include "retryq/testing/seeded_random.h"
#include "support/test.h"

namespace retryq::retry_policy_test {

using Kind = Step::Kind;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
const absl::Status kDown = absl::UnavailableError("down");

RetryOptions Doubling() {
  RetryOptions options;
  options.backoff = {.base = absl::Seconds(1), .factor = 2.0, .max = absl::Seconds(10)};
  options.max_attempts = 0;
  return options;
}

Step Decide(const RetryOptions& options, const Outcome& outcome,
            const Delivery::History& history = {}) {
  testing::SeededRandom random;
  return RetryPolicy(options).Decide(outcome, history, kNow, random);
}

Kind KindOf(const RetryOptions& options, const Outcome& outcome,
            const Delivery::History& history = {}) {
  return Decide(options, outcome, history).kind;
}

const absl::Status kInvalid = absl::InvalidArgumentError("x");
const absl::Status kMissing = absl::NotFoundError("x");

bool Throws(const absl::Status&) { throw std::runtime_error("oops"); }

TEST(RetryPolicy, ParksErrorsThatRetryingCannotFixAndRetriesAllOthers) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status error(static_cast<absl::StatusCode>(code), "x");
    const bool is_permanent =
        absl::IsInvalidArgument(error) || absl::IsOutOfRange(error) || absl::IsUnimplemented(error);
    EXPECT_EQ(KindOf(Doubling(), error), is_permanent ? Kind::kPark : Kind::kRetry) << error;
  }
}

TEST(RetryPolicy, AsksTheOptionsWhichErrorsArePermanent) {
  EXPECT_EQ(KindOf({.permanent = absl::IsNotFound}, kMissing), Kind::kPark);
  EXPECT_EQ(KindOf({.permanent = absl::IsNotFound}, kInvalid), Kind::kRetry);
  EXPECT_EQ(KindOf({.retry_only = absl::IsInvalidArgument}, kInvalid), Kind::kRetry);
  EXPECT_EQ(KindOf({.retry_only = absl::IsInvalidArgument}, kDown), Kind::kPark);
  EXPECT_EQ(KindOf({.permanent = Throws}, kDown), Kind::kRetry);
  EXPECT_EQ(KindOf({.retry_only = Throws}, kDown), Kind::kRetry);
  EXPECT_EQ(KindOf({}, Outcome::RetryAfter(absl::Seconds(1), kInvalid)), Kind::kRetry);
}

TEST(RetryPolicy, GivesUpPermanentErrorsAsConfigured) {
  EXPECT_EQ(KindOf({.max_attempts = 1, .on_limit = OnLimit::kDiscard}, kInvalid), Kind::kPark);
  RetryOptions options{.retry_only = absl::IsUnavailable, .on_permanent = OnLimit::kReject};
  const Step step = Decide(options, kMissing);
  EXPECT_EQ(step.kind, Kind::kReject);
  EXPECT_EQ(step.reason, "NOT_FOUND: x");
  options.on_permanent = OnLimit::kDiscard;
  EXPECT_EQ(KindOf(options, kMissing), Kind::kDiscard);
  EXPECT_EQ(KindOf(options, Outcome::Park(kMissing)), Kind::kPark);
  EXPECT_EQ(KindOf(options, kDown), Kind::kRetry);
}

TEST(RetryPolicy, GivesUpAboveTheLimitAndNeverWithoutOne) {
  EXPECT_EQ(KindOf({.max_attempts = 3}, kDown, {.failures = 100}), Kind::kPark);
  constexpr std::uint64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const Step step =
      Decide(Doubling(), kDown, {.failures = kHuge, .first_failure = absl::UnixEpoch()});
  EXPECT_EQ(step.kind, Kind::kRetry);
  EXPECT_EQ(step.delay, absl::Seconds(10));
}

TEST(RetryPolicy, StartsNoRetryLaterThanMaxAgeAfterTheFirstFailure) {
  RetryOptions options = Doubling();
  options.max_age = absl::Minutes(1);
  // The second delay is 2 s: it ends exactly at the limit, or a nanosecond after.
  const absl::Time latest = kNow + absl::Seconds(2) - absl::Minutes(1);
  EXPECT_EQ(KindOf(options, kDown, {.failures = 1, .first_failure = latest}), Kind::kRetry);
  EXPECT_EQ(KindOf(options, kDown, {.failures = 1, .first_failure = latest - absl::Nanoseconds(1)}),
            Kind::kPark);
  // This failure may be the first.
  options.max_age = absl::Seconds(1);
  EXPECT_EQ(KindOf(options, kDown), Kind::kRetry);
  options.max_age = absl::Milliseconds(999);
  EXPECT_EQ(KindOf(options, kDown), Kind::kPark);
  // It cannot be in the future.
  EXPECT_EQ(KindOf(options, kDown, {.failures = 1, .first_failure = kNow + absl::Hours(9000)}),
            Kind::kPark);
}

TEST(RetryPolicy, KeepsTheFirstFailureOfTheHistory) {
  const auto first = [](std::optional<absl::Time> known) {
    return Decide(Doubling(), kDown, {.failures = 2, .first_failure = known}).first_failure;
  };
  EXPECT_EQ(first(kNow - absl::Hours(3)), kNow - absl::Hours(3));
  EXPECT_EQ(first(std::nullopt), kNow);
  EXPECT_EQ(first(kNow + absl::Hours(9000)), kNow);
}

TEST(RetryPolicy, WaitsAsLongAsTheHandlerRequestsInWholeMillisecondsUpToTheLongest) {
  const auto delay_for = [](absl::Duration asked, absl::Duration longest = absl::Hours(24)) {
    return Decide({.max_retry_after = longest}, Outcome::RetryAfter(asked, kDown)).delay;
  };
  EXPECT_EQ(delay_for(absl::Milliseconds(1024)), absl::Milliseconds(1024));
  EXPECT_EQ(delay_for(absl::Microseconds(1'024'001)), absl::Milliseconds(1025));
  EXPECT_EQ(delay_for(absl::ZeroDuration()), absl::Milliseconds(1));
  EXPECT_EQ(delay_for(-absl::InfiniteDuration()), absl::Milliseconds(1));
  EXPECT_EQ(delay_for(absl::Seconds(9), absl::Seconds(10)), absl::Seconds(9));
  EXPECT_EQ(delay_for(absl::Hours(1), absl::Seconds(10)), absl::Seconds(10));
  EXPECT_EQ(delay_for(absl::InfiniteDuration(), absl::Seconds(10)), absl::Seconds(10));
  EXPECT_EQ(delay_for(absl::Hours(1), absl::Microseconds(1500)), absl::Milliseconds(1));
}

TEST(RetryPolicy, UsesTheFirstRuleThatMatchesTheError) {
  RetryOptions options = Doubling();
  const auto backoff = [](int seconds) { return BackoffOptions{.base = absl::Seconds(seconds)}; };
  options.for_errors = {
      {.codes = {absl::StatusCode::kUnavailable, absl::StatusCode::kNotFound},
       .matches = [](const absl::Status& error) { return error.message() == "busy"; },
       .backoff = backoff(30)},
      {.codes = {absl::StatusCode::kUnavailable}, .backoff = backoff(60)},
      {.matches = absl::IsUnavailable, .backoff = backoff(90)},
      {.matches = absl::IsInternal, .backoff = backoff(120)},
  };
  EXPECT_EQ(Decide(options, absl::UnavailableError("busy")).delay, absl::Seconds(30));
  EXPECT_EQ(Decide(options, absl::NotFoundError("busy")).delay, absl::Seconds(30));
  EXPECT_EQ(Decide(options, absl::InternalError("busy")).delay, absl::Seconds(120));
  EXPECT_EQ(Decide(options, kDown).delay, absl::Seconds(60));
  EXPECT_EQ(Decide(options, absl::NotFoundError("x")).delay, absl::Seconds(1)) << "no rule";
}

TEST(RetryPolicy, CompletesARuleFromTheOptions) {
  RetryOptions options = Doubling();
  options.max_attempts = 5;
  options.on_limit = OnLimit::kDiscard;
  options.for_errors = {{.codes = {absl::StatusCode::kUnavailable}, .max_attempts = 2},
                        {.codes = {absl::StatusCode::kInternal}, .on_limit = OnLimit::kReject}};
  const absl::Status internal = absl::InternalError("x");
  const Outcome later = Outcome::RetryAfter(absl::Seconds(1), internal);
  EXPECT_EQ(Decide(options, kDown).delay, absl::Seconds(1));
  EXPECT_EQ(KindOf(options, kDown, {.failures = 1}), Kind::kDiscard);
  EXPECT_EQ(KindOf(options, internal, {.failures = 3}), Kind::kRetry);
  EXPECT_EQ(KindOf(options, internal, {.failures = 4}), Kind::kReject);
  EXPECT_EQ(KindOf(options, later, {.failures = 4}), Kind::kReject);
  EXPECT_EQ(KindOf(options, kMissing, {.failures = 4}), Kind::kDiscard);
}

TEST(RetryPolicy, RetriesErrorsThatMatchARuleEvenIfTheyArePermanentOtherwise) {
  RetryOptions options = Doubling();
  options.for_errors = {{.codes = {absl::StatusCode::kInvalidArgument}, .max_attempts = 2}};
  EXPECT_EQ(KindOf(options, kInvalid), Kind::kRetry);
  EXPECT_EQ(KindOf(options, absl::OutOfRangeError("x")), Kind::kPark);
  options.for_errors = {{.matches = Throws, .max_attempts = 1}};  // does not match
  EXPECT_EQ(KindOf(options, kDown), Kind::kRetry);
}

TEST(RetryPolicy, PassesAllKnownFieldsToABackoffFunction) {
  RetryOptions options = Doubling();
  options.backoff.function = [](const Failure& failure) {
    EXPECT_EQ(failure.failures, 3U);
    EXPECT_EQ(failure.error, kDown);
    EXPECT_EQ(failure.previous_delay, absl::Seconds(4));
    EXPECT_EQ(failure.age, absl::Minutes(2));
    return absl::Seconds(8);
  };
  const Delivery::History history{
      .failures = 3, .first_failure = kNow - absl::Minutes(2), .delay = absl::Seconds(4)};
  EXPECT_EQ(KindOf(options, kDown, history), Kind::kRetry);
}

TEST(LongestDelay, IsTheLongestOfBackoffsAndRetryAfterInWholeMilliseconds) {
  RetryOptions options = Doubling();
  options.max_retry_after = absl::Seconds(3);
  EXPECT_EQ(LongestDelay(options), absl::Seconds(10));
  options.max_retry_after = absl::Seconds(30);
  EXPECT_EQ(LongestDelay(options), absl::Seconds(30));
  options.backoff = {.base = absl::Hours(1) + absl::Nanoseconds(1)};
  EXPECT_EQ(LongestDelay(options), absl::Hours(1) + absl::Milliseconds(1));
  options.for_errors = {{.matches = absl::IsInternal},
                        {.matches = absl::IsNotFound,
                         .backoff = BackoffOptions{.delays = {absl::Hours(2), absl::Hours(1)}}}};
  EXPECT_EQ(LongestDelay(options), absl::Hours(2));
}

// The result of NextRetry for the same failure.
std::optional<absl::Duration> Next(const RetryOptions& options, const absl::Status& error,
                                   const Delivery::History& history) {
  testing::SeededRandom random;
  const absl::Duration age = kNow - history.first_failure.value_or(kNow);
  return NextRetry(
      options,
      {.failures = history.failures, .error = error, .previous_delay = history.delay, .age = age},
      random);
}

TEST(NextRetry, MatchesTheDecisionsOfConsumers) {
  std::vector<RetryOptions> policies(10, Doubling());
  policies[1].backoff.jitter = 1.0;
  policies[2].backoff.jitter_kind = JitterKind::kDecorrelated;
  policies[3].max_attempts = 3;
  policies[4].max_age = absl::Seconds(20);
  policies[5].for_errors = {{.codes = {absl::StatusCode::kUnavailable},
                             .backoff = BackoffOptions{.base = absl::Seconds(7), .factor = 1},
                             .max_attempts = 2}};
  // The first 64 delays are computed in advance where they are fixed.
  const absl::Duration one = absl::Seconds(1);
  policies[6].backoff = {.delays = {3 * one, one, 3 * one, absl::Microseconds(1500)}};
  policies[7].backoff = {.delays = {2 * one, one, 2 * one}};
  policies[8].backoff = {.factor = 1.001};
  policies[9].backoff.function = [](const Failure& failure) {
    return absl::Seconds(static_cast<std::int64_t>(failure.failures) + 1);
  };
  const absl::Status errors[] = {kDown, absl::InvalidArgumentError("a"), absl::AbortedError("b")};
  int retried = 0;
  int given_up = 0;
  for (const RetryOptions& policy : policies) {
    for (const absl::Status& error : errors) {
      for (const std::uint64_t failures : {0U, 1U, 2U, 3U, 4U, 63U, 64U, 5000U}) {
        Delivery::History history{.failures = failures};
        if (failures > 0) {
          history.first_failure = kNow - absl::Seconds(5) * static_cast<std::int64_t>(failures);
          history.delay = absl::Seconds(4);
        }
        const Step step = Decide(policy, error, history);
        const std::optional<absl::Duration> next = Next(policy, error, history);
        EXPECT_EQ(next.has_value(), step.kind == Kind::kRetry) << error << failures;
        if (next) {
          EXPECT_EQ(*next, step.delay) << error << failures;
        }
        ++(next ? retried : given_up);
      }
    }
  }
  EXPECT_GT(retried, 30);
  EXPECT_GT(given_up, 30);
}

}  // namespace retryq::retry_policy_test
