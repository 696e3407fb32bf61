// How many delay queues many work queues need, in a simulated RabbitMQ.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "retryq/client.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"

namespace retryq {
namespace shared_delay_queues_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SharedDelayQueues, AThousandWorkQueuesNeedAsManyAsThereAreDistinctDelays) {
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

}  // namespace shared_delay_queues_test
}  // namespace retryq
