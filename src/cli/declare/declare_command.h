#ifndef RETRYQ_CLI_DECLARE_DECLARE_COMMAND_H_
#define RETRYQ_CLI_DECLARE_DECLARE_COMMAND_H_

#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/connect/broker_watch.h"
#include "cli/flags/flag_parser.h"
#include "retryq/client.h"
#include "retryq/work_queue.h"

namespace retryq::cli {

// What `retryq declare` is asked to do.
struct DeclareCommandOptions {
  ClientOptions client;
  WorkQueue work_queue;
  absl::Duration wait = kDefaultWait;  // for a broker that cannot be reached
};

// The arguments behind `retryq declare`, RETRYQ_URL taken into account. kInvalidArgument with all
// that is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<DeclareCommandOptions, Answer>> ParseDeclare(
    const Arguments& arguments);

// Declares the queue with what leads to it. Errors as Client::Declare has them, and why the broker
// cannot be reached.
absl::Status Declare(const DeclareCommandOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DECLARE_DECLARE_COMMAND_H_
