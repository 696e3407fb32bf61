#ifndef RETRYQ_CLI_SEND_SEND_H_
#define RETRYQ_CLI_SEND_SEND_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/send/send_options.h"

namespace retryq::cli {

// Publishes the message and waits for its confirm. Returns what there is to tell about it: how a
// delay is kept, and nothing without one. Errors as Client::Publish has them.
absl::StatusOr<std::string> Send(SendOptions options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_SEND_H_
