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

// How much is simulated, which bounds memory (some 300 MB) and time (some 40 s).
struct SimulationLimits {
  std::uint64_t messages = 5'000'000;
  std::uint64_t calls = 100'000'000;
};

// Told now and then how far the simulation has come.
using SimulationProgress = std::function<void(absl::Duration simulated, std::uint64_t calls)>;

// Lives through an outage of the downstream, event by event: messages arrive, each is called for at
// once, and what fails waits as NextRetry, which consumers go by, decides. Broker and workers are
// taken to keep up, whatever comes; workers with a circuit breaker as far as `speed` allows. The
// options must be valid, as flags are once they are read. kInvalidArgument, with the remedy, where
// it becomes too large.
absl::StatusOr<OutageReport> SimulateOutage(const OutageOptions& outage, const RetryOptions& retry,
                                            const DelayQueueOptions& delay_queues,
                                            const SimulationProgress& progress = nullptr,
                                            const SimulationLimits& limits = {});

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_OUTAGE_SIMULATION_H_
