#ifndef RETRYQ_CLI_MESSAGES_ACTIONS_H_
#define RETRYQ_CLI_MESSAGES_ACTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/messages/messages_command.h"
#include "cli/messages/queue_facts.h"
#include "cli/messages/queue_reader.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// What happens to a message that matches.
struct Keep {
  std::string why = {};  // if not empty, the message cannot be removed, which is reported
};
struct Discard {};
using Decision = std::variant<Keep, Discard, MessageCopy>;

// An action on each message that matches.
struct Action {
  std::function<Decision(const amqp::MessagePtr& message, const Source& source)> decide;
  // Whether a message can match; null: every message can.
  std::function<bool(const amqp::Message& message)> applies = nullptr;
  bool removes = false;        // whether some decisions remove the message
  std::string again = {};      // remedy once the target has room: "replay again"
  std::string elsewhere = {};  // remedy if the target does not exist
  // Saves messages before they are discarded; null: they are not saved.
  std::function<absl::Status(const std::vector<amqp::MessagePtr>& messages)> save = nullptr;
  // Receives each removed message; in a dry run each that would be removed. May be null.
  std::function<void(const amqp::Message& message, const Source& source)> on_removed = nullptr;
};

// The sums over all queues that a command reads.
struct ReadResult {
  absl::Status status = absl::OkStatus();  // the first error that ended the reading
  std::vector<std::string> problems = {};  // with their remedies
  bool began = false;                      // a queue was found
  std::uint64_t total = 0;    // parked messages, or messages that wait for the work queue
  std::uint64_t matched = 0;  // of these
  std::uint64_t removed = 0;
  std::uint64_t queues = 0;  // number of queues that have such messages
  std::map<std::string, std::uint64_t> removed_from = {};
  std::map<CopyTarget, std::uint64_t> targets = {};
};

// Reads the queues one after the other, and calls the action for each message that matches the
// options, at most `limit` times. A queue is read again if the action has removed messages from it.
ReadResult ReadQueues(const MessagesOptions& options, const Scope& scope,
                      std::optional<std::uint64_t> limit, const Action& action);

// Returns the status of the command with all problems, one per line.
absl::Status StatusOf(const MessagesOptions& options, const Scope& scope, const ReadResult& result);

// What `retryq parked` and `retryq waiting` do with the messages that match. All texts are printed
// after the messages that stay have been requeued, so that a slow reader of the output does not
// delay messages.

// Returns the messages that match, as a table or one JSON object per line, or their number by
// error, attempt or due time. Waiting messages are ordered by their due time. All stay in the
// queue.
MessagesResult ListMessages(const MessagesOptions& options, const Scope& scope);

// Returns the complete first message that matches, as text or JSON. It stays in the queue.
MessagesResult ShowMessage(const MessagesOptions& options, const Scope& scope);

// Returns the first message that matches, which stays in the queue, and its queue; kNotFound if no
// message matches.
absl::StatusOr<std::pair<amqp::MessagePtr, Source>> FindMessage(const MessagesOptions& options,
                                                                const Scope& scope);

// Permanently removes the messages that match. They are first written to a file, as lines for
// `send --lines`, if the options name one.
MessagesResult DropMessages(const MessagesOptions& options, const Scope& scope);

// Publishes waiting messages to their work queue, or to the parked queue.
MessagesResult ReleaseMessages(const MessagesOptions& options, const Scope& scope);

// Publishes parked messages to the queue in which each failed, or to the target in the options,
// with the body in the options, if there is one.
MessagesResult ReplayMessages(const MessagesOptions& options, const Scope& scope);

// The replacement of one message in a replay.
struct Replacement {
  std::string body;
  std::optional<std::string> headers;  // encoded; not set: unchanged
  amqp::MessagePtr original;           // the message must still equal this one; null: not checked
};

// Returns whether two messages have the same body and headers. Ignores the headers with the
// broker's counts.
bool IsSame(const amqp::Message& a, const amqp::Message& b);

// Returns the message with the body and headers of the replacement. The rest, including the
// delivery tag, is unchanged.
amqp::MessagePtr Replaced(const amqp::MessagePtr& message, const Replacement& replacement);

// Returns a message as a text to edit: its visible headers as JSON, a separator line and its body.
// Returns kInvalidArgument, with the remedy, if the body is not text.
absl::StatusOr<std::string> EditText(const amqp::Message& message);

// Parses the edited text. Headers whose JSON is unchanged keep their bytes; the JSON value of a new
// header determines its type. x-retry-* headers and those of the broker are kept. Returns
// kInvalidArgument for a text of another format and for headers that AMQP cannot carry.
absl::StatusOr<Replacement> ReadEdited(amqp::MessagePtr original, std::string_view text);

// Replays messages; `replacement` is for the one matching message.
MessagesResult Replay(const MessagesOptions& options, const Scope& scope,
                      const Replacement* replacement);

// Opens the one matching message in an editor and replays it. Meanwhile it stays in the queue,
// where others may take it; it is replaced only if it has not changed.
MessagesResult EditMessage(const MessagesOptions& options, const Scope& scope);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_ACTIONS_H_
