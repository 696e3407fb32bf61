#ifndef RETRYQ_CLI_PLAN_PLAN_COMMAND_H_
#define RETRYQ_CLI_PLAN_PLAN_COMMAND_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"
#include "cli/outage/outage_options.h"
#include "retryq/breaker.h"
#include "retryq/delay_queue_options.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// What `retryq plan` is asked to show.
struct PlanOptions {
  enum class Format {
    kTable,        // for people
    kJson,         // one object
    kDefinitions,  // a file for RabbitMQ to import
  };

  RetryOptions retry;
  DelayQueueOptions delay_queues;
  Format format = Format::kTable;

  // kTable and kJson: an outage to simulate, and where an SVG image of it, or of the delays, goes;
  // empty: nowhere.
  std::optional<OutageOptions> outage;
  // Beside it the same outage with this circuit breaker.
  std::optional<BreakerOptions> breaker;
  std::string svg_file;

  // The work queue, which is in the names of quorum delay queues. Empty: none in particular.
  std::string queue;

  // kDefinitions.
  std::string vhost = "/";
  std::string work_exchange;
  std::string parked_queue;             // empty: none is wanted
  std::optional<QueueType> work_queue;  // `queue` itself, so; none: it is there already
  bool any_delay = false;               // also the queues for delays that are not in the plan
};

// The arguments behind `retryq plan`, RETRYQ_URL taken into account. kInvalidArgument with all that
// is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<PlanOptions, Answer>> ParsePlan(const Arguments& arguments);

// `retryq plan`: simulates and draws what was asked for. Returns what there is to print. Says how
// far it has come where that takes long and stderr is a terminal.
absl::StatusOr<std::string> ShowPlan(const PlanOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_PLAN_COMMAND_H_
