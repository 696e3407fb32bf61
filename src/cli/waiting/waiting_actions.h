#ifndef RETRYQ_CLI_WAITING_WAITING_ACTIONS_H_
#define RETRYQ_CLI_WAITING_WAITING_ACTIONS_H_

#include "cli/messages/message_pass.h"
#include "cli/waiting/waiting_command.h"
#include "cli/waiting/waiting_queues.h"

namespace retryq::cli {

// The messages that wait and match, what is due next first, as a table or a JSON object a line; or
// how many there are of a kind. All stay where they are.
MessagesResult ListWaiting(const WaitingOptions& options, const WaitingPlace& place);

// The first message that waits and matches, whole. kNotFound where there is none.
MessagesResult ShowWaiting(const WaitingOptions& options, const WaitingPlace& place);

// Releases, parks or drops the messages that wait and match. Each leaves its delay queue only once
// its copy is confirmed and was not returned. Whatever else happens to a copy, its original stays
// where it was, and the status says why.
MessagesResult TakeWaiting(const WaitingOptions& options, const WaitingPlace& place);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_ACTIONS_H_
