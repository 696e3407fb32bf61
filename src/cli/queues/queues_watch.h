#ifndef RETRYQ_CLI_QUEUES_QUEUES_WATCH_H_
#define RETRYQ_CLI_QUEUES_QUEUES_WATCH_H_

#include "absl/status/status.h"
#include "cli/queues/queues_options.h"

namespace retryq::cli {

// `retryq queues --watch`: shows the queues again and again, until a key, SIGINT or SIGTERM ends
// it: full-screen on a terminal, else as lines. The error is that of the first look; later ones are
// shown, and another look follows.
absl::Status WatchQueues(const QueuesOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_QUEUES_QUEUES_WATCH_H_
