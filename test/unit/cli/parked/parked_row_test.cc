#include "cli/parked/parked_row.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "cli/messages/message_fields.h"
#include "support/make_message.h"

namespace retryq::cli {
namespace parked_row_test {

using retryq::testing::MakeMessage;

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

}  // namespace parked_row_test
}  // namespace retryq::cli
