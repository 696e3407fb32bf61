#ifndef RETRYQ_TEST_BENCH_LINE_H_
#define RETRYQ_TEST_BENCH_LINE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace retryq::bench {

// What is measured, in turns: retryq (in a line about something else, that), and what it is held
// against.
enum class Side { kBaseline, kRetryq };

// How the figures of the two sides of one round are held together.
enum class Comparison {
  kRatio,  // retryq's divided by the baseline's
  kAdded,  // retryq's less the baseline's
  kNone,   // retryq's alone; the line has no baseline
};

struct Metric {
  std::string name;  // "throughput"
  std::string unit;  // "messages/s"
  Comparison comparison = Comparison::kRatio;
};

// What each run is told.
struct Setup {
  std::size_t messages;  // to measure; lines of large messages take fewer
  std::size_t waiting;   // how many wait at once in the line about that
  std::string programs;  // the directory of the programs that are measured, with a slash
};

// One line of the report: something that is measured once a round and side.
struct Line {
  std::string name;   // on the command line: "retry-256"
  std::string title;  // "retry cycle, 256 bytes"
  std::vector<Metric> metrics;
  // One figure a metric. On the broker that RETRYQ_URL names, which is left as it was found. Throws
  // std::runtime_error where it cannot.
  std::function<std::vector<double>(Side, const Setup&)> measure;
  // Takes minutes a round, or is about something else: run only where it is named.
  bool is_extra = false;
  std::string subject = "retryq";  // what the figures are those of

  bool has_baseline() const { return metrics.front().comparison != Comparison::kNone; }
};

// The lines of all files, in their order in the report.
std::vector<Line> AllLines();

// What is in one file each.
std::vector<Line> ThroughputLines();
std::vector<Line> LatenessLines();
std::vector<Line> SharedDelayQueues();
std::vector<Line> WaitingLine();

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_LINE_H_
