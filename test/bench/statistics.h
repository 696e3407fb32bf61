#ifndef RETRYQ_TEST_BENCH_STATISTICS_H_
#define RETRYQ_TEST_BENCH_STATISTICS_H_

#include <vector>

namespace retryq::bench {

// Of at least one value; of an even number of them, the mean of the middle two.
double Median(std::vector<double> values);

// The value below which so large a part of the values lies, 0 to 1. At least one value.
double Quantile(std::vector<double> values, double part);

struct Interval {
  double from;
  double to;
};

// Where the median would lie with a probability of 95 %, could the same be measured again and
// again: by bootstrap, from resampled rounds. The same for the same values. At least one value.
Interval MedianInterval(const std::vector<double>& values);

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_STATISTICS_H_
