#include "retryq/outcome.h"

#include "support/test.h"

namespace retryq::outcome_test {

Outcome HandlerThatReturnsAStatus() { return absl::UnavailableError("down"); }

TEST(Outcome, IsMadeImplicitlyFromAStatus) {
  const Outcome outcome = HandlerThatReturnsAStatus();
  EXPECT_EQ(outcome.kind(), Outcome::Kind::kByStatus);
  EXPECT_EQ(outcome.status(), absl::UnavailableError("down"));
}

TEST(Outcome, RetryingOrParkingWithAnOkStatusIsAnUnknownError) {
  EXPECT_TRUE(absl::IsUnknown(Outcome::RetryAfter(absl::Seconds(1), absl::OkStatus()).status()));
  EXPECT_TRUE(absl::IsUnknown(Outcome::Park(absl::OkStatus()).status()));
}

}  // namespace retryq::outcome_test
