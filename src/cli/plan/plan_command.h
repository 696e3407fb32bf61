#ifndef RETRYQ_CLI_PLAN_PLAN_COMMAND_H_
#define RETRYQ_CLI_PLAN_PLAN_COMMAND_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"
#include "cli/plan/outage.h"
#include "retryq/breaker.h"
#include "retryq/delay_queue_options.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// The options of `retryq plan`.
struct PlanOptions {
  RetryOptions retry;
  DelayQueueOptions delay_queues;

  // An outage to simulate, also with this circuit breaker if there is one.
  std::optional<OutageOptions> outage;
  std::optional<BreakerOptions> breaker;

  bool json = false;
  std::string svg_file;  // an image of the outage, or of the delays; empty: none

  // The work queue, which is part of the names of quorum delay queues. Empty: no specific one.
  std::string queue;

  // Instead of all this: a file to import into RabbitMQ.
  bool definitions = false;
  std::string vhost = "/";
  std::string work_exchange;
  std::string parked_queue;             // empty: none
  std::optional<QueueType> work_queue;  // type of `queue`; not set: it exists already
  bool any_delay = false;               // also queues for delays outside the schedule
};

// Parses the arguments of `retryq plan` and RETRYQ_URL. Returns kInvalidArgument with all errors,
// one per line, each with the flag and the remedy.
absl::StatusOr<std::variant<PlanOptions, Answer>> ParsePlan(const Arguments& arguments);

// Runs `retryq plan`: simulates and draws as requested and returns the text to print.
absl::StatusOr<std::string> ShowPlan(const PlanOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_PLAN_COMMAND_H_
