#include "cli/parked/parked_filter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "support/make_message.h"

namespace retryq::cli {
namespace parked_filter_test {

using retryq::testing::MakeMessage;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

amqp::MessagePtr FailedAt(absl::Time time) {
  return MakeMessage({.headers = amqp::Table{{"x-retry-first-failure", absl::ToUnixMillis(time)}}});
}

TEST(ParkedFilter, MatchesAllWhereNothingIsSet) {
  EXPECT_TRUE(ParkedFilter().empty());
  EXPECT_TRUE(ParkedFilter().Matches(*MakeMessage(), kNow));
}

TEST(ParkedFilter, KnowsAMessageByEitherId) {
  const auto message = MakeMessage(
      {.properties = {.message_id = "theirs"}, .headers = amqp::Table{{"x-retry-id", "ours"}}});
  EXPECT_TRUE((ParkedFilter{.ids = {"other", "ours"}}).Matches(*message, kNow));
  EXPECT_TRUE((ParkedFilter{.ids = {"theirs"}}).Matches(*message, kNow));
  EXPECT_FALSE((ParkedFilter{.ids = {"other"}}).Matches(*message, kNow));
  EXPECT_FALSE((ParkedFilter{.ids = {""}}).Matches(*MakeMessage(), kNow));
}

TEST(ParkedFilter, KnowsAMessageWithoutMessageIdByItsCorrelationId) {
  const ParkedFilter filter = {.ids = {"task"}};
  const amqp::Table ours = {{"x-retry-id", "ours"}};
  EXPECT_TRUE(filter.Matches(
      *MakeMessage({.properties = {.correlation_id = "task"}, .headers = ours}), kNow));
  EXPECT_FALSE(filter.Matches(
      *MakeMessage({.properties = {.correlation_id = "task", .message_id = "m"}, .headers = ours}),
      kNow));
}

TEST(ParkedFilter, FindsAnErrorInAnyCase) {
  const auto message = MakeMessage({.headers = amqp::Table{{"x-retry-error", "No Paper"}}});
  EXPECT_TRUE((ParkedFilter{.error = "no pap"}).Matches(*message, kNow));
  EXPECT_TRUE((ParkedFilter{.error = ""}).Matches(*message, kNow));
  EXPECT_FALSE((ParkedFilter{.error = "papers"}).Matches(*message, kNow));
  EXPECT_FALSE((ParkedFilter{.error = ""}).Matches(*MakeMessage(), kNow));
}

TEST(ParkedFilter, TellsOldFromNew) {
  const ParkedFilter older = {.older_than = absl::Hours(1)};
  const ParkedFilter newer = {.newer_than = absl::Hours(1)};
  const auto old = FailedAt(kNow - absl::Hours(1) - absl::Milliseconds(1));
  EXPECT_TRUE(older.Matches(*old, kNow));
  EXPECT_FALSE(newer.Matches(*old, kNow));
  const auto young = FailedAt(kNow - absl::Hours(1) + absl::Milliseconds(1));
  EXPECT_FALSE(older.Matches(*young, kNow));
  EXPECT_TRUE(newer.Matches(*young, kNow));
}

TEST(ParkedFilter, CountsAgeFromTheTimeOfParkingWhereThatIsKnown) {
  const auto message = MakeMessage(
      {.headers = amqp::Table{{"x-retry-first-failure", absl::ToUnixMillis(kNow - absl::Hours(30))},
                              {"x-retry-parked", absl::ToUnixMillis(kNow - absl::Minutes(1))}}});
  EXPECT_FALSE((ParkedFilter{.older_than = absl::Hours(1)}).Matches(*message, kNow));
  EXPECT_TRUE((ParkedFilter{.newer_than = absl::Hours(1)}).Matches(*message, kNow));
}

TEST(ParkedFilter, OneThatSaysNoTimeIsNeitherOldNorNew) {
  const auto message = MakeMessage({.headers = amqp::Table{{"x-retry-first-failure", "then"}}});
  EXPECT_FALSE((ParkedFilter{.older_than = absl::ZeroDuration()}).Matches(*message, kNow));
  EXPECT_FALSE((ParkedFilter{.newer_than = absl::Hours(1)}).Matches(*message, kNow));
}

TEST(ParkedFilter, ComparesHeadersOfSomeTypes) {
  const auto message = MakeMessage({.headers = amqp::Table{{"text", "a"},
                                                           {"number", std::int16_t{-7}},
                                                           {"yes", true},
                                                           {"no", false},
                                                           {"real", 1.0}}});
  const auto has = [&](const std::string& name, const std::string& value) {
    return ParkedFilter{.headers = {{name, value}}}.Matches(*message, kNow);
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

TEST(ParkedFilter, AllThatIsSetMustHold) {
  const ParkedFilter filter = {.error = "paper", .headers = {{"a", "1"}, {"b", "2"}}};
  EXPECT_FALSE(filter.empty());
  EXPECT_TRUE(filter.Matches(
      *MakeMessage({.headers = amqp::Table{{"x-retry-error", "paper"}, {"a", "1"}, {"b", "2"}}}),
      kNow));
  EXPECT_FALSE(filter.Matches(
      *MakeMessage({.headers = amqp::Table{{"x-retry-error", "paper"}, {"a", "1"}}}), kNow));
}

}  // namespace parked_filter_test
}  // namespace retryq::cli
