#ifndef RETRYQ_CLI_OUTAGE_OUTAGE_SIMULATION_H_
#define RETRYQ_CLI_OUTAGE_OUTAGE_SIMULATION_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/outage/outage_options.h"
#include "cli/outage/outage_report.h"
#include "retryq/delay_queue_options.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// The limits of a simulation, for memory (about 300 MB) and time (about 40 s).
struct SimulationLimits {
  std::uint64_t messages = 5'000'000;
  std::uint64_t calls = 100'000'000;
};

// Receives the progress of the simulation from time to time.
using SimulationProgress = std::function<void(absl::Duration simulated, std::uint64_t calls)>;

// Simulates an outage of the downstream, event by event. Each message calls the downstream as it
// arrives; failed messages wait as NextRetry decides, like in a consumer. Broker and workers are
// assumed to keep up with any load; workers with a circuit breaker up to `speed`. The options must
// be valid, as the flags make them. Returns kInvalidArgument, with the remedy, if the simulation
// becomes too large.
absl::StatusOr<OutageReport> SimulateOutage(const OutageOptions& outage, const RetryOptions& retry,
                                            const DelayQueueOptions& delay_queues,
                                            const SimulationProgress& progress = nullptr,
                                            const SimulationLimits& limits = {});

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_OUTAGE_SIMULATION_H_
