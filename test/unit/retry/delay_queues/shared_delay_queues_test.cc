// How many delay queues many work queues need, in a simulated RabbitMQ.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "retryq/client.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"

namespace retryq {
namespace shared_delay_queues_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SharedDelayQueues, AThousandWorkQueuesNeedOneQueuePerDistinctDelay) {
  constexpr int kQueues = 1000;
  testing::SimulatedTime time;
  testing::SeededRandom random(1);
  testing::SimulatedRabbitMq rabbit(time, random);
  testing::SimulatedBroker broker(rabbit);
  Client client(testing::EnvironmentOf(time, random), broker, {},
                [](const absl::Status& fatal) { ADD_FAILURE() << fatal; });
  std::map<std::string, int> calls;
  std::vector<Consumer> consumers;
  for (int i = 0; i < kQueues; ++i) {
    const std::string queue = "work." + std::to_string(i);
    rabbit.DeclareQueue(queue);
    auto consumer = client.Consume({.queue = queue, .retry = {.max_attempts = 5}},
                                   [&calls](const Delivery& delivery) -> Outcome {
                                     ++calls[std::string(delivery.queue())];
                                     EXPECT_EQ(delivery.body(), delivery.queue());
                                     if (delivery.attempt() == 4) return Outcome::Ok();
                                     return absl::UnavailableError("down");
                                   });
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    consumers.push_back(*std::move(consumer));
    rabbit.Publish("", queue, {.message_id = queue}, queue);
  }
  time.Advance(absl::Minutes(1));

  std::vector<std::string> delay_queues;
  for (const std::string& queue : rabbit.queues()) {
    if (queue.starts_with("retry.")) delay_queues.push_back(queue);
  }
  EXPECT_THAT(delay_queues, ElementsAre("retry.1000", "retry.2000", "retry.4000", "retry.8000"));
  EXPECT_EQ(calls.size(), static_cast<std::size_t>(kQueues));
  EXPECT_TRUE(
      std::all_of(calls.begin(), calls.end(), [](const auto& queue) { return queue.second == 5; }));
  EXPECT_THAT(rabbit.let_go(), IsEmpty());
}

// 40 messages of "doomed" come due that no queue takes; those of "innocent" need the same delay.
class DelayQueuesBeside : public ::testing::Test {
 protected:
  static constexpr int kUndeliverable = 40;

  DelayQueuesBeside() {
    for (const std::string queue : {"doomed", "innocent"}) {
      rabbit_.DeclareQueue(queue, {{"x-queue-type", "quorum"}});
    }
    time_.Advance(absl::Seconds(10));
  }

  void Use(const DelayQueueOptions& options) {
    broker_.emplace(rabbit_);
    client_.emplace(testing::EnvironmentOf(time_, random_), *broker_,
                    ClientOptions{.delay_queues = options},
                    [](const absl::Status& fatal) { ADD_FAILURE() << fatal; });
  }

  Consumer Consume(const std::string& queue) {
    absl::StatusOr<Consumer> consumer =
        client_->Consume({.queue = queue, .retry = {.backoff = {.base = absl::Seconds(5)}}},
                         [this](const Delivery& delivery) -> Outcome {
                           if (delivery.queue() == "doomed" || delivery.attempt() == 0) {
                             return absl::UnavailableError("down");
                           }
                           ++handled_;
                           return Outcome::Ok();
                         });
    EXPECT_TRUE(consumer.ok()) << consumer.status();
    return *std::move(consumer);
  }

  // How many of ten innocent messages are handled within a minute.
  int Live(const DelayQueueOptions& options) {
    Use(options);
    std::optional<Consumer> doomed = Consume("doomed");
    const Consumer innocent = Consume("innocent");
    for (int i = 0; i < kUndeliverable; ++i) rabbit_.Publish("", "doomed");
    time_.Advance(absl::Seconds(4));
    doomed.reset();
    time_.Advance(absl::Milliseconds(100));
    rabbit_.DeleteQueue("doomed");
    time_.Advance(absl::Seconds(10));
    for (int i = 0; i < 10; ++i) rabbit_.Publish("", "innocent");
    time_.Advance(absl::Minutes(1));
    return handled_;
  }

