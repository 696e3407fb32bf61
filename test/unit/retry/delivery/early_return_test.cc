#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "retry/delivery/delivery_facts.h"
#include "support/make_message.h"
#include "support/read_facts.h"

namespace retryq {
namespace early_return_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ReadHistory;

const absl::Time kDue = absl::FromUnixSeconds(1'800'000'000);

// A message that comes back from `retry.60000`, so long before it is due.
std::optional<EarlyReturn> Find(absl::Duration early, const char* reason = "expired",
                                absl::Duration remaining = absl::ZeroDuration()) {
  const amqp::Table death = {{"queue", "retry.60000"}, {"reason", reason}};
  const amqp::MessagePtr message = testing::MakeMessage(
      {.headers = testing::Copied({{"x-retry-count", std::int64_t{1}},
                                   {"x-retry-delay", std::int64_t{60'000}},
                                   {"x-retry-not-before", absl::ToUnixMillis(kDue)},
                                   {"x-retry-remaining", absl::ToInt64Milliseconds(remaining)},
                                   {"x-death", amqp::Array{amqp::Value(death)}}})});
  const Delivery delivery(message, std::make_shared<const std::string>("orders"),
                          ReadHistory(*message, "orders"));
  return FindEarlyReturn(delivery, kDue - early);
}

TEST(EarlyReturn, IsNoneInTime) {
  EXPECT_FALSE(Find(absl::ZeroDuration()).has_value());
  EXPECT_FALSE(Find(-absl::Hours(1)).has_value());
}

TEST(EarlyReturn, PutsUpWithClocksThatDifferALittle) {
  EXPECT_FALSE(Find(absl::Seconds(3)).has_value());
  EXPECT_TRUE(Find(absl::Milliseconds(3001)).has_value());
}

TEST(EarlyReturn, IsNoneFromADelayQueueThatWasOneOfSeveral) {
  EXPECT_FALSE(Find(absl::Seconds(50), "expired", absl::Seconds(50)).has_value());
  EXPECT_FALSE(Find(absl::Seconds(50), "maxlen", absl::Seconds(50)).has_value());
  EXPECT_TRUE(Find(absl::Seconds(50), "expired", absl::Seconds(40)).has_value());
}

TEST(EarlyReturn, NamesTheQueueAndTheRemedy) {
  const std::optional<EarlyReturn> early = Find(absl::Seconds(50));
  ASSERT_TRUE(early.has_value());
  EXPECT_EQ(early->delay_queue, "retry.60000");
  EXPECT_THAT(early->why,
              AllOf(HasSubstr("'retry.60000'"), HasSubstr("50s early"), HasSubstr("message-ttl"),
                    HasSubstr("list_operator_policies"), HasSubstr("clocks")));
}

TEST(EarlyReturn, TellsALengthLimitHoweverLittleItIsEarly) {
  const std::optional<EarlyReturn> early = Find(absl::Milliseconds(1), "maxlen");
  ASSERT_TRUE(early.has_value());
  EXPECT_THAT(early->why, HasSubstr("limited in length"));
}

TEST(EarlyReturn, TellsThatAMessageWasLookedAtTooOften) {
  const std::optional<EarlyReturn> early = Find(absl::Milliseconds(1), "delivery_limit");
  ASSERT_TRUE(early.has_value());
  EXPECT_THAT(early->why, AllOf(HasSubstr("'retry.60000'"), HasSubstr("looked at more often"),
                                HasSubstr("delivery-limit -1")));
}

TEST(EarlyReturn, IsNotLookedForInAMessageThatDidNotWait) {
  const amqp::MessagePtr message = testing::MakeMessage();
  EXPECT_FALSE(FindEarlyReturn(Delivery(message, std::make_shared<const std::string>("orders"),
                                        ReadHistory(*message, "orders")),
                               kDue)
                   .has_value());
}

}  // namespace early_return_test
}  // namespace retryq
