#ifndef RETRYQ_TEST_BENCH_LINE_H_
#define RETRYQ_TEST_BENCH_LINE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace retryq::bench {

// The two programs that a line measures alternately: the baseline, and retryq or the other subject
// of the line.
enum class Side { kBaseline, kRetryq };

// How the figures of the two sides of one round are compared.
enum class Comparison {
  kRatio,  // retryq's figure divided by the baseline's
  kAdded,  // retryq's figure minus the baseline's
  kNone,   // only retryq's figure; the line has no baseline
};

struct Metric {
  std::string name;  // "throughput"
  std::string unit;  // "messages/s"
  Comparison comparison = Comparison::kRatio;
};

// The same for all lines.
struct Setup {
  std::size_t messages;  // to measure; lines with large messages use fewer
  std::string programs;  // directory of the measured programs, with a slash at the end
};

// One line of the report.
struct Line {
  std::string name;   // on the command line: "retry-256"
  std::string title;  // "retry cycle, 256 bytes"
  std::vector<Metric> metrics;
  // Measures one side once, on the broker that RETRYQ_URL names, and removes what it made there.
  // Returns one figure per metric. Throws std::runtime_error if that fails.
  std::function<std::vector<double>(Side, const Setup&)> measure;
  // Run only if it is named: it takes minutes per round, or its subject is not retryq.
  bool is_extra = false;
  std::string subject = "retryq";  // compared with the baseline

  bool has_baseline() const { return metrics.front().comparison != Comparison::kNone; }
};

// The lines of one file each.
std::vector<Line> ThroughputLines();
std::vector<Line> LatenessLines();
std::vector<Line> SharedDelayQueues();

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_LINE_H_
