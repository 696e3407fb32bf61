#ifndef RETRYQ_CLI_PLAN_DEFINITIONS_H_
#define RETRYQ_CLI_PLAN_DEFINITIONS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/plan/plan_command.h"

namespace retryq::cli {

// Delay queues for these delays in RabbitMQ's definitions format, for an import by a user with
// configure permission: queues that never expire, their exchanges and bindings, the parked queue
// and, optionally, the work queue. For workers that declare nothing (`DelayQueueOptions::declare`).
std::string Definitions(const std::vector<absl::Duration>& delays, const PlanOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_DEFINITIONS_H_
