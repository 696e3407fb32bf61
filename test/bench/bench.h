#ifndef RETRYQ_TEST_BENCH_BENCH_H_
#define RETRYQ_TEST_BENCH_BENCH_H_

#include <functional>
#include <string>
#include <vector>

namespace retryq::bench {

// One figure: how many of something a second, in one case of a benchmark.
struct Case {
  std::string name;  // "shared_delay_queues/64"
  std::string unit;  // "retries/s"
  // Measures once, on the broker that RETRYQ_URL names. Throws std::runtime_error where it cannot.
  std::function<double()> measure;
};

// The cases of all benchmarks: a function a file, named in main.cc.
std::vector<Case> SharedDelayQueues();

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_BENCH_H_
