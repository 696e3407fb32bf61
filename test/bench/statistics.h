#ifndef RETRYQ_TEST_BENCH_STATISTICS_H_
#define RETRYQ_TEST_BENCH_STATISTICS_H_

#include <vector>

namespace retryq::bench {

// Needs at least one value. For an even number of values, the mean of the middle two.
double Median(std::vector<double> values);

// The smallest value that at least this part (0 to 1) of the values does not exceed. Needs at least
// one value.
double Quantile(std::vector<double> values, double part);

struct Interval {
  double from;
  double to;
};

// The 95 % confidence interval of the median, by bootstrap. Deterministic. Needs at least one
// value.
Interval MedianInterval(const std::vector<double>& values);

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_STATISTICS_H_
