#ifndef RETRYQ_CLI_WAITING_WAITING_LIST_H_
#define RETRYQ_CLI_WAITING_WAITING_LIST_H_

#include "cli/messages/message_pass.h"
#include "cli/waiting/waiting_options.h"
#include "cli/waiting/waiting_queues.h"

namespace retryq::cli {

// The messages that wait and match, what is due next first, as a table or a JSON object a line; or
// how many there are of a kind. All stay where they are.
MessagesResult ListWaiting(const WaitingOptions& options, const WaitingPlace& place);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_LIST_H_
