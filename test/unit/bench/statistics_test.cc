#include "bench/statistics.h"

#include "support/test.h"

namespace retryq::bench::statistics_test {

TEST(BenchStatistics, MedianIsTheMiddleValueOrTheMeanOfBothMiddleValues) {
  EXPECT_DOUBLE_EQ(Median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(Median({7}), 7);
}

TEST(BenchStatistics, QuantilesRangeFromTheMinimumToTheMaximum) {
  const std::vector<double> values = {5, 1, 4, 2, 3};
  EXPECT_DOUBLE_EQ(Quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.99), 5);
  EXPECT_DOUBLE_EQ(Quantile(values, 1), 5);
}

TEST(BenchStatistics, IntervalContainsTheMedianAndExcludesOutliers) {
  const Interval interval = MedianInterval({0.9, 1.0, 1.0, 1.01, 1.02, 1.02, 1.03, 1.1, 9.0});
  EXPECT_LE(interval.from, 1.02);
  EXPECT_GE(interval.to, 1.02);
  EXPECT_GE(interval.from, 1.0);
  EXPECT_LE(interval.to, 1.1);
}

TEST(BenchStatistics, IntervalOfEqualRoundsIsAPoint) {
  const Interval interval = MedianInterval({2, 2, 2});
  EXPECT_DOUBLE_EQ(interval.from, 2);
  EXPECT_DOUBLE_EQ(interval.to, 2);
}

}  // namespace retryq::bench::statistics_test
