#include "retryq/outcome.h"

#include <gtest/gtest.h>

namespace retryq {
namespace outcome_test {

Outcome HandlerThatReturnsAStatus() { return absl::UnavailableError("down"); }

TEST(Outcome, IsMadeImplicitlyFromAStatus) {
  const Outcome outcome = HandlerThatReturnsAStatus();
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kByStatus);
  EXPECT_EQ(outcome.status(), absl::UnavailableError("down"));
}

TEST(Outcome, OkIsTheOkStatus) {
  const Outcome outcome = Outcome::Ok();
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kByStatus);
  EXPECT_TRUE(outcome.status().ok());
}

TEST(Outcome, RetryAfterKeepsDelayAndError) {
  const Outcome outcome = Outcome::RetryAfter(absl::Seconds(7), absl::UnavailableError("busy"));
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kRetryAfter);
  EXPECT_EQ(outcome.delay(), absl::Seconds(7));
  EXPECT_EQ(outcome.status(), absl::UnavailableError("busy"));
}

TEST(Outcome, ParkKeepsTheError) {
  const Outcome outcome = Outcome::Park(absl::NotFoundError("no such customer"));
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kPark);
  EXPECT_EQ(outcome.status(), absl::NotFoundError("no such customer"));
}

TEST(Outcome, RetryingOrParkingWithAnOkStatusIsAnUnknownError) {
  EXPECT_TRUE(absl::IsUnknown(Outcome::RetryAfter(absl::Seconds(1), absl::OkStatus()).status()));
  EXPECT_TRUE(absl::IsUnknown(Outcome::Park(absl::OkStatus()).status()));
}

TEST(Outcome, RequeueIsNoFailure) { EXPECT_EQ(Outcome::Requeue().kind(), Outcome::Kind::kRequeue); }

TEST(Outcome, DiscardKeepsItsReason) {
  const Outcome outcome = Outcome::Discard("sent twice");
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kDiscard);
  EXPECT_EQ(outcome.status().message(), "sent twice");
}

TEST(Outcome, SnoozeKeepsItsDelayAndReason) {
  const Outcome outcome = Outcome::Snooze(absl::Seconds(30), "closed at night");
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kSnooze);
  EXPECT_EQ(outcome.delay(), absl::Seconds(30));
  EXPECT_EQ(outcome.status().message(), "closed at night");
}

}  // namespace outcome_test
}  // namespace retryq
