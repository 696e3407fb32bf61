// A delay queue that takes no more, in a simulated RabbitMQ.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "retryq/client.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "support/recorded_events.h"

namespace retryq {
namespace full_delay_queue_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RecordedEvents;

class FullDelayQueueTest : public ::testing::TestWithParam<QueueType> {};

TEST_P(FullDelayQueueTest, LeavesMessagesUnackedAndTriesAgainWithGrowingPauses) {
  constexpr int kMessages = 40;
  testing::SimulatedTime time;
  testing::SeededRandom random(1);
  RecordedEvents events;
  testing::SimulatedRabbitMq rabbit(time, random);
  testing::SimulatedBroker broker(rabbit);
  Client client(testing::EnvironmentOf(time, random, &events), broker,
                {.delay_queues = {.queue_type = GetParam(), .max_length = 10}},
                [](const absl::Status& fatal) { ADD_FAILURE() << fatal; });
  rabbit.DeclareQueue("orders");
  for (int i = 0; i < kMessages; ++i) {
    rabbit.Publish("", "orders", {.message_id = std::to_string(i)});
  }
  std::set<std::string> handled;
  const auto consumer =
      client.Consume({.queue = "orders",
                      .retry = {.backoff = {.base = absl::Minutes(1), .factor = 1}},
                      .prefetch = kMessages},
                     [&](const Delivery& delivery) -> Outcome {
                       if (delivery.attempt() == 0) return absl::UnavailableError("down");
                       handled.emplace(delivery.id());
                       return Outcome::Ok();
                     });
  ASSERT_TRUE(consumer.ok()) << consumer.status();

  time.Advance(absl::Seconds(50));
  EXPECT_EQ(rabbit.Count("orders"), kMessages - 10U);
  EXPECT_EQ(events.Count(EventKind::kRetried), 10U);
  EXPECT_THAT(events.Last(EventKind::kUnconfirmed)->error, HasSubstr("is full (10 messages)"));
  EXPECT_EQ(events.Count(EventKind::kRenamed), 0U);
  // Each of the others was tried at 0, 0.1, 0.2, 0.4 … seconds, less chance: not in a hot loop.
  const std::size_t tries = events.Count(EventKind::kUnconfirmed);
  EXPECT_GE(tries, 30U * 5U);
  EXPECT_LE(tries, 30U * 12U);

  time.Advance(absl::Minutes(20));
  EXPECT_EQ(handled.size(), static_cast<std::size_t>(kMessages));
  EXPECT_EQ(rabbit.Count("orders"), 0U);
  EXPECT_THAT(rabbit.let_go(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(OfBothTypes, FullDelayQueueTest,
                         ::testing::Values(QueueType::kClassic, QueueType::kQuorum),
                         [](const auto& instance) {
                           return instance.param == QueueType::kQuorum ? "quorum" : "classic";
                         });

}  // namespace full_delay_queue_test
}  // namespace retryq
