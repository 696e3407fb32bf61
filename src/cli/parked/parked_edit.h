#ifndef RETRYQ_CLI_PARKED_PARKED_EDIT_H_
#define RETRYQ_CLI_PARKED_PARKED_EDIT_H_

#include "cli/messages/message_pass.h"
#include "cli/parked/parked_options.h"

namespace retryq::cli {

// Opens the message that matches in an editor, and replays what was made of it. Meanwhile the
// message is in the queue, where anyone may take it: it is replaced only if it is still the same.
MessagesResult EditParked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_EDIT_H_
