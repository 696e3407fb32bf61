#include "retryq/delivery.h"

#include "retryq/amqp/table.h"
#include "support/make_message.h"
#include "support/test.h"

namespace retryq::delivery_test {

const auto kQueue = std::make_shared<const std::string>("orders");

Delivery DeliveryOf(amqp::MessagePtr message, Delivery::History history = {}) {
  return Delivery(std::move(message), kQueue, history);
}

const char* const kHidden[] = {"x-retry-error",    "x-retry-edited",      "x-death",
                               "x-delivery-count", "x-first-death-queue", "x-last-death-reason",
                               "x-acquired-count"};

TEST(Headers, HideRetryAndDeadLetterHeaders) {
  for (const char* name : kHidden) {
    const auto message =
        MakeMessage({.headers = testing::Copied({{name, "text"}, {"tenant", "blue"}})});
    const Headers headers = DeliveryOf(message).headers();
    EXPECT_TRUE(headers.IsHidden(name)) << name;
    EXPECT_FALSE(headers.Find(name)) << name;
    EXPECT_FALSE(headers.FindString(name)) << name;
    EXPECT_EQ(headers.FindString("tenant"), "blue");
    EXPECT_EQ(*headers.Decode(), (amqp::Table{{"tenant", "blue"}})) << name;
    EXPECT_EQ(headers.all().FindString(name), "text") << name;
  }
}

TEST(Headers, HideNumbersToo) {
  const auto message = MakeMessage({.headers = testing::Copied({{"n", std::int64_t{4}}})});
  const Headers headers = DeliveryOf(message).headers();
  EXPECT_FALSE(headers.FindInt64("x-retry-count"));
  EXPECT_EQ(headers.FindInt64("n"), 4);
  EXPECT_EQ(headers.Find("n")->AsInt64(), 4);
}

TEST(Headers, ShowHeadersWithSimilarNames) {
  const auto message = MakeMessage({.headers = testing::Copied({})});
  for (const char* name :
       {"x-retries", "x-deaths", "X-Death", "x-retry", "CC", "x-first-death", "x-retry-policy"}) {
    EXPECT_FALSE(DeliveryOf(message).headers().IsHidden(name)) << name;
  }
}

TEST(Headers, ShowApplicationHeadersWithRetryNames) {
  const auto message = MakeMessage({.headers = amqp::Table{{"x-retry-count", std::int64_t{3}},
                                                           {"x-retry-queue", "orders"},
                                                           {"x-retry-id", "user-7"}}});
  const Headers headers = DeliveryOf(message).headers();
  EXPECT_EQ(headers.FindInt64("x-retry-count"), 3);
  EXPECT_EQ(headers.FindString("x-retry-queue"), "orders");
  EXPECT_EQ(headers.Decode()->fields().size(), 3U);
}

TEST(Headers, OfAMessageWithoutHeadersAreEmpty) {
  const Headers headers = DeliveryOf(MakeMessage()).headers();
  EXPECT_TRUE(headers.all().empty());
  EXPECT_FALSE(headers.Find("tenant"));
  EXPECT_TRUE(headers.Decode()->empty());
}

TEST(Headers, TooDeepToDecodeCanStillBeForwarded) {
  const std::string bytes = testing::NestedTableBytes(900);
  const auto message = testing::MakeMessageWithHeaderBytes(bytes);
  const Headers headers = DeliveryOf(message).headers();
  EXPECT_TRUE(absl::IsInvalidArgument(headers.Decode().status()));
  EXPECT_EQ(headers.all().bytes(), bytes);
}

TEST(Delivery, ShowsTheOriginalExchangeAndRoutingKey) {
  const Delivery delivery = DeliveryOf(MakeMessage({.exchange = "", .routing_key = "orders"}),
                                       {.exchange = "shop", .routing_key = "order.placed"});
  EXPECT_EQ(delivery.exchange(), "shop");
  EXPECT_EQ(delivery.routing_key(), "order.placed");
  EXPECT_EQ(delivery.queue(), "orders");
}

TEST(Delivery, ShowsItsHistory) {
  const Delivery delivery = DeliveryOf(
      MakeMessage(), {.failures = 3, .first_failure = absl::UnixEpoch(), .last_error = "down"});
  EXPECT_EQ(delivery.attempt(), 3u);
  EXPECT_EQ(delivery.first_failure(), absl::UnixEpoch());
  EXPECT_EQ(delivery.last_error(), "down");
}

TEST(Delivery, IsIdentifiedByItsRetryIdOrElseItsMessageId) {
  const auto with_message_id = MakeMessage({.properties = {.message_id = "m-1"}});
  EXPECT_EQ(DeliveryOf(with_message_id, {.id = "r-1"}).id(), "r-1");
  EXPECT_EQ(DeliveryOf(with_message_id).id(), "m-1");
  EXPECT_EQ(DeliveryOf(MakeMessage()).id(), "");
}

TEST(Delivery, CopiesShareTheBuffer) {
  auto first = std::make_unique<Delivery>(DeliveryOf(MakeMessage({.body = "hello"})));
  const Delivery second = *first;
  EXPECT_EQ(second.body().data(), first->body().data());
  first.reset();
  EXPECT_EQ(second.body(), "hello");
}

}  // namespace retryq::delivery_test
