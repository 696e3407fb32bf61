#ifndef RETRYQ_CLI_MESSAGES_ACTIONS_H_
#define RETRYQ_CLI_MESSAGES_ACTIONS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "cli/messages/messages_command.h"
#include "cli/messages/reading.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// What `retryq parked` and `retryq waiting` do with the messages that match. All texts are printed
// after the messages that stay are back in their queues: a slow reader of the output must not hold
// up messages.

// Returns the messages that match, as a table or one JSON object per line, or their number by
// error, attempt or due time. Waiting messages are ordered by their due time. All stay in the
// queue.
MessagesResult ListMessages(const MessagesOptions& options, const Scope& scope);

// Returns the complete first message that matches, as text or JSON. It stays in the queue.
MessagesResult ShowMessage(const MessagesOptions& options, const Scope& scope);

// Returns the first message that matches, which stays in the queue; kNotFound if none matches.
struct FoundMessage {
  amqp::MessagePtr message;
  std::optional<DelayQueue> delay;
};
absl::StatusOr<FoundMessage> FindMessage(const MessagesOptions& options, const Scope& scope);

// Removes the messages that match, after a question on the terminal if the options require it. A
// message is removed once its copy is confirmed and was not returned. Otherwise it stays, and the
// status contains the reason.
MessagesResult RemoveMessages(const MessagesOptions& options, const Scope& scope,
                              const Action& action);

// Permanently removes the messages that match. They are first written to a file, as lines for
// `send --lines`, if the options name one.
MessagesResult DropMessages(const MessagesOptions& options, const Scope& scope);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_ACTIONS_H_
