#ifndef RETRYQ_CLI_WORKER_WORK_OPTIONS_H_
#define RETRYQ_CLI_WORKER_WORK_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/worker/metrics_server.h"
#include "retryq/client.h"
#include "retryq/consumer.h"
#include "retryq/observer.h"

namespace retryq::cli {

// What `retryq work` is asked to do.
struct WorkOptions {
  ClientOptions client;
  ConsumerOptions consumer;  // handler_threads is the number of children at once
  std::vector<std::string> command;
  absl::Duration timeout = absl::InfiniteDuration();  // of one child
  absl::Duration grace = absl::Seconds(25);           // from the first signal on
  std::string on_parked;                              // a line for /bin/sh; empty: none
  bool json = false;
  Severity log_from = Severity::kInfo;  // what matters less is not logged
  std::optional<MetricsAddress> metrics;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_WORK_OPTIONS_H_
