#include "retry/delivery/message_history.h"

#include "support/make_message.h"
#include "support/test.h"

namespace retryq::message_history_test {

amqp::Table Stated() {
  return {{"x-retry-count", std::int64_t{8}},
          {"x-retry-first-failure", std::int64_t{1'700'000'000'123}},
          {"x-retry-parked", std::int64_t{1'700'000'600'456}},
          {"x-retry-error", "no\tpaper"},
          {"x-retry-queue", "orders"},
          {"x-retry-exchange", "shop"},
          {"x-retry-routing-key", "order.placed"},
          {"x-retry-id", "5f0c"}};
}

TEST(MessageHistory, IgnoresWrongValues) {
  const auto message =
      MakeMessage({.properties = {.message_id = "m"},
                   .headers = retryq::testing::Copied({{"x-retry-count", std::int64_t{-1}},
                                                       {"x-retry-first-failure", "yesterday"},
                                                       {"x-retry-parked", "today"},
                                                       {"x-retry-error", std::int64_t{7}},
                                                       {"x-retry-queue", std::string(256, 'q')},
                                                       {"x-retry-id", std::string(256, 'i')}})});
  const MessageHistory history(*message);
  EXPECT_EQ(history.id, "m");
  EXPECT_FALSE(history.attempt || history.first_failure || history.parked || history.error ||
               history.queue);
}

TEST(MessageHistory, IsOfAParkedMessageIfRetryqParkedIt) {
  EXPECT_TRUE(MessageHistory(*MakeMessage({.headers = Stated()})).is_parked());
  const amqp::Table history = Stated();
  for (const std::string missing : {"x-retry-parked", "x-retry-queue"}) {
    amqp::Table headers;
    for (const auto& [name, value] : history.fields()) {
      if (name != missing) headers.Set(name, value);
    }
    EXPECT_FALSE(MessageHistory(*MakeMessage({.headers = headers})).is_parked()) << missing;
  }
}

TEST(MessageHistory, SurvivesInvalidHeaders) {
  const auto message = MakeMessageWithHeaderBytes("\x0dx-retry-queueS\xff\xff\xff\xffq");
  EXPECT_FALSE(MessageHistory(*message).queue.has_value());
}

TEST(MessageHistory, IgnoresTheCountOfAFirstDelivery) {
  const amqp::Table headers = {{"x-delivery-count", std::int64_t{7}}};
  EXPECT_EQ(MessageHistory(*MakeMessage({.headers = headers})).returns, 0);
  const auto again = MakeMessage({.headers = headers, .redelivered = true});
  EXPECT_EQ(MessageHistory(*again).returns, 7);
}

}  // namespace retryq::message_history_test
