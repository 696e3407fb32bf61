#include "cli/outage/queue_lifetimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retryq::cli {
namespace queue_lifetimes_test {

using ::testing::ElementsAre;

// Seconds.
std::vector<absl::Duration> At(const std::vector<int>& seconds) {
  std::vector<absl::Duration> times;
  for (const int second : seconds) times.push_back(absl::Seconds(second));
  return times;
}

const std::vector<absl::Duration> kTtls = {absl::Milliseconds(1), absl::Milliseconds(20),
                                           absl::Seconds(1), absl::Seconds(10)};

// Queues live for 1 s, or 10 s, and 2 minutes.
TEST(QueueLifetimes, AQueueLivesFromItsFirstUseUntilItsLeaseIsOver) {
  QueueLifetimes queues(kTtls, {});
  queues.Use(absl::Seconds(5), absl::Seconds(1));
  queues.Use(absl::Seconds(7), absl::Seconds(1));
  EXPECT_THAT(queues.Count(At({4, 5, 127, 128})), ElementsAre(0, 1, 1, 0));
}

TEST(QueueLifetimes, AQueueThatIsGoneComesAgain) {
  QueueLifetimes queues(kTtls, {});
  queues.Use(absl::Seconds(0), absl::Seconds(1));
  queues.Use(absl::Seconds(200), absl::Seconds(1));
  EXPECT_THAT(queues.Count(At({120, 121, 199, 200, 320, 321})), ElementsAre(1, 0, 0, 1, 1, 0));
}

TEST(QueueLifetimes, UsesMayComeInAnyOrder) {
  QueueLifetimes queues(kTtls, {});
  for (const int second : {500, 0, 250, 120, 121, 371}) {
    queues.Use(absl::Seconds(second), absl::Seconds(1));
  }
  EXPECT_THAT(queues.Count(At({0, 241, 242, 249, 250, 620, 621})),
              ElementsAre(1, 1, 0, 0, 1, 1, 0));
}

// 11.025 s goes through 10 s and 1 s and 20 ms; 5 ms the consumer waits for itself.
TEST(QueueLifetimes, ADelayMayGoThroughSeveral) {
  QueueLifetimes queues(kTtls, {});
  queues.Use(absl::ZeroDuration(), absl::Milliseconds(11'025));
  EXPECT_THAT(queues.Count(At({0, 9, 10, 11, 129, 130, 131, 132})),
              ElementsAre(1, 1, 2, 3, 3, 2, 1, 0));
}

TEST(QueueLifetimes, AVeryShortDelayStillGoesThroughAQueue) {
  QueueLifetimes queues(kTtls, {});
  queues.Use(absl::ZeroDuration(), absl::Milliseconds(3));
  EXPECT_THAT(queues.Count(At({0})), ElementsAre(1));
}

// Epochs of 1 s and five minutes; each queue lives for two of them from its first use, and up to a
// second.
TEST(QueueLifetimes, QuorumQueuesTakeTurns) {
  QueueLifetimes queues(kTtls, {.queue_type = QueueType::kQuorum, .outage = absl::Minutes(5)});
  queues.Use(absl::Seconds(200), absl::Seconds(1));
  queues.Use(absl::Seconds(100), absl::Seconds(1));
  queues.Use(absl::Seconds(302), absl::Seconds(1));
  queues.Use(absl::Seconds(650), absl::Seconds(1));
  EXPECT_THAT(queues.Count(At({99, 100, 301, 302, 650, 705, 910, 1255})),
              ElementsAre(0, 1, 1, 2, 3, 2, 1, 0));
}

TEST(QueueLifetimes, QueuesThatNobodyDeclaresAreAlwaysThere) {
  QueueLifetimes queues(kTtls, {.declare = false});
  queues.Use(absl::Seconds(5), absl::Seconds(1));
  EXPECT_THAT(queues.Count(At({0, 5, 10'000})), ElementsAre(1, 1, 1));
}

}  // namespace queue_lifetimes_test
}  // namespace retryq::cli
