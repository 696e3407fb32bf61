#include "cli/parked/parked_message.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/parked/message_fields.h"
#include "cli/parked/parked_row.h"
#include "support/make_message.h"

namespace retryq::cli {
namespace parked_message_test {

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

TEST(ParkedMessage, ReadsItsPast) {
  const auto message = MakeMessage({.properties = {.message_id = "m"}, .headers = Past()});
  const ParkedMessage parked(*message);
  EXPECT_EQ(parked.id, "5f0c");
  EXPECT_EQ(parked.attempts, 8U);
  EXPECT_EQ(parked.first_failure, absl::FromUnixMillis(1'700'000'000'123));
  EXPECT_EQ(parked.parked, absl::FromUnixMillis(1'700'000'600'456));
  EXPECT_EQ(parked.error, "no\tpaper");
  EXPECT_EQ(parked.queue, "orders");
  EXPECT_EQ(parked.exchange, "shop");
  EXPECT_EQ(parked.routing_key, "order.placed");
  EXPECT_EQ(parked.returns, 0);
}

TEST(ParkedMessage, TakesAsAbsentWhatItCannotBelieve) {
  const auto message = MakeMessage({.properties = {.message_id = "m"},
                                    .headers = amqp::Table{{"x-retry-count", std::int64_t{-1}},
                                                           {"x-retry-first-failure", "yesterday"},
                                                           {"x-retry-parked", "today"},
                                                           {"x-retry-error", std::int64_t{7}},
                                                           {"x-retry-queue", std::string(256, 'q')},
                                                           {"x-retry-id", amqp::Table{{"a", 1}}}}});
  const ParkedMessage parked(*message);
  EXPECT_EQ(parked.id, "m");
  EXPECT_FALSE(parked.attempts || parked.first_failure || parked.parked || parked.error ||
               parked.queue);
}

TEST(ParkedMessage, TakesTheCorrelationIdForAMissingId) {
  const auto celery = MakeMessage({.properties = {.correlation_id = "task"}});
  EXPECT_EQ(ParkedMessage(*celery).id, "task");
  const auto both = MakeMessage({.properties = {.correlation_id = "task", .message_id = "m"}});
  EXPECT_EQ(ParkedMessage(*both).id, "m");
}

TEST(ParkedMessage, IsOursWhereRetryqSaysThatItParkedIt) {
  EXPECT_TRUE(ParkedMessage(*MakeMessage({.headers = Past()})).is_ours());
  const amqp::Table past = Past();
  for (const std::string missing : {"x-retry-parked", "x-retry-queue"}) {
    amqp::Table headers;
    for (const auto& [name, value] : past.fields()) {
      if (name != missing) headers.Set(name, value);
    }
    EXPECT_FALSE(ParkedMessage(*MakeMessage({.headers = headers})).is_ours()) << missing;
  }
}

TEST(ParkedMessage, SurvivesHeadersThatLie) {
  const auto message = MakeMessageWithHeaderBytes("\x0dx-retry-queueS\xff\xff\xff\xffq");
  EXPECT_FALSE(ParkedMessage(*message).queue.has_value());
}

TEST(ParkedMessage, TheCountOfAFirstDeliveryIsNone) {
  const amqp::Table headers = {{"x-delivery-count", std::int64_t{7}}};
  EXPECT_EQ(ParkedMessage(*MakeMessage({.headers = headers})).returns, 0);
  const auto again = std::const_pointer_cast<amqp::Message>(MakeMessage({.headers = headers}));
  again->redelivered = true;
  EXPECT_EQ(ParkedMessage(*again).returns, 7);
}

TEST(ParkedRow, IsALineForPeople) {
  const auto message = MakeMessage({.body = "12345", .headers = Past()});
  EXPECT_EQ(
      ParkedTableRow(*message, {}),
      "2023-11-14T22:23:20Z  2023-11-14T22:13:20Z         8  orders (shop order.placed)         5  "
      "5f0c                              no\\u{9}paper");
  EXPECT_EQ(ParkedTableHead({}).find("attempts"), 44U);
  EXPECT_EQ(ParkedTableHead({}).find("error"), ParkedTableRow(*MakeMessage(), {}).size() - 1);
}

TEST(ParkedRow, ShowsMoreFields) {
  amqp::Table headers = Past();
  headers.Set("customer", std::int32_t{7});
  headers.Set("type", "of the header");
  const auto message =
      MakeMessage({.body = "1", .properties = {.type = "paid\n"}, .headers = headers});
  EXPECT_EQ(FieldNamed(*message, "customer"), "7");
  EXPECT_EQ(FieldNamed(*message, "type"), "paid\n");
  EXPECT_EQ(FieldNamed(*message, "nothing"), std::nullopt);
  const std::string row = ParkedTableRow(*message, {"customer", "type", "nothing"});
  EXPECT_NE(row.find("  7                     paid\\u{A}             -                     no"),
            std::string::npos)
      << row;
  EXPECT_EQ(ParkedTableHead({"type"}).find("type"), ParkedTableHead({}).find("error"));
}

TEST(ParkedRow, IsAnObjectForPrograms) {
  const auto message = MakeMessage({.body = "12345", .headers = Past()});
  EXPECT_EQ(
      ParkedJsonRow(*message, {}),
      R"({"id":"5f0c","parked":"2023-11-14T22:23:20.456Z","first_failure":"2023-11-14T22:13:20.123Z","attempts":8,)"
      R"("error":"no\tpaper","queue":"orders","exchange":"shop",)"
      R"("routing_key":"order.placed","bytes":5})");
  EXPECT_EQ(ParkedJsonRow(*MakeMessage({.body = ""}), {}), R"({"bytes":0})");
  const amqp::Table latin1 = {{"x-retry-error", "caf\xe9"}};
  EXPECT_EQ(ParkedJsonRow(*MakeMessage({.body = "", .headers = latin1}), {}),
            "{\"error\":\"caf\xef\xbf\xbd\",\"bytes\":0}");
}

}  // namespace parked_message_test
}  // namespace retryq::cli
