#include "retry/delivery/delivery_facts.h"
#include "support/make_message.h"
#include "support/read_facts.h"
#include "support/test.h"

namespace retryq::early_return_test {

using testing::ReadHistory;

const absl::Time kDue = absl::FromUnixSeconds(1'800'000'000);

// A message that returns from `retry.60000` this long before it is due.
std::optional<EarlyReturn> Find(absl::Duration early, const char* reason = "expired",
                                absl::Duration remaining = absl::ZeroDuration(),
                                const char* queue = "retry.60000") {
  const amqp::Table death = {{"queue", queue}, {"exchange", queue}, {"reason", reason}};
  const amqp::MessagePtr message = testing::MakeMessage(
      {.headers = testing::Copied({{"x-retry-count", std::int64_t{1}},
                                   {"x-retry-delay", std::int64_t{60'000}},
                                   {"x-retry-not-before", absl::ToUnixMillis(kDue)},
                                   {"x-retry-remaining", absl::ToInt64Milliseconds(remaining)},
                                   {"x-death", amqp::Array{amqp::Value(death)}}})});
  return FindEarlyReturn(ReadHistory(*message, "orders"), *message, kDue - early);
}

bool IsReported(const std::optional<EarlyReturn>& early) { return early && early->reported; }
absl::Duration LeftOf(const std::optional<EarlyReturn>& early) {
  return early ? early->left : absl::ZeroDuration();
}

TEST(EarlyReturn, IsEmptyIfTheMessageIsOnTime) {
  EXPECT_FALSE(Find(absl::ZeroDuration()).has_value());
  EXPECT_FALSE(Find(-absl::Hours(1)).has_value());
}

TEST(EarlyReturn, ToleratesSmallClockDifferences) {
  EXPECT_FALSE(IsReported(Find(absl::Seconds(3))));
  EXPECT_EQ(LeftOf(Find(absl::Seconds(3))), absl::ZeroDuration());
  EXPECT_TRUE(IsReported(Find(absl::Milliseconds(3001))));
}

TEST(EarlyReturn, LeavesTheRestOfTheDelay) {
  EXPECT_EQ(LeftOf(Find(absl::Seconds(50))), absl::Seconds(50));
  EXPECT_EQ(LeftOf(Find(absl::Milliseconds(999))), absl::Milliseconds(999));
  EXPECT_EQ(LeftOf(Find(absl::Seconds(3), "maxlen")), absl::Seconds(3));
  EXPECT_EQ(LeftOf(Find(absl::Seconds(30), "expired", absl::Seconds(20))), absl::Seconds(30));
  EXPECT_EQ(Find(absl::Seconds(50))->stayed, absl::Seconds(10));
}

TEST(EarlyReturn, LeavesNothingIfTheClocksMustDiffer) {
  EXPECT_EQ(LeftOf(Find(absl::Milliseconds(61'001))), absl::ZeroDuration());
  EXPECT_TRUE(IsReported(Find(absl::Hours(1))));
  EXPECT_EQ(LeftOf(Find(absl::Seconds(62), "expired", absl::Seconds(20))), absl::ZeroDuration());
}

TEST(EarlyReturn, IsEmptyForAnyOtherQueueAndForOneOfSeveralDelayQueues) {
  EXPECT_FALSE(Find(absl::Seconds(50), "expired", absl::ZeroDuration(), "orders").has_value());
  EXPECT_FALSE(Find(absl::Seconds(50), "expired", absl::ZeroDuration(), "retry.bills").has_value());
  EXPECT_FALSE(Find(absl::Seconds(50), "expired", absl::Seconds(50)).has_value());
  EXPECT_FALSE(Find(absl::Seconds(50), "maxlen", absl::Seconds(50)).has_value());
  EXPECT_TRUE(IsReported(Find(absl::Seconds(50), "expired", absl::Seconds(40))));
}

TEST(EarlyReturn, NamesTheQueueTheReasonAndTheRemedy) {
  const auto why = [](absl::Duration early, const char* reason) {
    return WhyEarly(Find(early, reason).value());
  };
  EXPECT_EQ(Find(absl::Seconds(50))->delay_queue, "retry.60000");
  EXPECT_THAT(why(absl::Seconds(50), "expired"),
              AllOf(HasSubstr("'retry.60000'"), HasSubstr("50s early"), HasSubstr("message-ttl"),
                    HasSubstr("list_operator_policies"), HasSubstr("clocks")));
  EXPECT_THAT(why(absl::Hours(1), "expired"),
              AllOf(HasSubstr("'retry.60000'"), HasSubstr("1h early"), HasSubstr("clocks agree"),
                    Not(HasSubstr("message-ttl"))));
  EXPECT_THAT(why(absl::Milliseconds(1), "maxlen"), HasSubstr("limited in length"));
  EXPECT_THAT(why(absl::Milliseconds(1), "delivery_limit"),
              AllOf(HasSubstr("'retry.60000'"), HasSubstr("read more often"),
                    HasSubstr("delivery-limit -1")));
}

TEST(EarlyReturn, IgnoresAMessageThatDidNotWait) {
  const amqp::MessagePtr message = testing::MakeMessage();
  EXPECT_FALSE(FindEarlyReturn(ReadHistory(*message, "orders"), *message, kDue).has_value());
}

}  // namespace retryq::early_return_test
