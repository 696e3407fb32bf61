#ifndef RETRYQ_CLI_SEND_SEND_LINES_H_
#define RETRYQ_CLI_SEND_SEND_LINES_H_

#include "absl/status/status.h"
#include "cli/send/send_options.h"

namespace retryq::cli {

// Publishes a message for each line of stdin and answers each on stdout, until stdin ends, a signal
// comes, or the answers cannot be written: then what has been read is finished first. Returns
// kUnavailable if any message failed; kDataLoss if answers could not be written; kCancelled after a
// signal; why the broker cannot be reached, or refuses the connection, at the start.
absl::Status SendLines(const SendOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_SEND_LINES_H_
