#ifndef RETRYQ_CLI_PARKED_PARKED_ACTIONS_H_
#define RETRYQ_CLI_PARKED_PARKED_ACTIONS_H_

#include "absl/status/statusor.h"
#include "cli/messages/message_pass.h"
#include "cli/parked/parked_command.h"
#include "cli/parked/replacement.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// Returns the parked messages that match, or their number by error, as a table or one JSON object
// per line. All stay in the queue.
MessagesResult ListParked(const ParkedOptions& options);

// Returns the first parked message that matches, which stays in the queue; kNotFound if none
// matches.
absl::StatusOr<amqp::MessagePtr> FindParked(const ParkedOptions& options);

// Returns the complete first message that matches, as text or JSON.
MessagesResult ShowParked(const ParkedOptions& options);

// Publishes the parked messages that match to the queue in which each failed, or to the target in
// the options. A message is removed from the parked queue once its copy is confirmed and was not
// returned. Otherwise it stays, and the status contains the reason.
MessagesResult ReplayParked(const ParkedOptions& options);

// Replays the one message that matches, with the body and headers of the replacement. Returns
// kNotFound if the message is gone or has changed.
MessagesResult ReplaceParked(const ParkedOptions& options, const Replacement& replacement);

// Opens the message that matches in an editor and replays the edited message. Meanwhile the message
// stays in the queue, where others may take it; it is replaced only if it has not changed.
MessagesResult EditParked(const ParkedOptions& options);

// Permanently removes the parked messages that match. Messages that retryq did not park stay unless
// the options include them; the status reports them.
MessagesResult DropParked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_ACTIONS_H_
