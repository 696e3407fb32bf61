#ifndef RETRYQ_CLI_WORKER_WORK_COMMAND_H_
#define RETRYQ_CLI_WORKER_WORK_COMMAND_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "cli/flags/shared_flags.h"
#include "cli/worker/metrics_server.h"
#include "retryq/client.h"
#include "retryq/consumer.h"
#include "retryq/delay_queue_options.h"
#include "retryq/observer.h"

namespace retryq::cli {

// The options of `retryq work`.
struct WorkOptions {
  BrokerPlace place;
  ConsumerOptions consumer = {.prefetch = 64};  // commands are slower than functions
  std::vector<std::string> command;
  int jobs = 1;  // children at a time
  // With --lines: the messages that a child has at a time; not set: one child per message.
  std::optional<int> lines;
  absl::Duration timeout = absl::InfiniteDuration();  // of one message
  absl::Duration grace = absl::Seconds(25);           // after the first signal
  bool pass_url = false;  // passes the URLs, with their passwords, to children
  std::string on_parked;  // a command line for /bin/sh; empty: none
  bool json = false;
  Severity log_from = Severity::kInfo;  // lowest severity that is logged
  std::optional<MetricsAddress> metrics;
  std::string otlp;  // the URL to which spans are sent; empty: none are made

  const DelayQueueOptions& delay_queues() const { return place.client.delay_queues; }
};

// Moves the arguments after "--" to `*command` and returns those before it.
Arguments TakeCommand(const Arguments& arguments, Arguments* command);

// Adds the flags of a worker, for `retryq work` and `retryq doctor`. ParseInto writes their values
// to `*options`, which must outlive the parser, and checks `options->command`. --queue and the
// command may be missing. `json` is the help of --json.
void AddWorkFlags(FlagParser& parser, const std::string& json, WorkOptions* options);

Parsed<WorkOptions> ParseWork(const Arguments& arguments);

// Runs until a signal, then settles the running messages and returns ok. Returns an error if
// consuming cannot start: see Client::Consume.
absl::Status Work(const WorkOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_WORK_COMMAND_H_
