#ifndef RETRYQ_CLI_DECLARE_DECLARE_H_
#define RETRYQ_CLI_DECLARE_DECLARE_H_

#include "absl/status/status.h"
#include "cli/declare/declare_options.h"

namespace retryq::cli {

// Declares the queue with what leads to it. Errors as Client::Declare has them, and why the broker
// cannot be reached.
absl::Status Declare(const DeclareCommandOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DECLARE_DECLARE_H_
