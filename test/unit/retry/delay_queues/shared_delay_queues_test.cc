// The number of delay queues of many work queues, in a simulated RabbitMQ.

#include "support/simulated_world.h"
#include "support/test.h"

namespace retryq::shared_delay_queues_test {

// Quorum delay queues, for a quorum work queue.
class DelayQueuesBeside : public testing::SimulatedTest {
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

  void Use(const DelayQueueOptions& options) {
    now_ = &Start({.client = {.delay_queues = options}});
  }

  void Consume() {
    now_->Consume({.queue = "unaffected", .retry = {.backoff = {.base = absl::Seconds(5)}}},
                  [this](const Delivery& delivery) -> Outcome {
                    if (delivery.attempt() == 0) return absl::UnavailableError("down");
                    ++handled_;
                    return Outcome::Ok();
                  });
  }

  testing::SimulatedProcess* now_ = &process_;
  int handled_ = 0;
};

TEST_F(DelayQueuesBeside, BelongToTheTargetOfADelayedPublish) {
  rabbit_.DeclareExchange("work", "fanout");
  rabbit_.Bind("work", "unaffected");
  Use({.queue_type = QueueType::kQuorum});
  const PublishOptions in_a_second{.delay = absl::Seconds(1)};
  int published = 0;
  const auto count = [&published](const absl::Status& status) { published += status.ok() ? 1 : 0; };
  now_->client->Publish({.routing_key = "unaffected"}, in_a_second, count);
  now_->client->Publish({.exchange = "work", .routing_key = "any"}, in_a_second, count);
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(published, 2);
  EXPECT_EQ(rabbit_.Count("unaffected"), 2U);
  EXPECT_THAT(DelayQueueNames(),
              ElementsAre("retry.1000.exchange.work.key.any", "retry.1000.unaffected"));
}

// A routing key without a queue blocks messages with the same key (F37).
TEST_F(DelayQueuesBeside, OfAnExchangeServeOneRoutingKeyEach) {
  rabbit_.DeclareExchange("work", "topic");
  rabbit_.DeclareQueue("gone");
  rabbit_.Bind("work", "unaffected", "fine");
  rabbit_.Bind("work", "gone", "gone");
  Use({.queue_type = QueueType::kQuorum});
  const PublishOptions in_a_second{.delay = absl::Seconds(1)};
  const auto publish = [&](const std::string& key) {
    now_->client->Publish({.exchange = "work", .routing_key = key}, in_a_second,
                          [](const auto&) {});
  };
  for (int i = 0; i < 40; ++i) publish("gone");
  time_.Advance(absl::Milliseconds(500));
  rabbit_.DeleteQueue("gone");
  time_.Advance(absl::Seconds(5));
  publish("fine");
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(rabbit_.Count("unaffected"), 1U);
}

// Names of quorum queues stay in the broker's memory forever (F7).
TEST_F(DelayQueuesBeside, OfAnExchangeServeALimitedNumberOfRoutingKeys) {
  rabbit_.DeclareExchange("work", "fanout");
  rabbit_.Bind("work", "unaffected");
  Use({.queue_type = QueueType::kQuorum});
  const auto publish = [&](int key, const PublishOptions& options) {
    absl::Status published = absl::UnknownError("no answer");
    now_->client->Publish({.exchange = "work", .routing_key = absl::StrCat(key)}, options,
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

// Messages that an older client has left in shared queues.
TEST_F(DelayQueuesBeside, LetMessagesInSharedQueuesReturnByThemselves) {
  Use({.queue_type = QueueType::kQuorum, .share = true});
  Consume();
  for (int i = 0; i < 10; ++i) rabbit_.Publish("", "unaffected");
  time_.Advance(absl::Seconds(4));
  Kill(*now_);
  Use({.queue_type = QueueType::kQuorum});
  Consume();
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(handled_, 10);
  EXPECT_THAT(DelayQueueNames(), ElementsAre("retry.5000"));
}

}  // namespace retryq::shared_delay_queues_test
