#ifndef RETRYQ_TEST_BENCH_RESULT_H_
#define RETRYQ_TEST_BENCH_RESULT_H_

#include <string>
#include <vector>

#include "bench/line.h"
#include "bench/statistics.h"

namespace retryq::bench {

// The figures of one metric of a line, one per round.
struct MetricResult {
  Metric metric;
  std::vector<double> retryq;
  std::vector<double> baseline;  // empty if the line has no baseline

  // The comparison of both sides in each round, or retryq's figures if there is no baseline.
  std::vector<double> Compared() const;
};

struct LineResult {
  Line line;
  std::vector<MetricResult> metrics;
};

// The machine and the broker of the measurement.
struct Machine {
  std::string processor;
  unsigned cores;
  double load;  // of the minute before
  std::string rabbitmq;
};

// Describes this machine and the broker that RETRYQ_URL names. Throws std::runtime_error.
Machine ThisMachine();

struct Results {
  Machine machine;
  std::vector<LineResult> lines;
};

// "retry cycle, 256 bytes: throughput ratio 1.02 (CI 0.99..1.05), …", followed by the figures of
// each side.
std::string Text(const LineResult& result);
std::string Text(const Machine& machine);

// A section of FIGURES.md: a table with a row per metric.
std::string Markdown(const Results& results);

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_RESULT_H_
