#ifndef RETRYQ_CLI_SEND_SEND_COMMAND_H_
#define RETRYQ_CLI_SEND_SEND_COMMAND_H_

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/connect/broker_session.h"
#include "cli/flags/flag_parser.h"
#include "cli/management/http_client.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/client.h"
#include "retryq/outgoing_message.h"
#include "retryq/work_queue.h"

namespace retryq::cli {

// The options of `retryq send`.
struct SendOptions {
  ClientOptions client;
  OutgoingMessage message;  // with `lines`: the defaults
  PublishOptions publish;
  bool body_from_stdin = false;  // otherwise it is in `message`
  // With --lines: the most messages without a result; not set: one message.
  std::optional<std::size_t> lines;
  std::optional<WorkQueue> declare;    // declares a missing queue; not set: it must exist
  absl::Duration wait = kDefaultWait;  // for a broker that cannot be reached
  std::string otlp;                    // the URL to which spans are sent; empty: no spans are made
};

Parsed<SendOptions> ParseSend(const Arguments& arguments);

// Publishes the message and waits for its confirm. Returns a text about how the delay is kept,
// empty without a delay, or the errors of Client::Publish.
absl::StatusOr<std::string> Send(SendOptions options);

// Publishes a message for each line of stdin and writes a result to stdout for each, until stdin
// ends, a signal arrives or the results cannot be written. Then it finishes the lines that it has
// read. Returns kUnavailable if a message failed, kDataLoss if results could not be written,
// kCancelled after a signal, or why the broker cannot be used at the start.
absl::Status SendLines(const SendOptions& options);

// Adds the remedy, if known, to the error of a publish. `to_queue`: the publish was through the
// default exchange.
absl::Status WithSendRemedy(const absl::Status& status, bool to_queue);

// Reports on stderr that spans may be lost.
void SayOfSpans(const std::string& why);

// Checks whether an exchange routes a delayed message to a queue: otherwise the broker drops it,
// without a report, when it is due. Only the management API knows the bindings. Its reply about an
// exchange is cached for five seconds.
class BindingCheck {
 public:
  explicit BindingCheck(amqp::ConnectionOptions broker) : broker_(std::move(broker)) {}

  // Returns kNotFound if no queue would receive the message when it is due, kUnavailable if this
  // cannot be looked up. Blocks.
  absl::Status Check(const OutgoingMessage& message, const PublishOptions& publish);

 private:
  struct Known {
    absl::Time until = absl::InfinitePast();
    absl::Status looked_up = {};
    nlohmann::json exchange = nullptr;
    nlohmann::json bindings = nullptr;
    nlohmann::json policy = nullptr;
  };
  Known LookUp(const std::string& exchange) const;
  // Returns true if this is unknown. `passed` contains the exchanges that have been checked
  // already.
  absl::StatusOr<bool> ReachesAQueue(const std::string& exchange, const OutgoingMessage& message,
                                     std::set<std::string>* passed);

  const amqp::ConnectionOptions broker_;
  // From RETRYQ_MANAGEMENT_URL; not set before the first request.
  std::optional<std::optional<ManagementUrl>> management_;
  std::map<std::string, Known> known_;
};

// The protocol of `send --lines`: one JSON object per line in each direction.

// The longest line: the base64 of the largest message that RabbitMQ accepts by default.
inline constexpr std::size_t kLongestRequest = std::size_t{192} << 20;

// A message to publish.
struct LineRequest {
  std::string id = "null";  // as JSON, for the result
  OutgoingMessage message;
  PublishOptions publish;
};

// Parses a line, without its line break, as `retryq send --help` describes it. `request` contains
// the defaults. Returns kInvalidArgument with the reason for any other line, also with unknown
// fields; sets the id if there is one.
absl::Status ParseRequest(std::string_view line, LineRequest* request);

// The result of the request with this id, with the line break: {"id":…,"ok":true} or
// {"id":…,"error":"…"}.
std::string AnswerLine(std::string_view id, const absl::Status& status);

// Parses a time in RFC 3339, such as 2027-01-31T08:00:00Z, or whole seconds since 1970.
std::optional<absl::Time> ParseTimestamp(std::string_view text);

// Parses a duration, such as 30s, or milliseconds as in AMQP, such as 30000.
std::optional<absl::Duration> ParseExpiration(std::string_view text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_SEND_COMMAND_H_
