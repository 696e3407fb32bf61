#include "cli/worker/child_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/make_message.h"

namespace retryq::cli {
namespace child_environment_test {

using ::retryq::testing::MakeMessage;
using ::retryq::testing::MessageParts;

Delivery MakeDelivery(const MessageParts& parts = {}) {
  return Delivery(MakeMessage(parts), std::make_shared<const std::string>("orders"),
                  {.exchange = "shop", .routing_key = "order.placed"});
}

// Fails if a name is there twice.
std::map<std::string, std::string> AsMap(const std::vector<std::string>& environment) {
  std::map<std::string, std::string> map;
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    EXPECT_TRUE(map.emplace(variable.substr(0, equals), variable.substr(equals + 1)).second)
        << variable;
  }
  return map;
}

TEST(ChildEnvironment, TellsAllAboutTheMessage) {
  const Delivery delivery =
      MakeDelivery({.properties = {.content_type = "text/plain",
                                   .content_encoding = "gzip",
                                   .priority = 3,
                                   .correlation_id = "c-1",
                                   .reply_to = "answers",
                                   .expiration = "30000",
                                   .message_id = "m-1",
                                   .timestamp = 1'700'000'000,
                                   .type = "order",
                                   .app_id = "shop"},
                    .headers = amqp::Table{
                        {"customer", "7"}, {"traceparent", "00-1-2-01"}, {"tracestate", "a=b"}}});
  auto environment = AsMap(ChildEnvironment({.delivery = delivery,
                                             .id = "id-1",
                                             .failures = 2,
                                             .last_error = "exit 3: boom",
                                             .max_attempts = 25}));
  EXPECT_EQ(environment["RETRYQ_ATTEMPT"], "2");
  EXPECT_EQ(environment["RETRYQ_MAX_ATTEMPTS"], "25");
  EXPECT_EQ(environment["RETRYQ_LAST_ERROR"], "exit 3: boom");
  EXPECT_EQ(environment["RETRYQ_ID"], "id-1");
  EXPECT_EQ(environment["RETRYQ_QUEUE"], "orders");
  EXPECT_EQ(environment["RETRYQ_EXCHANGE"], "shop");
  EXPECT_EQ(environment["RETRYQ_ROUTING_KEY"], "order.placed");
  EXPECT_EQ(environment["RETRYQ_MESSAGE_ID"], "m-1");
  EXPECT_EQ(environment["RETRYQ_CORRELATION_ID"], "c-1");
  EXPECT_EQ(environment["RETRYQ_CONTENT_TYPE"], "text/plain");
  EXPECT_EQ(environment["RETRYQ_CONTENT_ENCODING"], "gzip");
  EXPECT_EQ(environment["RETRYQ_REPLY_TO"], "answers");
  EXPECT_EQ(environment["RETRYQ_TYPE"], "order");
  EXPECT_EQ(environment["RETRYQ_APP_ID"], "shop");
  EXPECT_EQ(environment["RETRYQ_PRIORITY"], "3");
  EXPECT_EQ(environment["RETRYQ_TIMESTAMP"], "1700000000");
  EXPECT_EQ(environment["RETRYQ_EXPIRATION"], "30000");
  EXPECT_EQ(environment["RETRYQ_REDELIVERED"], "false");
  EXPECT_EQ(environment["TRACEPARENT"], "00-1-2-01");
  EXPECT_EQ(environment["TRACESTATE"], "a=b");
  EXPECT_EQ(environment["RETRYQ_HEADERS"],
            R"({"customer":"7","traceparent":"00-1-2-01","tracestate":"a=b"})");
}

TEST(ChildEnvironment, KeepsOursAndReplacesWhatWasInherited) {
  ::setenv("RETRYQ_TEST_OF_ENVIRONMENT", "kept", 1);
  ::setenv("RETRYQ_MESSAGE_ID", "of an outer message", 1);
  ::setenv("TRACEPARENT", "of another trace", 1);
  const Delivery delivery = MakeDelivery();
  auto environment = AsMap(ChildEnvironment({.delivery = delivery}));
  ::unsetenv("RETRYQ_MESSAGE_ID");
  ::unsetenv("TRACEPARENT");
  ::unsetenv("RETRYQ_TEST_OF_ENVIRONMENT");
  EXPECT_EQ(environment["RETRYQ_TEST_OF_ENVIRONMENT"], "kept");
  EXPECT_TRUE(environment.contains("RETRYQ_MESSAGE_ID"));
  EXPECT_EQ(environment["RETRYQ_MESSAGE_ID"], "");
  EXPECT_EQ(environment["TRACEPARENT"], "");
  EXPECT_EQ(environment["RETRYQ_PRIORITY"], "");
}

TEST(ChildEnvironment, ReplacesNulBytes) {
  const Delivery delivery =
      MakeDelivery({.properties = {.message_id = std::string_view("a\0b", 3)}});
  auto environment = AsMap(ChildEnvironment({.delivery = delivery}));
  EXPECT_EQ(environment["RETRYQ_MESSAGE_ID"],
            "a\xEF\xBF\xBD"
            "b");
}

TEST(ChildEnvironment, IsBoundedWhateverTheMessage) {
  const std::string long_text(1 << 20, 'x');
  const Delivery delivery = MakeDelivery({.headers = amqp::Table{{"long", long_text}}});
  const auto environment =
      ChildEnvironment({.delivery = delivery, .id = long_text, .last_error = long_text});
  for (const std::string& variable : environment) EXPECT_LE(variable.size(), kMaxVariable + 64);
}

}  // namespace child_environment_test
}  // namespace retryq::cli
