#include "cli/worker/broker_checks.h"

#include <nlohmann/json.hpp>

#include "support/test.h"

namespace retryq::cli::broker_checks_test {

using ::testing::Optional;
using Kind = ReturnTrouble::Kind;
using Json = nlohmann::json;

Json Queue(Json arguments, Json policy, int ready) {
  return {{"arguments", std::move(arguments)},
          {"effective_policy_definition", std::move(policy)},
          {"messages_ready", ready},
          {"message_bytes_ready", 1000 * ready}};
}

TEST(WhyFull, NamesAReachedLimitThatRefusesMessages) {
  EXPECT_THAT(WhyFull(Queue({{"x-max-length", 5}, {"x-overflow", "reject-publish"}}, {}, 5)),
              Optional(HasSubstr("max-length 5, reject-publish")));
  EXPECT_THAT(WhyFull(Queue({}, {{"max-length", 5}, {"overflow", "reject-publish-dlx"}}, 7)),
              Optional(HasSubstr("reject-publish-dlx")));
  EXPECT_THAT(
      WhyFull(Queue({{"x-max-length-bytes", 5000}, {"x-overflow", "reject-publish"}}, {}, 5)),
      Optional(HasSubstr("max-length-bytes 5000")));
}

TEST(WhyFull, ReportsNothingIfTheQueueDropsTheOldestOrHasRoom) {
  EXPECT_EQ(WhyFull(Queue({{"x-max-length", 5}}, {}, 5)), std::nullopt);
  EXPECT_EQ(WhyFull(Queue({{"x-max-length", 5}, {"x-overflow", "drop-head"}}, {}, 5)),
            std::nullopt);
  EXPECT_EQ(WhyFull(Queue({{"x-max-length", 5}, {"x-overflow", "reject-publish"}}, {}, 4)),
            std::nullopt);
  EXPECT_EQ(WhyFull(Json::array()), std::nullopt);
}

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

TEST(TroubleIn, ReportsAPolicyThatLetsCopiesGoElsewhere) {
  const std::string why =
      WhyRedirected(Queue({}, {{"dead-letter-routing-key", "x"}}, 1), "retry.1");
  EXPECT_THAT(why, AllOf(HasSubstr("'x'"), HasSubstr("'retry.1'")));
  EXPECT_EQ(WhyRedirected(Queue({}, {{"dead-letter-exchange", "x"}}, 1), "retry.1"), "");
  EXPECT_EQ(KindOf({.redirected = why}), Kind::kRedirected);
}

TEST(TroubleIn, ReportsOnlyMessagesThatStayUndelivered) {
  EXPECT_EQ(KindOf({.undelivered = 3}), std::nullopt);
  EXPECT_EQ(KindOf({.undelivered = 3}, {.undelivered = 2}), Kind::kUndelivered);
}

}  // namespace retryq::cli::broker_checks_test
