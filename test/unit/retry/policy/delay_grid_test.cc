#include "retryq/broker/delay_grid.h"

#include "support/test.h"

namespace retryq::delay_grid_test {

using ::testing::Gt;

using Steps = std::vector<absl::Duration>;

// The largest number of hops of any delay shorter than `end`, however much of it passes on the way:
// after the longest step that fits, less than the gap to the next step is left.
int MostHops(const Steps& steps, absl::Duration end, std::map<absl::Duration, int>& known) {
  if (end <= DelayGrid::kShortestHop) return 0;
  if (const auto found = known.find(end); found != known.end()) return found->second;
  int most = 0;
  for (std::size_t i = 0; i < steps.size() && steps[i] < end; ++i) {
    if (steps[i] < DelayGrid::kShortestHop) continue;
    const absl::Duration next = i + 1 < steps.size() ? std::min(steps[i + 1], end) : end;
    most = std::max(most, 1 + MostHops(steps, next - steps[i], known));
  }
  return known[end] = most;
}

int MostHops(std::size_t max_delay_queues, absl::Duration end) {
  std::map<absl::Duration, int> known;
  return MostHops(DelayGrid(max_delay_queues).steps(), end, known);
}

TEST(DelayGrid, UsesHalfOfTheQueuesFromSixteenToSixtyFour) {
  EXPECT_EQ(DelayGrid(16).steps().size(), 16U);
  EXPECT_EQ(DelayGrid(33).steps().size(), 16U);
  EXPECT_EQ(DelayGrid(64).steps().size(), 32U);
  EXPECT_EQ(DelayGrid(100).steps().size(), 50U);
  EXPECT_EQ(DelayGrid(4096).steps().size(), 64U);
}

TEST(DelayGrid, UsesAllQueuesWithoutExactQueues) {
  EXPECT_EQ(DelayGrid(16, /*exact_queues=*/false).steps().size(), 16U);
  EXPECT_EQ(DelayGrid(40, /*exact_queues=*/false).steps(), DelayGrid(80).steps());
  EXPECT_EQ(DelayGrid(4096, /*exact_queues=*/false).steps().size(), 64U);
}

TEST(DelayGrid, RisesFromAMillisecondToTheLongest) {
  for (std::size_t queues = 16; queues <= 130; ++queues) {
    const Steps steps = DelayGrid(queues).steps();
    EXPECT_EQ(std::adjacent_find(steps.begin(), steps.end(), std::greater_equal<>()), steps.end());
    EXPECT_EQ(steps.front(), absl::Milliseconds(1));
    EXPECT_EQ(steps[1], DelayGrid::kShortestHop);
    EXPECT_EQ(steps.back(), DelayGrid::kLongest);
  }
}

TEST(DelayGrid, IsPartOfEveryLargerGrid) {
  for (std::size_t queues = 16; queues < 130; ++queues) {
    const Steps small = DelayGrid(queues).steps();
    const Steps large = DelayGrid(queues + 1).steps();
    EXPECT_TRUE(std::includes(large.begin(), large.end(), small.begin(), small.end())) << queues;
  }
}

TEST(DelayGrid, ContainsCommonDelays) {
  const Steps steps = DelayGrid(64).steps();
  for (const absl::Duration said :
       {absl::Milliseconds(100), absl::Milliseconds(500), absl::Seconds(1), absl::Seconds(5),
        absl::Seconds(10), absl::Seconds(30), absl::Minutes(1), absl::Minutes(5), absl::Minutes(10),
        absl::Minutes(30), absl::Hours(1), absl::Hours(12), absl::Hours(24), absl::Hours(168)}) {
    EXPECT_THAT(steps, Contains(said));
  }
}

TEST(DelayGrid, NeedsAsFewHopsAsItsTableShows) {
  EXPECT_EQ(MostHops(64, absl::Seconds(10)), 9);
  EXPECT_EQ(MostHops(64, absl::Hours(1)), 16);
  EXPECT_EQ(MostHops(64, DelayGrid::kLongest), 24);
  EXPECT_EQ(MostHops(128, absl::Hours(1)), 9);
  EXPECT_EQ(MostHops(128, DelayGrid::kLongest), 15);
  EXPECT_EQ(MostHops(16, absl::Hours(1)), 27);
  EXPECT_EQ(MostHops(16, DelayGrid::kLongest), 40);
}

TEST(DelayGrid, NeverNeedsMoreHopsWithMoreQueues) {
  for (std::size_t queues = 16; queues < 130; ++queues) {
    EXPECT_GE(MostHops(queues, DelayGrid::kLongest), MostHops(queues + 1, DelayGrid::kLongest));
  }
}

TEST(DelayGrid, RoundsUpToTheNextStep) {
  const DelayGrid grid(64);
  EXPECT_EQ(grid.RoundUp(-absl::Seconds(1)), absl::Milliseconds(1));
  EXPECT_EQ(grid.RoundUp(absl::Seconds(1)), absl::Seconds(1));
  EXPECT_EQ(grid.RoundUp(absl::Seconds(1) + absl::Nanoseconds(1)), absl::Seconds(2));
  EXPECT_EQ(grid.RoundUp(absl::Minutes(11)), absl::Minutes(15));
  EXPECT_EQ(grid.RoundUp(DelayGrid::kLongest), DelayGrid::kLongest);
  EXPECT_EQ(grid.RoundUp(DelayGrid::kLongest + absl::Milliseconds(1)), absl::InfiniteDuration());
}

TEST(DelayGrid, AddsAtMostOneAndAHalfTimesWhenRoundingUp) {
  const Steps steps = DelayGrid(64).steps();
  for (std::size_t i = 2; i < steps.size(); ++i) {
    EXPECT_THAT(absl::FDivDuration(steps[i], steps[i - 1]), AllOf(Gt(1.0), Le(2.5)));
  }
}

}  // namespace retryq::delay_grid_test
