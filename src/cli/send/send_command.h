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

// Options of `send --lines`: one message per line of stdin.
struct SendLinesOptions {
  std::size_t in_flight = 2000;  // limit of messages without a result
};

// The options of `retryq send`.
struct SendOptions {
  ClientOptions client;
  OutgoingMessage message;  // with `lines`: the defaults
  PublishOptions publish;
  bool body_from_stdin = false;           // otherwise it is in `message`
  std::optional<SendLinesOptions> lines;  // not set: one message
  std::optional<WorkQueue> declare;       // declares a missing queue; not set: it must exist
  absl::Duration wait = kDefaultWait;     // for a broker that cannot be reached
};

// Parses the arguments of `retryq send` and RETRYQ_URL. Returns kInvalidArgument with all errors,
// one per line, each with the flag and the remedy.
absl::StatusOr<std::variant<SendOptions, Answer>> ParseSend(const Arguments& arguments);

// Publishes the message and waits for its confirm. Returns a text about how the delay is kept,
// empty without a delay, or the errors of Client::Publish.
absl::StatusOr<std::string> Send(SendOptions options);

// Publishes a message for each line of stdin and writes a result to stdout for each, until stdin
// ends, a signal arrives or the results cannot be written. Then it finishes the lines that it has
// read. Returns kUnavailable if a message failed, kDataLoss if results could not be written,
// kCancelled after a signal, or an error if the broker cannot be reached or refuses the connection
// at the start.
absl::Status SendLines(const SendOptions& options);

// Adds the remedy, if known, to the error of a publish. `to_queue`: the publish was through the
// default exchange.
absl::Status WithSendRemedy(const absl::Status& status, bool to_queue);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_SEND_COMMAND_H_
