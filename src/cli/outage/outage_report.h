#ifndef RETRYQ_CLI_OUTAGE_OUTAGE_REPORT_H_
#define RETRYQ_CLI_OUTAGE_OUTAGE_REPORT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace retryq::cli {

// What happens in an outage. A call is an attempt of a message: it reaches the downstream.
struct OutageReport {
  // A stretch of time.
  struct Sample {
    absl::Duration begin;
    std::uint64_t calls = 0;
    std::uint64_t failures = 0;       // of these calls
    std::uint64_t most_calls = 0;     // in the second that had the most
    std::uint64_t most_failures = 0;  // the same
    std::uint64_t waiting = 0;        // messages that wait for their next attempt, the most
    std::uint64_t parked = 0;         // messages given up, since the beginning, at its end
    std::uint64_t delay_queues = 0;   // on the broker at its end
  };

  absl::Duration outage_begin;
  absl::Duration outage_end;
  absl::Duration end;       // of what was simulated
  absl::Duration interval;  // the length of a sample
  std::vector<Sample> samples;

  std::uint64_t arrived = 0;
  std::uint64_t handled = 0;
  std::uint64_t parked = 0;
  std::uint64_t waiting = 0;  // at the end
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;

  // Calls in the second that had the most of them: until the outage ends, and after it.
  std::uint64_t most_calls_until_end = 0;
  std::uint64_t most_calls_after = 0;

  std::uint64_t waiting_at_outage_end = 0;
  std::uint64_t most_waiting = 0;
  std::uint64_t most_delay_queues = 0;  // of all samples
  std::uint64_t most_attempts = 0;      // of one message

  // From the outage's end until all messages are handled or parked that had failed because of it,
  // or because of the load that it left behind. Nothing if that did not come to pass.
  std::optional<absl::Duration> recovery;

  // From a message's arrival to its being handled, of those that were.
  absl::Duration latency_p50;
  absl::Duration latency_p99;
  absl::Duration latency_max;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_OUTAGE_REPORT_H_
