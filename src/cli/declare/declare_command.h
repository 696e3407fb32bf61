#ifndef RETRYQ_CLI_DECLARE_DECLARE_COMMAND_H_
#define RETRYQ_CLI_DECLARE_DECLARE_COMMAND_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/connect/broker_session.h"
#include "cli/flags/flag_parser.h"
#include "retryq/client.h"
#include "retryq/work_queue.h"

namespace retryq::cli {

// The options of `retryq declare`.
struct DeclareCommandOptions {
  ClientOptions client;
  WorkQueue work_queue;
  absl::Duration wait = kDefaultWait;  // for a broker that cannot be reached
};

Parsed<DeclareCommandOptions> ParseDeclare(const Arguments& arguments);

// Declares the queue, its exchanges and bindings. Returns the errors of Client::Declare, or the
// reason why the broker cannot be reached.
absl::Status Declare(const DeclareCommandOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DECLARE_DECLARE_COMMAND_H_
