#ifndef RETRYQ_TEST_BENCH_RATIO_PLOT_H_
#define RETRYQ_TEST_BENCH_RATIO_PLOT_H_

#include <string>
#include <vector>

#include "bench/result.h"

namespace retryq::bench {

struct RatioPlot {
  std::string file_name;  // "throughput.svg"
  std::string svg;
};

// An image for each metric of which there are ratios: a bar a line of the report, with the interval
// that the median lies in, and a mark where retryq and the baseline are equal.
std::vector<RatioPlot> RatioPlots(const Results& results);

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_RATIO_PLOT_H_
