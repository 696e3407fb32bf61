#ifndef RETRYQ_CLI_PARKED_PARKED_ACTIONS_H_
#define RETRYQ_CLI_PARKED_PARKED_ACTIONS_H_

#include "absl/status/statusor.h"
#include "cli/messages/message_pass.h"
#include "cli/parked/parked_command.h"
#include "cli/parked/replacement.h"
#include "retryq/amqp/message.h"

namespace retryq::cli {

// The parked messages that match, or how many there are of each error, as a table or a JSON object
// a line. All stay where they are.
MessagesResult ListParked(const ParkedOptions& options);

// The first parked message that matches; it stays in the queue. kNotFound where there is none.
absl::StatusOr<amqp::MessagePtr> FindParked(const ParkedOptions& options);

// The same, whole, as text or JSON.
MessagesResult ShowParked(const ParkedOptions& options);

// Publishes the parked messages that match to where they failed or where the options say, and takes
// each off the parked queue once its copy is confirmed and was not returned. Whatever else happens
// to a copy, its original stays, and the status says why.
MessagesResult ReplayParked(const ParkedOptions& options);

// The same for the one message that matches, and with what replaces it. kNotFound where that is not
// there, or not the same any more.
MessagesResult ReplaceParked(const ParkedOptions& options, const Replacement& replacement);

// Opens the message that matches in an editor, and replays what was made of it. Meanwhile the
// message is in the queue, where anyone may take it: it is replaced only if it is still the same.
MessagesResult EditParked(const ParkedOptions& options);

// Takes the parked messages that match off their queue for good. What retryq did not park stays
// unless the options say otherwise, and the status says so.
MessagesResult DropParked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_ACTIONS_H_
