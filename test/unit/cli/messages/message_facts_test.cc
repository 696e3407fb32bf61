#include "cli/messages/message_facts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "support/make_message.h"

namespace retryq::cli {
namespace message_facts_test {

using retryq::testing::MakeMessage;
using retryq::testing::MakeMessageWithHeaderBytes;

amqp::Table Past() {
  return {{"x-retry-count", std::int64_t{8}},
          {"x-retry-first-failure", std::int64_t{1'700'000'000'123}},
          {"x-retry-parked", std::int64_t{1'700'000'600'456}},
          {"x-retry-error", "no\tpaper"},
          {"x-retry-queue", "orders"},
          {"x-retry-exchange", "shop"},
          {"x-retry-routing-key", "order.placed"},
          {"x-retry-id", "5f0c"}};
}

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

amqp::MessagePtr FailedAt(absl::Time time) {
  return MakeMessage(
      {.headers = testing::Copied({{"x-retry-first-failure", absl::ToUnixMillis(time)}})});
}

TEST(MessageFilter, MatchesAllIfNothingIsSet) {
  EXPECT_TRUE(MessageFilter().empty());
  EXPECT_TRUE(MessageFilter().Matches(*MakeMessage(), kNow));
}

TEST(MessageFilter, KnowsAMessageByEitherId) {
  const auto message = MakeMessage({.properties = {.message_id = "theirs"},
                                    .headers = testing::Copied({{"x-retry-id", "ours"}})});
  EXPECT_TRUE((MessageFilter{.ids = {"other", "ours"}}).Matches(*message, kNow));
  EXPECT_TRUE((MessageFilter{.ids = {"theirs"}}).Matches(*message, kNow));
  EXPECT_FALSE((MessageFilter{.ids = {"other"}}).Matches(*message, kNow));
  EXPECT_FALSE((MessageFilter{.ids = {""}}).Matches(*MakeMessage(), kNow));
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

TEST(MessageFilter, FindsAnErrorInAnyCase) {
  const auto message = MakeMessage({.headers = testing::Copied({{"x-retry-error", "No Paper"}})});
  EXPECT_TRUE((MessageFilter{.error = "no pap"}).Matches(*message, kNow));
  EXPECT_TRUE((MessageFilter{.error = ""}).Matches(*message, kNow));
  EXPECT_FALSE((MessageFilter{.error = "papers"}).Matches(*message, kNow));
  EXPECT_FALSE((MessageFilter{.error = ""}).Matches(*MakeMessage(), kNow));
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

TEST(MessageFilter, MatchesOnlyIfAllFieldsMatch) {
  const MessageFilter filter = {.error = "paper", .headers = {{"a", "1"}, {"b", "2"}}};
  EXPECT_FALSE(filter.empty());
  EXPECT_TRUE(filter.Matches(
      *MakeMessage(
          {.headers = testing::Copied({{"x-retry-error", "paper"}, {"a", "1"}, {"b", "2"}})}),
      kNow));
  EXPECT_FALSE(filter.Matches(
      *MakeMessage({.headers = testing::Copied({{"x-retry-error", "paper"}, {"a", "1"}})}), kNow));
}

TEST(FieldNamed, ReturnsAPropertyOrAHeader) {
  const auto message = MakeMessage(
      {.properties = {.type = "paid\n"},
       .headers = amqp::Table{{"customer", std::int32_t{7}}, {"type", "of the header"}}});
  EXPECT_EQ(FieldNamed(*message, "customer"), "7");
  EXPECT_EQ(FieldNamed(*message, "type"), "paid\n");
  EXPECT_EQ(FieldNamed(*message, "nothing"), std::nullopt);
}

}  // namespace message_facts_test
}  // namespace retryq::cli
