#include "cli/messages/message_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/make_message.h"

namespace retryq::cli {
namespace message_copy_test {

using retryq::testing::Copied;
using retryq::testing::MakeMessage;

std::vector<std::string> Names(const amqp::Properties& properties) {
  std::vector<std::string> names;
  for (const amqp::FieldView& field : *properties.headers) names.emplace_back(field.name);
  return names;
}

amqp::MessagePtr Parked() {
  return MakeMessage({.properties = {.content_type = "text/x",
                                     .delivery_mode = 1,
                                     .expiration = "5000",
                                     .user_id = "someone"},
                      .headers = Copied({{"zebra", 1},
                                         {"x-retry-count", std::int64_t{8}},
                                         {"x-retry-id", "5f0c"},
                                         {"x-retry-of-another", "system"},
                                         {"x-death", amqp::Array{}},
                                         {"x-first-death-queue", "q"},
                                         {"x-delivery-count", std::int64_t{2}},
                                         {"x-acquired-count", std::int64_t{2}},
                                         {"CC", amqp::Array{"elsewhere"}},
                                         {"BCC", amqp::Array{"elsewhere"}},
                                         {"apple", amqp::Decimal{2, 110}}})});
}

TEST(MessageCopy, ToReplayForgetsThePastButForTheId) {
  const auto message = Parked();
  const MessageCopy copy(*message, {.path = CopyPath::kReplay});
  EXPECT_EQ(Names(copy.properties()),
            (std::vector<std::string>{"zebra", "x-retry-id", "x-retry-of-another", "apple"}));
  EXPECT_EQ(copy.properties().headers->Find("apple")->bytes,
            message->properties.headers->Find("apple")->bytes);
  EXPECT_EQ(copy.properties().content_type, "text/x");
  EXPECT_EQ(copy.properties().delivery_mode, 2);
  EXPECT_FALSE(copy.properties().expiration.has_value());
  EXPECT_FALSE(copy.properties().user_id.has_value());
}

TEST(MessageCopy, ToMoveLeavesOutOnlyWhatItMust) {
  const auto message = Parked();
  const MessageCopy copy(*message, {.path = CopyPath::kReturn});
  EXPECT_EQ(Names(copy.properties()),
            (std::vector<std::string>{"zebra", "x-retry-count", "x-retry-id", "x-retry-of-another",
                                      "x-death", "x-first-death-queue", "apple", "x-retry-queue",
                                      "x-retry-exchange", "x-retry-routing-key"}));
  EXPECT_EQ(copy.properties().expiration, "5000");
  EXPECT_EQ(copy.properties().delivery_mode, 1);
  EXPECT_FALSE(copy.properties().user_id.has_value());
}

// One with a name behind it leads back to the one that waits for the answer.
TEST(MessageCopy, LeavesOutAReplyToThatTheBrokerRefuses) {
  for (const CopyPath path : {CopyPath::kReplay, CopyPath::kReturn}) {
    const auto refused = MakeMessage({.properties = {.reply_to = "amq.rabbitmq.reply-to"}});
    EXPECT_FALSE(MessageCopy(*refused, {.path = path}).properties().reply_to.has_value());
    const auto named = MakeMessage({.properties = {.reply_to = "amq.rabbitmq.reply-to.g1.k"}});
    EXPECT_EQ(MessageCopy(*named, {.path = path}).properties().reply_to,
              "amq.rabbitmq.reply-to.g1.k");
  }
}

amqp::MessagePtr Waiting() {
  return MakeMessage({.exchange = "retry.1000",
                      .routing_key = "orders",
                      .properties = {.expiration = "5000"},
                      .headers = amqp::Table{{"zebra", 1},
                                             {"x-retry-count", std::int64_t{3}},
                                             {"x-retry-first-failure", std::int64_t{1000}},
                                             {"x-retry-queue", "orders"},
                                             {"x-retry-exchange", "shop"},
                                             {"x-retry-routing-key", "order.placed"},
                                             {"x-retry-id", "5f0c"},
                                             {"x-retry-remaining", std::int64_t{500}},
                                             {"x-retry-delay", std::int64_t{1000}},
                                             {"x-retry-not-before", std::int64_t{9000}},
                                             {"x-retry-error", "no paper"},
                                             {"x-death", amqp::Array{}},
                                             {"x-last-death-queue", "q"},
                                             {"x-delivery-count", std::int64_t{2}}}});
}

TEST(MessageCopy, ToReleaseIsTheRetryWithoutItsDelay) {
  const auto message = Waiting();
  const MessageCopy copy(*message, {.path = CopyPath::kRelease});
  EXPECT_EQ(Names(copy.properties()),
            (std::vector<std::string>{"zebra", "x-retry-count", "x-retry-first-failure",
                                      "x-retry-queue", "x-retry-exchange", "x-retry-routing-key",
                                      "x-retry-id", "x-retry-error"}));
  EXPECT_FALSE(copy.properties().expiration.has_value());
}

TEST(MessageCopy, ToParkStatesWhenAndKeepsThePast) {
  const auto message = Waiting();
  const MessageCopy copy(
      *message,
      {.path = CopyPath::kRelease, .parked = absl::FromUnixMillis(7777), .work_queue = "orders"});
  EXPECT_EQ(Names(copy.properties()),
            (std::vector<std::string>{"zebra", "x-retry-count", "x-retry-first-failure",
                                      "x-retry-queue", "x-retry-exchange", "x-retry-routing-key",
                                      "x-retry-id", "x-retry-error", "x-retry-parked"}));
  EXPECT_EQ(copy.properties().headers->FindInt64("x-retry-parked"), 7777);
}

TEST(MessageCopy, ToParkGivesOneThatHasNotFailedYetWhatReplayNeeds) {
  const CopyPlan plan{
      .path = CopyPath::kRelease, .parked = absl::UnixEpoch(), .work_queue = "orders"};
  const auto named = MakeMessage({.properties = {.message_id = "m-1"}});
  const MessageCopy copy(*named, plan);
  const amqp::TableView headers = *copy.properties().headers;
  EXPECT_EQ(headers.FindInt64("x-retry-count"), 0);
  EXPECT_EQ(headers.FindString("x-retry-queue"), "orders");
  EXPECT_EQ(headers.FindString("x-retry-exchange"), "");
  EXPECT_EQ(headers.FindString("x-retry-routing-key"), "orders");
  EXPECT_EQ(headers.FindString("x-retry-id"), "m-1");
  const auto bare = MakeMessage();
  const MessageCopy one(*bare, plan);
  const MessageCopy other(*bare, plan);
  EXPECT_EQ(one.properties().headers->FindString("x-retry-id")->size(), 32U);
  EXPECT_NE(one.properties().headers->FindString("x-retry-id"),
            other.properties().headers->FindString("x-retry-id"));
}

TEST(MessageCopy, OfAnEditedMessageIsMarkedAndStaysSo) {
  const auto message = Parked();
  const MessageCopy edited(*message, {.path = CopyPath::kEdit, .edited = absl::FromUnixMillis(5)});
  EXPECT_EQ(Names(edited.properties()),
            (std::vector<std::string>{"zebra", "x-retry-id", "x-retry-of-another", "apple",
                                      "x-retry-edited"}));
  EXPECT_EQ(edited.properties().headers->FindInt64("x-retry-edited"), 5);
  const auto marked = MakeMessage({.properties = edited.properties()});
  EXPECT_EQ(MessageCopy(*marked, {.path = CopyPath::kReplay})
                .properties()
                .headers->FindInt64("x-retry-edited"),
            5);
  const MessageCopy again(*marked, {.path = CopyPath::kEdit, .edited = absl::FromUnixMillis(6)});
  EXPECT_EQ(Names(again.properties()).size(), 5U);
  EXPECT_EQ(again.properties().headers->FindInt64("x-retry-edited"), 6);
}

// Alone it would look like the application's.
TEST(MessageCopy, ToReplayLeavesOutAnIdThatIsTheMessageId) {
  const auto message = MakeMessage(
      {.properties = {.message_id = "m-1"}, .headers = Copied({{"x-retry-id", "m-1"}})});
  EXPECT_TRUE(MessageCopy(*message, {}).properties().headers->empty());
}

TEST(MessageCopy, KeepsWhatAnApplicationHasNamedLikeOurs) {
  const auto theirs = MakeMessage({.headers = amqp::Table{{"x-retry-count", "twice"}}});
  for (const CopyPath path : {CopyPath::kReplay, CopyPath::kEdit, CopyPath::kReturn,
                              CopyPath::kRelease, CopyPath::kUnchanged, CopyPath::kDelayedFirst}) {
    EXPECT_EQ(Names(MessageCopy(*theirs, {.path = path}).properties()),
              std::vector<std::string>{"x-retry-count"});
  }
  const MessageCopy parked(*theirs, {.path = CopyPath::kRelease, .parked = absl::UnixEpoch()});
  EXPECT_EQ(parked.properties().headers->FindInt64("x-retry-count"), 0);
}

TEST(MessageCopy, OfOneWithoutHeadersHasNone) {
  const auto message = MakeMessage();
  EXPECT_FALSE(MessageCopy(*message, {.path = CopyPath::kReplay}).properties().headers.has_value());
}

}  // namespace message_copy_test
}  // namespace retryq::cli
