#include <gtest/gtest.h>

#include "retry/delivery/delivery_facts.h"

namespace retryq {
namespace remaining_delay_test {

absl::Duration Left(std::optional<absl::Duration> remaining, std::optional<absl::Duration> to_go) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  Delivery::History history{.remaining = remaining};
  if (to_go) history.not_before = now + *to_go;
  return RemainingDelay(history, now);
}

TEST(RemainingDelay, IsZeroForMessagesOfOneDelayQueue) {
  EXPECT_EQ(Left(std::nullopt, absl::Hours(1)), absl::ZeroDuration());
}

TEST(RemainingDelay, FollowsTheClockInWholeMilliseconds) {
  EXPECT_EQ(Left(absl::Seconds(10), absl::Seconds(7)), absl::Seconds(7));
  EXPECT_EQ(Left(absl::Seconds(10), absl::Microseconds(7001)), absl::Milliseconds(8));
}

TEST(RemainingDelay, IsZeroAfterALongBacklog) {
  EXPECT_EQ(Left(absl::Hours(1), -absl::Hours(3)), absl::ZeroDuration());
  EXPECT_EQ(Left(absl::Hours(1), absl::ZeroDuration()), absl::ZeroDuration());
}

TEST(RemainingDelay, NeverExceedsThePlannedRemainder) {
  EXPECT_EQ(Left(absl::Seconds(10), absl::Hours(5)), absl::Seconds(10));
  EXPECT_EQ(Left(absl::Seconds(10), std::nullopt), absl::Seconds(10));
  EXPECT_EQ(Left(absl::ZeroDuration(), absl::Hours(5)), absl::ZeroDuration());
}

}  // namespace remaining_delay_test
}  // namespace retryq