  std::vector<std::string> DelayQueueNames() const {
    std::vector<std::string> names = rabbit_.queues();
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("retry."); });
    for (std::string& name : names) name.resize(name.rfind(".q"));  // whatever the epoch
    return names;
  }

  testing::SimulatedTime time_;
  testing::SeededRandom random_{1};
  testing::SimulatedRabbitMq rabbit_{time_, random_};
  std::optional<testing::SimulatedBroker> broker_;
  std::optional<Client> client_;
  int handled_ = 0;
};

TEST_F(DelayQueuesBeside, AreNotBlockedByADeletedWorkQueue) {
  EXPECT_EQ(Live({.queue_type = QueueType::kQuorum}), 10);
  EXPECT_THAT(DelayQueueNames(), ElementsAre("retry.5000.doomed", "retry.5000.innocent"));
}

// The price of `share` (F37).
TEST_F(DelayQueuesBeside, AreBlockedIfTheyAreShared) {
  EXPECT_EQ(Live({.queue_type = QueueType::kQuorum, .share = true}), 0);
  EXPECT_THAT(DelayQueueNames(), ElementsAre("retry.5000"));
}

TEST_F(DelayQueuesBeside, BelongToTheTargetOfADelayedPublish) {
  rabbit_.DeclareExchange("work", "fanout");
  rabbit_.Bind("work", "innocent");
  Use({.queue_type = QueueType::kQuorum});
  const PublishOptions in_a_second{.delay = absl::Seconds(1)};
  int published = 0;
  const auto count = [&published](const absl::Status& status) { published += status.ok() ? 1 : 0; };
  client_->Publish({.routing_key = "innocent"}, in_a_second, count);
  client_->Publish({.exchange = "work", .routing_key = "any"}, in_a_second, count);
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(published, 2);
  EXPECT_EQ(rabbit_.Count("innocent"), 2U);
  EXPECT_THAT(DelayQueueNames(),
              ElementsAre("retry.1000.exchange.work.key.any", "retry.1000.innocent"));
}

// As a routing key that has become a dead end holds up what has the same key (F37).
TEST_F(DelayQueuesBeside, OfAnExchangeServeOneRoutingKeyEach) {
  rabbit_.DeclareExchange("work", "topic");
  rabbit_.DeclareQueue("gone");
  rabbit_.Bind("work", "innocent", "fine");
  rabbit_.Bind("work", "gone", "gone");
  Use({.queue_type = QueueType::kQuorum});
  const PublishOptions in_a_second{.delay = absl::Seconds(1)};
  const auto publish = [&](const std::string& key) {
    client_->Publish({.exchange = "work", .routing_key = key}, in_a_second, [](const auto&) {});
  };
  for (int i = 0; i < 40; ++i) publish("gone");
  time_.Advance(absl::Milliseconds(500));
  rabbit_.DeleteQueue("gone");
  time_.Advance(absl::Seconds(5));
  publish("fine");
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(rabbit_.Count("innocent"), 1U);
}

// Names of quorum queues stay in the broker's memory for ever (F7).
TEST_F(DelayQueuesBeside, OfAnExchangeServeALimitedNumberOfRoutingKeys) {
  rabbit_.DeclareExchange("work", "fanout");
  rabbit_.Bind("work", "innocent");
  Use({.queue_type = QueueType::kQuorum});
  const auto publish = [&](int key, const PublishOptions& options) {
    absl::Status published = absl::UnknownError("no answer");
    client_->Publish({.exchange = "work", .routing_key = absl::StrCat(key)}, options,
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

// What an older client has left in shared queues.
TEST_F(DelayQueuesBeside, LetMessagesInSharedQueuesReturnByThemselves) {
  Use({.queue_type = QueueType::kQuorum, .share = true});
  std::optional<Consumer> older = Consume("innocent");
  for (int i = 0; i < 10; ++i) rabbit_.Publish("", "innocent");
  time_.Advance(absl::Seconds(4));
  older.reset();
  client_.reset();
  Use({.queue_type = QueueType::kQuorum});
  const Consumer newer = Consume("innocent");
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(handled_, 10);
  EXPECT_THAT(DelayQueueNames(), ElementsAre("retry.5000"));
}

}  // namespace shared_delay_queues_test
}  // namespace retryq
