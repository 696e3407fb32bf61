#include "base/header_names.h"
#include "retryq/broker/retrier.h"
#include "support/test.h"
#include "unit/retry/retrier/retrier_fixture.h"

namespace retryq::snoozed_deliveries_test {

class SnoozedDeliveries : public RetrierTest {
 protected:
  void StartSnoozing(RetrierOptions options) {
    Start(std::move(options),
          Handler([](const Delivery&) { return Outcome::Snooze(absl::Seconds(5), "later"); }));
  }

  const amqp::Value* Header(std::string_view name) { return LastPublish().headers.Find(name); }
};

TEST_F(SnoozedDeliveries, ReturnAfterTheirDelayUncounted) {
  StartSnoozing({.queue = "orders", .retry = {.max_attempts = 1}});
  Deliver({.exchange = "shop", .routing_key = "order.placed"});
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(LastPublish().routing_key, "orders");
  EXPECT_EQ(LastPublish().exchange.rfind("retry.", 0), 0U);
  EXPECT_EQ(*Header(kRetryCountHeader), amqp::Value(std::int64_t{0}));
  EXPECT_EQ(*Header(kRetryQueueHeader), amqp::Value("orders"));
  EXPECT_EQ(*Header(kRetryExchangeHeader), amqp::Value("shop"));
  EXPECT_EQ(*Header(kRetryDelayHeader), amqp::Value(std::int64_t{5'000}));
  EXPECT_NE(Header(kRetryNotBeforeHeader), nullptr);
  EXPECT_EQ(Header(kRetryFirstFailureHeader), nullptr);
  EXPECT_EQ(Header(kRetryErrorHeader), nullptr);
  EXPECT_THAT(broker_.acked, IsEmpty());

  LastPublish().Confirm();
  EXPECT_THAT(broker_.acked, ElementsAre(1));
  EXPECT_EQ(events_.Count(EventKind::kFailed), 0U);
  ASSERT_EQ(events_.Count(EventKind::kSnoozed), 1U);
  EXPECT_EQ(events_.Last(EventKind::kSnoozed)->error, "later");
  EXPECT_EQ(events_.Last(EventKind::kSnoozed)->delay, absl::Seconds(5));
}

TEST_F(SnoozedDeliveries, KeepTheFailuresThatTheyHave) {
  StartSnoozing({.queue = "orders"});
  const amqp::Table remembered = {{kRetryCountHeader.data(), std::int64_t{3}},
                                  {kRetryFirstFailureHeader.data(), std::int64_t{1'000}},
                                  {kRetryQueueHeader.data(), "orders"},
                                  {kRetryExchangeHeader.data(), "shop"},
                                  {kRetryRoutingKeyHeader.data(), "order.placed"},
                                  {kRetryErrorHeader.data(), "down"},
                                  {kRetryIdHeader.data(), "id"}};
  Deliver({.headers = remembered});
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  for (const auto& [name, value] : remembered.fields()) {
    ASSERT_NE(Header(name), nullptr) << name;
    EXPECT_EQ(*Header(name), value) << name;
  }
}

TEST_F(SnoozedDeliveries, KeepTheRedeliveriesThatTheirQueueHasCounted) {
  StartSnoozing({.queue = "orders"});
  Redeliver(2, testing::Copied({{"x-retry-count", std::int64_t{3}}}));
  ASSERT_THAT(broker_.publishes, SizeIs(1));
  EXPECT_EQ(*Header(kRetryCountHeader), amqp::Value(std::int64_t{5}));
  EXPECT_EQ(Header("x-delivery-count"), nullptr);
}

}  // namespace retryq::snoozed_deliveries_test
