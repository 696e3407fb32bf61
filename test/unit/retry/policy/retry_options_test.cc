#include "retryq/retry_options.h"

#include "support/test.h"

namespace retryq::retry_options_test {

bool Always(const absl::Status&) { return true; }

std::string ErrorOf(const RetryOptions& options) {
  const absl::Status status = Validate(options);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(RetryOptions, AreValidByDefault) { EXPECT_TRUE(Validate(RetryOptions{}).ok()); }

TEST(RetryOptions, AcceptAnyNumberOfAttempts) {
  EXPECT_TRUE(Validate(RetryOptions{.max_attempts = 0}).ok());
  EXPECT_TRUE(Validate(RetryOptions{.max_attempts = ~std::uint64_t{0}}).ok());
}

TEST(RetryOptions, AcceptAnyAgeThatIsNotNegative) {
  EXPECT_TRUE(Validate(RetryOptions{.max_age = absl::ZeroDuration()}).ok());
  EXPECT_TRUE(Validate(RetryOptions{.max_age = absl::InfiniteDuration()}).ok());
  EXPECT_THAT(ErrorOf({.max_age = -absl::Nanoseconds(1)}), HasSubstr("retry.max_age"));
}

TEST(RetryOptions, LimitMaxRetryAfterToTheLongestTtl) {
  const absl::Duration ten_years = absl::Hours(24 * 3650);
  EXPECT_TRUE(Validate(RetryOptions{.max_retry_after = absl::Milliseconds(1)}).ok());
  EXPECT_TRUE(Validate(RetryOptions{.max_retry_after = ten_years}).ok());
  EXPECT_THAT(ErrorOf({.max_retry_after = absl::Microseconds(999)}),
              HasSubstr("retry.max_retry_after"));
  EXPECT_THAT(ErrorOf({.max_retry_after = ten_years + absl::Milliseconds(1)}),
              HasSubstr("retry.max_retry_after"));
  EXPECT_THAT(ErrorOf({.max_retry_after = absl::InfiniteDuration()}),
              HasSubstr("retry.max_retry_after"));
}

TEST(RetryOptions, AcceptUpTo16HeadersWithEarlierCounts) {
  const std::string longest(255, 'x');
  EXPECT_TRUE(Validate(RetryOptions{.earlier_counts = {"x-death", longest}}).ok());
  EXPECT_THAT(ErrorOf({.earlier_counts = {""}}), HasSubstr("retry.earlier_counts"));
  EXPECT_THAT(ErrorOf({.earlier_counts = {longest + "x"}}), HasSubstr("retry.earlier_counts"));
  EXPECT_TRUE(Validate(RetryOptions{.earlier_counts = std::vector<std::string>(16, "x")}).ok());
  EXPECT_THAT(ErrorOf({.earlier_counts = std::vector<std::string>(17, "x")}), HasSubstr("17"));
}

TEST(RetryOptions, RefuseBothPredicatesTogether) {
  EXPECT_TRUE(Validate(RetryOptions{.permanent = Always}).ok());
  EXPECT_TRUE(Validate(RetryOptions{.retry_only = Always}).ok());
  const std::string error = ErrorOf({.permanent = Always, .retry_only = Always});
  EXPECT_THAT(error, HasSubstr("retry.permanent"));
  EXPECT_THAT(error, HasSubstr("retry.retry_only"));
}

TEST(RetryOptions, NameInvalidFieldsOfARule) {
  RetryOptions options;
  options.for_errors = {{.codes = {absl::StatusCode::kUnavailable}},
                        {.max_attempts = 3},
                        {.matches = Always, .backoff = BackoffOptions{.factor = 0.5}},
                        {.codes = {absl::StatusCode::kOk}}};
  EXPECT_EQ(ErrorOf(options),
            "retry.for_errors[1] must say which errors: set codes or matches; "
            "retry.for_errors[2].backoff.factor must be a finite number of at least 1, but is 0.5; "
            "retry.for_errors[3].codes must not contain kOk, which is no error");
}

TEST(RetryOptions, NameAllWrongFieldsAtOnceUnderTheCallersName) {
  RetryOptions options = {.max_age = -absl::Seconds(1),
                          .permanent = Always,
                          .retry_only = Always,
                          .max_retry_after = absl::ZeroDuration()};
  options.backoff.base = absl::ZeroDuration();
  options.backoff.factor = 0.5;
  const std::string error(Validate(options, "orders").message());
  EXPECT_THAT(error, HasSubstr("orders.backoff.base"));
  EXPECT_THAT(error, HasSubstr("orders.backoff.factor"));
  EXPECT_THAT(error, HasSubstr("; orders.max_age"));
  EXPECT_THAT(error, HasSubstr("; orders.permanent and orders.retry_only"));
  EXPECT_THAT(error, HasSubstr("; orders.max_retry_after"));
}

}  // namespace retryq::retry_options_test
