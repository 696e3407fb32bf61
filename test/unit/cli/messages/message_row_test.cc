#include "cli/messages/message_row.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/text/json_line.h"
#include "support/make_message.h"

namespace retryq::cli {
namespace message_row_test {

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

TEST(MessageRow, IsAnObjectForPrograms) {
  const auto message = MakeMessage({.body = "12345", .headers = Past()});
  EXPECT_EQ(
      JsonLine(MessageJsonRow(*message, {})),
      R"({"id":"5f0c","parked":"2023-11-14T22:23:20.456Z","first_failure":"2023-11-14T22:13:20.123Z","attempts":8,)"
      R"("error":"no\tpaper","queue":"orders","exchange":"shop",)"
      R"("routing_key":"order.placed","bytes":5})");
  EXPECT_EQ(JsonLine(MessageJsonRow(*MakeMessage({.body = ""}), {})), R"({"bytes":0})");
  const amqp::Table latin1 = testing::Copied({{"x-retry-error", "caf\xe9"}});
  EXPECT_EQ(JsonLine(MessageJsonRow(*MakeMessage({.body = "", .headers = latin1}), {})),
            "{\"id\":\"r-1\",\"attempts\":0,\"error\":\"caf\xef\xbf\xbd\",\"queue\":\"orders\","
            "\"exchange\":\"\",\"routing_key\":\"orders\",\"bytes\":0}");
}

TEST(MessageRow, CountsTheMostFrequentFirst) {
  EXPECT_EQ(CountsText({{"a", 1}, {"b\t", 2}, {"", 1}}, "error", false),
            "   count  error\n       2  b\\u{9}\n       1  -\n       1  a\n");
  EXPECT_EQ(CountsText({{"a", 1}, {"", 2}}, "attempt", true),
            "{\"count\":2}\n{\"count\":1,\"attempt\":\"a\"}\n");
  EXPECT_EQ(CountsText({}, "error", false), "");
}

}  // namespace message_row_test
}  // namespace retryq::cli
