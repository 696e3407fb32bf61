#include "cli/parked/parked_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/make_message.h"

namespace retryq::cli {
namespace parked_copy_test {

using retryq::testing::MakeMessage;
using Purpose = ParkedCopy::Purpose;

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

TEST(ParkedCopy, ToReplayForgetsThePastButForTheId) {
  const auto message = Parked();
  const ParkedCopy copy(*message, Purpose::kReplay);
  EXPECT_EQ(Names(copy.properties()), (std::vector<std::string>{"zebra", "x-retry-id", "apple"}));
  EXPECT_EQ(copy.properties().headers->Find("apple")->bytes,
            message->properties.headers->Find("apple")->bytes);
  EXPECT_EQ(copy.properties().content_type, "text/x");
  EXPECT_EQ(copy.properties().delivery_mode, 2);
  EXPECT_FALSE(copy.properties().expiration.has_value());
  EXPECT_FALSE(copy.properties().user_id.has_value());
}

TEST(ParkedCopy, ToMoveLeavesOutOnlyWhatItMust) {
  const auto message = Parked();
  const ParkedCopy copy(*message, Purpose::kMove);
  EXPECT_EQ(Names(copy.properties()),
            (std::vector<std::string>{"zebra", "x-retry-count", "x-retry-id", "x-retry-of-another",
                                      "x-death", "x-first-death-queue", "apple"}));
  EXPECT_EQ(copy.properties().expiration, "5000");
  EXPECT_EQ(copy.properties().delivery_mode, 2);
  EXPECT_FALSE(copy.properties().user_id.has_value());
}

// One with a name behind it leads back to the one that waits for the answer.
TEST(ParkedCopy, LeavesOutAReplyToThatTheBrokerRefuses) {
  for (const Purpose purpose : {Purpose::kReplay, Purpose::kMove}) {
    const auto refused = MakeMessage({.properties = {.reply_to = "amq.rabbitmq.reply-to"}});
    EXPECT_FALSE(ParkedCopy(*refused, purpose).properties().reply_to.has_value());
    const auto named = MakeMessage({.properties = {.reply_to = "amq.rabbitmq.reply-to.g1.k"}});
    EXPECT_EQ(ParkedCopy(*named, purpose).properties().reply_to, "amq.rabbitmq.reply-to.g1.k");
  }
}

TEST(ParkedCopy, OfOneWithoutHeadersHasNone) {
  const auto message = MakeMessage();
  EXPECT_FALSE(ParkedCopy(*message, Purpose::kReplay).properties().headers.has_value());
}

}  // namespace parked_copy_test
}  // namespace retryq::cli
