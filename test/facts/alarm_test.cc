// The effect of a memory alarm on connections.

#include "facts/private_broker_facts_test.h"

namespace retryq::testing::alarm_test {

class AlarmFacts : public PrivateBrokerFacts {};

TEST_F(AlarmFacts, F18AnAlarmBlocksOnlyPublishingConnectionsAndStopsReadingThem) {
  Declare("work", "classic");
  Asker consumer(loop_, vhost_.Url());
  ASSERT_TRUE(asker_.PublishMany("work", 2));
  consumer.Consume("work", 2);
  broker_->RaiseAlarm();
  // The broker reports the alarm when it reads a publish.
  bool confirmed = false;
  asker_.channel().Publish({.routing_key = "work"},
                           [&](const PublishResult& /*result*/) { confirmed = true; });
  ASSERT_TRUE(Eventually([&] { return asker_.blocked(); }));
  bool answered = false;
  asker_.channel().CheckExchange("amq.direct", [&](const auto& /*answer*/) { answered = true; });
  EXPECT_TRUE(Throughout(absl::Seconds(2), [&] { return !answered; }));
  EXPECT_FALSE(consumer.blocked());
  EXPECT_TRUE(consumer.DeclareQueue({.name = "work", .passive = true}).ok());

  broker_->ClearAlarm();
  EXPECT_TRUE(Eventually([&] { return answered && confirmed && !asker_.blocked(); }));
}

}  // namespace retryq::testing::alarm_test
