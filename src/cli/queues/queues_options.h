#ifndef RETRYQ_CLI_QUEUES_QUEUES_OPTIONS_H_
#define RETRYQ_CLI_QUEUES_QUEUES_OPTIONS_H_

#include <string>

#include "absl/time/time.h"
#include "cli/management/management_url.h"

namespace retryq::cli {

// What `retryq queues` is asked to show.
struct QueuesOptions {
  ManagementUrl management;
  std::string vhost = "/";
  std::string prefix = "retry";
  bool json = false;
  bool watch = false;
  absl::Duration interval = absl::Seconds(2);  // of `watch`
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_OPTIONS_H_
