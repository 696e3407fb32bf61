#ifndef RETRYQ_CLI_WORK_OPTIONS_H_
#define RETRYQ_CLI_WORK_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "retryq/client.h"
#include "retryq/consumer.h"

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
  bool verbose = false;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORK_OPTIONS_H_
