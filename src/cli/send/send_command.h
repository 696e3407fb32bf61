#ifndef RETRYQ_CLI_SEND_SEND_COMMAND_H_
#define RETRYQ_CLI_SEND_SEND_COMMAND_H_

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/connect/broker_watch.h"
#include "cli/flags/flag_parser.h"
#include "retryq/client.h"
#include "retryq/outgoing_message.h"
#include "retryq/work_queue.h"

namespace retryq::cli {

// With `send --lines`: a message for each line of stdin.
struct SendLinesOptions {
  std::size_t in_flight = 2000;  // messages that are not answered yet, at most
};

// What `retryq send` is asked to do.
struct SendOptions {
  ClientOptions client;
  OutgoingMessage message;  // with `lines`: what lines do not give
  PublishOptions publish;
  bool body_from_stdin = false;           // else it is in `message`
  std::optional<SendLinesOptions> lines;  // none: one message
  std::optional<WorkQueue> declare;       // the queue, if it is missing; none: it must exist
  absl::Duration wait = kDefaultWait;     // for a broker that cannot be reached
};

// The arguments behind `retryq send`, RETRYQ_URL taken into account. kInvalidArgument with all that
// is wrong, a line each, naming the flag and the remedy.
absl::StatusOr<std::variant<SendOptions, Answer>> ParseSend(const Arguments& arguments);

// Publishes the message and waits for its confirm. Returns what there is to tell about it: how a
// delay is kept, and nothing without one. Errors as Client::Publish has them.
absl::StatusOr<std::string> Send(SendOptions options);

// Publishes a message for each line of stdin and answers each on stdout, until stdin ends, a signal
// comes, or the answers cannot be written: then what has been read is finished first. Returns
// kUnavailable if any message failed; kDataLoss if answers could not be written; kCancelled after a
// signal; why the broker cannot be reached, or refuses the connection, at the start.
absl::Status SendLines(const SendOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_SEND_COMMAND_H_
