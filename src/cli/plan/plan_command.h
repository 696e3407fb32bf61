#ifndef RETRYQ_CLI_PLAN_PLAN_COMMAND_H_
#define RETRYQ_CLI_PLAN_PLAN_COMMAND_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
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

// The schedule of a message that always fails.
struct Schedule {
  struct Step {
    std::uint64_t attempt;          // failures so far: RETRYQ_ATTEMPT of the next call
    absl::Duration delay;           // until that call, at most
    absl::Duration elapsed;         // from the first failure to that call
    absl::Duration shortest_delay;  // the least; `delay` without a random part
  };
  std::vector<Step> steps;
  bool ends = true;                    // otherwise repeats the last step forever
  bool is_random = false;              // delays have a random part
  std::vector<absl::Duration> delays;  // distinct longest delays, ascending
};

// `retry` must be valid. With a random part or a maximum age, the schedule contains the longest
// delays.
Schedule MakeSchedule(const RetryOptions& retry);

// The length or range of a delay: "1s", "500ms..1s".
std::string DelayText(const Schedule::Step& step);

// A schedule as an SVG image: a bar for each delay on an axis of time, with the random part in a
// lighter colour.
std::string ScheduleSvg(const Schedule& schedule);

// The delay queues that a client with a policy may use, and those that a schedule uses. The options
// must outlive it.
class PlannedQueues {
 public:
  PlannedQueues(const Schedule& schedule, const PlanOptions& options);

  // The TTLs in use: for delays through several queues, all that are short enough.
  const std::vector<absl::Duration>& used() const { return used_; }
  // Whether some delays pass through several queues.
  bool several() const { return several_; }

  // Of the first queue of a delay: its name and its x-expires.
  std::string NameFor(absl::Duration delay) const;
  absl::Duration LifetimeFor(absl::Duration delay) const;
  // The number of further queues, if none delays the message longer than necessary.
  std::size_t Further(absl::Duration delay) const;

  // Whether each work queue has its own delay queues.
  bool belong_to_one() const;
  // Whether names rotate, with up to three queues of a delay at a time.
  bool rotate() const;
  // The number of quorum queues at a time for one work queue; 0 if they are classic.
  std::int64_t most_quorum_queues() const;

 private:
  // The TTL of the first queue of a delay.
  absl::Duration First(absl::Duration delay) const;

  const PlanOptions& options_;
  const std::vector<absl::Duration> all_;
  std::vector<absl::Duration> used_;
  bool several_ = false;
};

// Delay queues for these delays in RabbitMQ's definitions format, for an import by a user with
// configure permission: queues that never expire, their exchanges and bindings, the parked queue
// and, optionally, the work queue. For workers that declare nothing (`DelayQueueOptions::declare`).
std::string Definitions(const std::vector<absl::Duration>& delays, const PlanOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_PLAN_COMMAND_H_
