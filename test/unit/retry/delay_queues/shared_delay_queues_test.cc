// The number of delay queues of many work queues, in a simulated RabbitMQ.

#include "support/simulated_world.h"
#include "support/test.h"

namespace retryq::shared_delay_queues_test {

using testing::SimulatedProcess;

// Quorum delay queues, for a quorum work queue.
class DelayQueuesBeside : public ::testing::Test, protected testing::SimulatedWorld {
 protected:
  DelayQueuesBeside() {
    rabbit_.DeclareQueue("unaffected", {{"x-queue-type", "quorum"}});
    time_.Advance(absl::Seconds(10));
  }

  std::vector<std::string> DelayQueueNames() const {
    std::vector<std::string> names = rabbit_.queues();
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("retry."); });
    for (std::string& name : names) name = name.substr(0, name.rfind(".q"));  // whatever the epoch
    return names;
  }

  SimulatedProcess& process_ =
      Start({.client = {.delay_queues = {.queue_type = QueueType::kQuorum}}});
};

TEST_F(DelayQueuesBeside, BelongToTheTargetOfADelayedPublish) {
  rabbit_.DeclareExchange("work", "fanout");
  rabbit_.Bind("work", "unaffected");
  const PublishOptions in_a_second{.delay = absl::Seconds(1)};
  int published = 0;
  const auto count = [&published](const absl::Status& status) { published += status.ok() ? 1 : 0; };
  process_.client->Publish({.routing_key = "unaffected"}, in_a_second, count);
  process_.client->Publish({.exchange = "work", .routing_key = "any"}, in_a_second, count);
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(published, 2);
  EXPECT_EQ(rabbit_.Count("unaffected"), 2U);
  EXPECT_THAT(DelayQueueNames(),
              ElementsAre("retry.1000.exchange.work.key.any", "retry.1000.unaffected"));
}

// Names of quorum queues stay in the broker's memory forever (F7).
TEST_F(DelayQueuesBeside, OfAnExchangeServeALimitedNumberOfRoutingKeys) {
  rabbit_.DeclareExchange("work", "fanout");
  rabbit_.Bind("work", "unaffected");
  const auto publish = [&](int key, const PublishOptions& options) {
    absl::Status published = absl::UnknownError("no answer");
    process_.client->Publish({.exchange = "work", .routing_key = absl::StrCat(key)}, options,
                             [&published](const absl::Status& status) { published = status; });
    time_.Advance(absl::Seconds(3));
    return published;
  };
  const PublishOptions in_a_second{.delay = absl::Seconds(1)};
  for (int key = 0; key < 256; ++key) ASSERT_EQ(publish(key, in_a_second), absl::OkStatus());
  const absl::Status refused = publish(256, in_a_second);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("256"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("remedy"));
  EXPECT_EQ(publish(0, in_a_second), absl::OkStatus());
  EXPECT_EQ(publish(256, {}), absl::OkStatus());
}

}  // namespace retryq::shared_delay_queues_test
