#include "fault/account.h"

#include "support/test.h"

namespace retryq::fault::account_test {

constexpr absl::Time kStart = absl::FromUnixSeconds(3600);

WorkerEntry Called(std::uint64_t failures, absl::Duration after) {
  return {.act = WorkerAct::kCalled,
          .name = {.kind = Kind::kUnaffected, .number = 1},
          .at = kStart + after,
          .failures = failures};
}

TEST(FaultAccount, MeasuresLatenessFromTheEndOfTheDelay) {
  Account account;
  account.MeasureLatenessFrom(absl::UnixEpoch());
  account.Add(Called(0, absl::ZeroDuration()));
  EXPECT_FALSE(account.lateness().has_value());
  account.Add(Called(1, DelayAfter(1) + absl::Milliseconds(5)));
  EXPECT_EQ(account.lateness(), absl::Milliseconds(5));
  account.Add(Called(2, DelayAfter(1) + DelayAfter(2) + absl::Milliseconds(7)));
  EXPECT_EQ(account.lateness(), absl::Milliseconds(5)) << "the latest one counts";
}

TEST(FaultAccount, MeasuresNoLatenessOfEarlierFailures) {
  Account account;
  account.Add(Called(0, absl::ZeroDuration()));
  account.Add(Called(1, absl::Hours(1)));
  EXPECT_FALSE(account.lateness().has_value());
  account.MeasureLatenessFrom(kStart + absl::Hours(2));
  account.Add(Called(2, absl::Hours(3)));
  EXPECT_FALSE(account.lateness().has_value());
}

TEST(FaultAccount, DoesNotCountASecondCallAfterTheSameFailuresAsARetry) {
  Account account;
  account.MeasureLatenessFrom(absl::UnixEpoch());
  account.Add(Called(0, absl::ZeroDuration()));
  account.Add(Called(0, absl::Seconds(9)));
  EXPECT_FALSE(account.lateness().has_value());
}

TEST(FaultAccount, CountsHandledAndParkedMessagesAsEnded) {
  Account account;
  account.Add({.act = WorkerAct::kHandled, .name = {.number = 0}, .at = kStart});
  account.Add({.act = WorkerAct::kParked, .name = {.number = 3}, .at = kStart});
  account.Add({.act = WorkerAct::kRetried, .name = {.number = 4}, .at = kStart, .failures = 1});
  EXPECT_EQ(account.handled(), 1U);
  EXPECT_EQ(account.ended(), 2U);
  EXPECT_TRUE(account.any_parked());
}

}  // namespace retryq::fault::account_test
