#include "retryq/delay_queue_options.h"

#include "support/test.h"

namespace retryq::delay_queue_options_test {

constexpr absl::Duration kHeartbeat = absl::Seconds(15);

std::string ErrorOf(const DelayQueueOptions& options, absl::Duration heartbeat = kHeartbeat) {
  const absl::Status status = Validate(options, heartbeat);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(DelayQueueOptions, AreValidByDefault) {
  EXPECT_TRUE(Validate(DelayQueueOptions{}, kHeartbeat).ok());
}

TEST(DelayQueueOptions, NameEveryWrongField) {
  EXPECT_THAT(ErrorOf({.prefix = "",
                       .margin = absl::Seconds(-1),
                       .min_window = absl::ZeroDuration(),
                       .max_window = absl::InfiniteDuration(),
                       .confirm_timeout = absl::ZeroDuration()}),
              AllOf(HasSubstr("delay_queues.prefix must not be empty"),
                    HasSubstr("; delay_queues.margin must be above 0"),
                    HasSubstr("; delay_queues.min_window must be above 0"),
                    HasSubstr("; delay_queues.max_window must be above 0 and at most 3650 days"),
                    HasSubstr("; delay_queues.confirm_timeout must be above 0"),
                    HasSubstr("; delay_queues.margin must be at least four heartbeats")));
}

TEST(DelayQueueOptions, RefuseAMinWindowAboveTheMaxWindow) {
  EXPECT_EQ(ErrorOf({.min_window = absl::Minutes(11)}),
            "delay_queues.min_window must be at most max_window (10m), but is 11m");
}

TEST(DelayQueueOptions, NeedAMarginOfFourHeartbeats) {
  EXPECT_TRUE(Validate(DelayQueueOptions{.margin = 4 * kHeartbeat}, kHeartbeat).ok());
  EXPECT_EQ(ErrorOf({.margin = absl::Seconds(59)}),
            "delay_queues.margin must be at least four heartbeats (4 * 15s), but is 59s");
}

TEST(DelayQueueOptions, NeedHeartbeats) {
  EXPECT_THAT(ErrorOf({}, absl::ZeroDuration()), StartsWith("heartbeat must not be 0"));
}

TEST(DelayQueueOptions, RefusePrefixesThatRabbitMqWouldRefuse) {
  EXPECT_THAT(ErrorOf({.prefix = "amq.retry"}), HasSubstr("\"amq.\""));
  EXPECT_THAT(ErrorOf({.prefix = "re\ntry"}), HasSubstr("control characters"));
  EXPECT_THAT(ErrorOf({.prefix = std::string(101, 'r')}), HasSubstr("at most 100 bytes"));
  EXPECT_TRUE(Validate(DelayQueueOptions{.prefix = std::string(100, 'r')}, kHeartbeat).ok());
  EXPECT_TRUE(Validate(DelayQueueOptions{.prefix = "wiederholung-ü"}, kHeartbeat).ok());
}

TEST(DelayQueueOptions, AcceptOnlyLimitsThatRabbitMqCanCount) {
  EXPECT_TRUE(Validate(DelayQueueOptions{.max_length = INT64_MAX}, kHeartbeat).ok());
  EXPECT_THAT(ErrorOf({.max_length = UINT64_MAX}), StartsWith("delay_queues.max_length must be"));
  EXPECT_THAT(ErrorOf({.max_length_bytes = UINT64_MAX}),
              StartsWith("delay_queues.max_length_bytes must be"));
}

TEST(ValidateLease, LimitsOnlyTheTtlIfNothingIsDeclared) {
  EXPECT_TRUE(ValidateLease(kMaxQueueLifetime, {.declare = false}).ok());
  EXPECT_FALSE(ValidateLease(kMaxQueueLifetime, {}).ok());
  EXPECT_FALSE(ValidateLease(kMaxQueueLifetime + absl::Milliseconds(1), {.declare = false}).ok());
}

TEST(LeaseWindow, IsTheDelayLimitedByBothBounds) {
  EXPECT_EQ(LeaseWindow(absl::Seconds(1), {}), absl::Minutes(1));
  EXPECT_EQ(LeaseWindow(absl::Minutes(5), {}), absl::Minutes(5));
  EXPECT_EQ(LeaseWindow(absl::Hours(5), {}), absl::Minutes(10));
}

TEST(QueueLifetime, IsDelayPlusWindowPlusMarginInWholeMilliseconds) {
  EXPECT_EQ(QueueLifetime(absl::Seconds(1), {}), absl::Seconds(121));
  EXPECT_EQ(QueueLifetime(absl::Hours(1), {}), absl::Minutes(71));
  EXPECT_EQ(QueueLifetime(absl::Seconds(1), {.margin = absl::Microseconds(60'000'001)}),
            absl::Milliseconds(121'001));
}

TEST(ValidateLease, LimitsDelayPlusWindowPlusMarginToTenYears) {
  const absl::Duration longest = kMaxQueueLifetime - absl::Minutes(11);
  EXPECT_TRUE(ValidateLease(longest, {}).ok());
  const absl::Status status = ValidateLease(longest + absl::Milliseconds(1), {}, "max_retry_after");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith("max_retry_after must be at most 87599h49m,"),
                    HasSubstr("but is 87599h49m0.001s")));
  EXPECT_FALSE(ValidateLease(absl::InfiniteDuration(), {}).ok());
}

}  // namespace retryq::delay_queue_options_test
