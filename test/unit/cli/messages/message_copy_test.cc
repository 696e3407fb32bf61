#include "cli/messages/message_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/make_message.h"

namespace retryq::cli {
namespace message_copy_test {

using retryq::testing::MakeMessage;
using Purpose = CopyPlan::Purpose;

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
                      .headers = amqp::Table{{"zebra", 1},
                                             {"x-retry-count", std::int64_t{8}},
                                             {"x-retry-id", "5f0c"},
                                             {"x-retry-of-another", "system"},
                                             {"x-death", amqp::Array{}},
                                             {"x-first-death-queue", "q"},
                                             {"x-delivery-count", std::int64_t{2}},
                                             {"x-acquired-count", std::int64_t{2}},
                                             {"CC", amqp::Array{"elsewhere"}},
                                             {"BCC", amqp::Array{"elsewhere"}},
                                             {"apple", amqp::Decimal{2, 110}}}});
}

TEST(MessageCopy, ToReplayForgetsThePastButForTheId) {
  const auto message = Parked();
  const MessageCopy copy(*message, {.purpose = Purpose::kReplay});
  EXPECT_EQ(Names(copy.properties()), (std::vector<std::string>{"zebra", "x-retry-id", "apple"}));
  EXPECT_EQ(copy.properties().headers->Find("apple")->bytes,
            message->properties.headers->Find("apple")->bytes);
  EXPECT_EQ(copy.properties().content_type, "text/x");
  EXPECT_EQ(copy.properties().delivery_mode, 2);
  EXPECT_FALSE(copy.properties().expiration.has_value());
  EXPECT_FALSE(copy.properties().user_id.has_value());
}

TEST(MessageCopy, ToMoveLeavesOutOnlyWhatItMust) {
  const auto message = Parked();
  const MessageCopy copy(*message, {.purpose = Purpose::kMove});
  EXPECT_EQ(Names(copy.properties()),
            (std::vector<std::string>{"zebra", "x-retry-count", "x-retry-id", "x-retry-of-another",
                                      "x-death", "x-first-death-queue", "apple"}));
  EXPECT_EQ(copy.properties().expiration, "5000");
  EXPECT_EQ(copy.properties().delivery_mode, 2);
  EXPECT_FALSE(copy.properties().user_id.has_value());
}

// One with a name behind it leads back to the one that waits for the answer.
TEST(MessageCopy, LeavesOutAReplyToThatTheBrokerRefuses) {
  for (const Purpose purpose : {Purpose::kReplay, Purpose::kMove}) {
    const auto refused = MakeMessage({.properties = {.reply_to = "amq.rabbitmq.reply-to"}});
    EXPECT_FALSE(MessageCopy(*refused, {.purpose = purpose}).properties().reply_to.has_value());
    const auto named = MakeMessage({.properties = {.reply_to = "amq.rabbitmq.reply-to.g1.k"}});
    EXPECT_EQ(MessageCopy(*named, {.purpose = purpose}).properties().reply_to,
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
  const MessageCopy copy(*message, {.purpose = Purpose::kRelease});
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
      {.purpose = Purpose::kPark, .at = absl::FromUnixMillis(7777), .work_queue = "orders"});
  EXPECT_EQ(Names(copy.properties()),
            (std::vector<std::string>{"zebra", "x-retry-count", "x-retry-first-failure",
                                      "x-retry-queue", "x-retry-exchange", "x-retry-routing-key",
                                      "x-retry-id", "x-retry-error", "x-retry-parked"}));
  EXPECT_EQ(copy.properties().headers->FindInt64("x-retry-parked"), 7777);
}

TEST(MessageCopy, ToParkGivesOneThatHasNotFailedYetWhatReplayNeeds) {
  const CopyPlan plan{.purpose = Purpose::kPark, .work_queue = "orders"};
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
  const MessageCopy edited(*message, {.purpose = Purpose::kEdit, .at = absl::FromUnixMillis(5)});
  EXPECT_EQ(Names(edited.properties()),
            (std::vector<std::string>{"zebra", "x-retry-id", "apple", "x-retry-edited"}));
  EXPECT_EQ(edited.properties().headers->FindInt64("x-retry-edited"), 5);
  const auto marked = MakeMessage({.properties = edited.properties()});
  EXPECT_EQ(MessageCopy(*marked, {.purpose = Purpose::kReplay})
                .properties()
                .headers->FindInt64("x-retry-edited"),
            5);
  const MessageCopy again(*marked, {.purpose = Purpose::kEdit, .at = absl::FromUnixMillis(6)});
  EXPECT_EQ(Names(again.properties()).size(), 4U);
  EXPECT_EQ(again.properties().headers->FindInt64("x-retry-edited"), 6);
}

TEST(MessageCopy, OfOneWithoutHeadersHasNone) {
  const auto message = MakeMessage();
  EXPECT_FALSE(
      MessageCopy(*message, {.purpose = Purpose::kReplay}).properties().headers.has_value());
}

}  // namespace message_copy_test
}  // namespace retryq::cli
