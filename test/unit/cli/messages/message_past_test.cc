#include "cli/messages/message_past.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "support/make_message.h"

namespace retryq::cli {
namespace message_past_test {

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

TEST(MessagePast, ReadsItsPast) {
  const auto message = MakeMessage({.properties = {.message_id = "m"}, .headers = Past()});
  const MessagePast past(*message);
  EXPECT_EQ(past.id, "5f0c");
  EXPECT_EQ(past.attempts, 8U);
  EXPECT_EQ(past.first_failure, absl::FromUnixMillis(1'700'000'000'123));
  EXPECT_EQ(past.parked, absl::FromUnixMillis(1'700'000'600'456));
  EXPECT_EQ(past.error, "no\tpaper");
  EXPECT_EQ(past.queue, "orders");
  EXPECT_EQ(past.exchange, "shop");
  EXPECT_EQ(past.routing_key, "order.placed");
  EXPECT_EQ(past.returns, 0);
}

TEST(MessagePast, TakesAsAbsentWhatItCannotBelieve) {
  const auto message =
      MakeMessage({.properties = {.message_id = "m"},
                   .headers = retryq::testing::Copied({{"x-retry-count", std::int64_t{-1}},
                                                       {"x-retry-first-failure", "yesterday"},
                                                       {"x-retry-parked", "today"},
                                                       {"x-retry-error", std::int64_t{7}},
                                                       {"x-retry-queue", std::string(256, 'q')},
                                                       {"x-retry-id", std::string(256, 'i')}})});
  const MessagePast past(*message);
  EXPECT_EQ(past.id, "m");
  EXPECT_FALSE(past.attempts || past.first_failure || past.parked || past.error || past.queue);
}

TEST(MessagePast, TakesTheCorrelationIdForAMissingId) {
  const auto celery = MakeMessage({.properties = {.correlation_id = "task"}});
  EXPECT_EQ(MessagePast(*celery).id, "task");
  const auto both = MakeMessage({.properties = {.correlation_id = "task", .message_id = "m"}});
  EXPECT_EQ(MessagePast(*both).id, "m");
}

TEST(MessagePast, IsParkedWhereRetryqStatesIt) {
  EXPECT_TRUE(MessagePast(*MakeMessage({.headers = Past()})).is_parked());
  const amqp::Table past = Past();
  for (const std::string missing : {"x-retry-parked", "x-retry-queue"}) {
    amqp::Table headers;
    for (const auto& [name, value] : past.fields()) {
      if (name != missing) headers.Set(name, value);
    }
    EXPECT_FALSE(MessagePast(*MakeMessage({.headers = headers})).is_parked()) << missing;
  }
}

TEST(MessagePast, SurvivesHeadersThatLie) {
  const auto message = MakeMessageWithHeaderBytes("\x0dx-retry-queueS\xff\xff\xff\xffq");
  EXPECT_FALSE(MessagePast(*message).queue.has_value());
}

TEST(MessagePast, TheCountOfAFirstDeliveryIsNone) {
  const amqp::Table headers = {{"x-delivery-count", std::int64_t{7}}};
  EXPECT_EQ(MessagePast(*MakeMessage({.headers = headers})).returns, 0);
  const auto again = std::const_pointer_cast<amqp::Message>(MakeMessage({.headers = headers}));
  again->redelivered = true;
  EXPECT_EQ(MessagePast(*again).returns, 7);
}

}  // namespace message_past_test
}  // namespace retryq::cli
