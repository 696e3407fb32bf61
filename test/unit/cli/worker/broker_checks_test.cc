#include "cli/worker/broker_checks.h"

#include "support/test.h"

namespace retryq::cli::broker_checks_test {

using Kind = ReturnTrouble::Kind;

std::optional<Kind> KindOf(const ReturnState& now, const ReturnState& before = {}) {
  const std::optional<ReturnTrouble> trouble = TroubleIn(now, before, "orders");
  if (!trouble) return std::nullopt;
  EXPECT_THAT(trouble->why, HasSubstr("'orders'"));
  EXPECT_EQ(trouble->undelivered, now.undelivered);
  return trouble->kind;
}

TEST(TroubleIn, ReportsAMissingOrFullQueue) {
  EXPECT_EQ(KindOf({.exists = false}), Kind::kGone);
  EXPECT_EQ(KindOf({.full = "max-length 5, reject-publish", .undelivered = 3}), Kind::kFull);
  EXPECT_EQ(KindOf({}), std::nullopt);
}

TEST(TroubleIn, ReportsOnlyMessagesThatStayUndelivered) {
  EXPECT_EQ(KindOf({.undelivered = 3}), std::nullopt);
  EXPECT_EQ(KindOf({.undelivered = 3}, {.undelivered = 2}), Kind::kUndelivered);
}

}  // namespace retryq::cli::broker_checks_test
