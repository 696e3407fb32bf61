// Retrier::Wrap: retrying for programs that consume by themselves.

#include <gmock/gmock.h>

#include <memory>

#include "retryq/amqp/make_broker.h"
#include "retryq/broker/retrier.h"
#include "support/retry_test.h"

namespace retryq::testing::retry_own_broker_test {

// A consumer of the caller, which passes each delivery to the wrapped function.
class OwnConsumer final : public SubscriptionListener {
 public:
  void OnSubscribed() override {}
  void OnDelivery(amqp::MessagePtr message) override { on_delivery(std::move(message)); }
  void OnInterrupted(const absl::Status& /*why*/) override {}

  DeliveryHandler on_delivery;
};

class RetryOwnBroker : public RetryTest {
 protected:
  void SetUp() override { peer_.DeclareQueue("orders"); }
};

TEST_F(RetryOwnBroker, TheWrappedCallbackIsRetried) {
  const auto broker = amqp::MakeBroker(loop_, amqp::ParseUri(vhost_.Url()).value());
  auto shared = Retrier::Shared::Create(*broker, {.clock = &loop_.clock(),
                                                  .timers = &loop_,
                                                  .random = &loop_.random(),
                                                  .executor = loop_.executor(),
                                                  .observer = &events_});
  ASSERT_TRUE(shared.ok()) << shared.status();
  auto retrier = Retrier::Create(*std::move(shared),
                                 {.queue = "orders", .retry = Every(absl::Milliseconds(100))});
  ASSERT_TRUE(retrier.ok()) << retrier.status();

  OwnConsumer consumer;
  consumer.on_delivery = (*retrier)->Wrap(calls_.FailTimes(2));
  const auto subscription = broker->Consume({.queue = "orders"}, &consumer);
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));

  EXPECT_EQ(calls_.size(), 3U);
  EXPECT_EQ((*retrier)->open(), 0U);
  EXPECT_TRUE(vhost_.HasQueue("retry.100"));
}

}  // namespace retryq::testing::retry_own_broker_test
