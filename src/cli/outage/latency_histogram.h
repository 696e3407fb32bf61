#ifndef RETRYQ_CLI_OUTAGE_LATENCY_HISTOGRAM_H_
#define RETRYQ_CLI_OUTAGE_LATENCY_HISTOGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace retryq::cli {

// Stores millions of latencies in a few kilobytes: exact below 256 ms, with an error of less than
// one per cent above; the longest is exact.
class LatencyHistogram {
 public:
  void Add(absl::Duration latency);

  // The latency that this part of all (above 0, up to 1) does not exceed, rounded down. Zero
  // without latencies.
  absl::Duration Quantile(double part) const;

  absl::Duration longest() const { return longest_; }
  std::uint64_t count() const { return count_; }

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  absl::Duration longest_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_LATENCY_HISTOGRAM_H_
