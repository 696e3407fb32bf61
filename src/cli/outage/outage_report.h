#ifndef RETRYQ_CLI_OUTAGE_OUTAGE_REPORT_H_
#define RETRYQ_CLI_OUTAGE_OUTAGE_REPORT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace retryq::cli {

// The result of a simulated outage. A call is an attempt of a message, which calls the downstream.
struct OutageReport {
  // A period of time.
  struct Sample {
    absl::Duration begin;
    std::uint64_t calls = 0;
    std::uint64_t failures = 0;       // of these calls
    std::uint64_t most_calls = 0;     // in the second with the most
    std::uint64_t most_failures = 0;  // in the second with the most
    std::uint64_t waiting = 0;        // most messages that wait for their next attempt
    std::uint64_t parked = 0;         // messages parked from the start to its end
    std::uint64_t delay_queues = 0;   // on the broker at its end
  };

  absl::Duration outage_begin;
  absl::Duration outage_end;
  absl::Duration end;       // of the simulation
  absl::Duration interval;  // the length of a sample
  std::vector<Sample> samples;

  std::uint64_t arrived = 0;
  std::uint64_t handled = 0;
  std::uint64_t parked = 0;
  std::uint64_t waiting = 0;  // at the end
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;

  // Calls in the second with the most calls: until the outage ends, and after it.
  std::uint64_t most_calls_until_end = 0;
  std::uint64_t most_calls_after = 0;

  std::uint64_t waiting_at_outage_end = 0;
  std::uint64_t most_waiting = 0;
  std::uint64_t most_delay_queues = 0;  // of all samples
  std::uint64_t most_attempts = 0;      // of one message

  // The time from the outage's end until all messages are handled or parked that failed because of
  // it or because of the load after it. Not set if that did not happen.
  std::optional<absl::Duration> recovery;

  // The time from the arrival of a message until it was handled, for handled messages.
  absl::Duration latency_p50;
  absl::Duration latency_p99;
  absl::Duration latency_max;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_OUTAGE_REPORT_H_
