#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/messages/message_text.h"
#include "support/make_message.h"

namespace retryq::cli {
namespace message_facts_test {

using retryq::testing::MakeMessage;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

amqp::MessagePtr FailedAt(absl::Time time) {
  return MakeMessage(
      {.headers = testing::Copied({{"x-retry-first-failure", absl::ToUnixMillis(time)}})});
}

TEST(MessageFilter, KnowsAMessageWithoutMessageIdByItsCorrelationId) {
  const MessageFilter filter = {.ids = {"task"}};
  const amqp::Table ours = testing::Copied({{"x-retry-id", "ours"}});
  EXPECT_TRUE(filter.Matches(
      *MakeMessage({.properties = {.correlation_id = "task"}, .headers = ours}), kNow));
  EXPECT_FALSE(filter.Matches(
      *MakeMessage({.properties = {.correlation_id = "task", .message_id = "m"}, .headers = ours}),
      kNow));
}

TEST(MessageFilter, TellsOldFromNew) {
  const MessageFilter older = {.older_than = absl::Hours(1)};
  const MessageFilter newer = {.newer_than = absl::Hours(1)};
  const auto old = FailedAt(kNow - absl::Hours(1) - absl::Milliseconds(1));
  EXPECT_TRUE(older.Matches(*old, kNow));
  EXPECT_FALSE(newer.Matches(*old, kNow));
  const auto young = FailedAt(kNow - absl::Hours(1) + absl::Milliseconds(1));
  EXPECT_FALSE(older.Matches(*young, kNow));
  EXPECT_TRUE(newer.Matches(*young, kNow));
}

TEST(MessageFilter, CountsAgeFromTheTimeOfParkingIfItIsKnown) {
  const auto message =
      MakeMessage({.headers = testing::Copied(
                       {{"x-retry-first-failure", absl::ToUnixMillis(kNow - absl::Hours(30))},
                        {"x-retry-parked", absl::ToUnixMillis(kNow - absl::Minutes(1))}})});
  EXPECT_FALSE((MessageFilter{.older_than = absl::Hours(1)}).Matches(*message, kNow));
  EXPECT_TRUE((MessageFilter{.newer_than = absl::Hours(1)}).Matches(*message, kNow));
}

TEST(MessageFilter, MatchesNoAgeOfAMessageWithoutATime) {
  const auto message =
      MakeMessage({.headers = testing::Copied({{"x-retry-first-failure", "then"}})});
  EXPECT_FALSE((MessageFilter{.older_than = absl::ZeroDuration()}).Matches(*message, kNow));
  EXPECT_FALSE((MessageFilter{.newer_than = absl::Hours(1)}).Matches(*message, kNow));
}

TEST(MessageFilter, ComparesHeadersOfSomeTypes) {
  const auto message = MakeMessage({.headers = amqp::Table{{"text", "a"},
                                                           {"number", std::int16_t{-7}},
                                                           {"yes", true},
                                                           {"no", false},
                                                           {"real", 1.0}}});
  const auto has = [&](const std::string& name, const std::string& value) {
    return MessageFilter{.headers = {{name, value}}}.Matches(*message, kNow);
  };
  EXPECT_TRUE(has("text", "a"));
  EXPECT_FALSE(has("text", "A"));
  EXPECT_TRUE(has("number", "-7"));
  EXPECT_TRUE(has("yes", "true"));
  EXPECT_TRUE(has("no", "false"));
  EXPECT_FALSE(has("no", "true"));
  EXPECT_FALSE(has("real", "1"));
  EXPECT_FALSE(has("missing", ""));
}

}  // namespace message_facts_test
}  // namespace retryq::cli
