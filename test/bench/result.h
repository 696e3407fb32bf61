#ifndef RETRYQ_TEST_BENCH_RESULT_H_
#define RETRYQ_TEST_BENCH_RESULT_H_

#include <string>
#include <vector>

#include "bench/line.h"
#include "bench/statistics.h"

namespace retryq::bench {

// What one metric of a line came to, a value a round.
struct MetricResult {
  Metric metric;
  std::vector<double> retryq;
  std::vector<double> baseline;  // none where the metric is retryq's alone

  // Of each round, the two sides held together; retryq's alone where there is nothing to compare.
  std::vector<double> Compared() const;
};

struct LineResult {
  Line line;
  std::vector<MetricResult> metrics;
};

// What was measured where.
struct Machine {
  std::string processor;
  unsigned cores;
  double load;  // of the minute before
  std::string rabbitmq;
};

// Of this machine and the broker that the environment names. Throws std::runtime_error.
Machine ThisMachine();

struct Results {
  Machine machine;
  std::vector<LineResult> lines;
};

// A line for people: "retry cycle, 256 bytes: throughput ratio 1.02 (CI 0.99..1.05), …", and below
// it what each side came to.
std::string Text(const LineResult& result);
std::string Text(const Machine& machine);

// All of it, for programs.
std::string Json(const Results& results);

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_RESULT_H_
