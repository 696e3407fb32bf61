#ifndef RETRYQ_CLI_DECLARE_DECLARE_OPTIONS_H_
#define RETRYQ_CLI_DECLARE_DECLARE_OPTIONS_H_

#include "absl/time/time.h"
#include "cli/connect/broker_watch.h"
#include "retryq/client.h"
#include "retryq/work_queue.h"

namespace retryq::cli {

// What `retryq declare` is asked to do.
struct DeclareCommandOptions {
  ClientOptions client;
  WorkQueue work_queue;
  absl::Duration wait = kDefaultWait;  // for a broker that cannot be reached
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DECLARE_DECLARE_OPTIONS_H_
