#ifndef RETRYQ_CLI_WAITING_WAITING_ACTIONS_H_
#define RETRYQ_CLI_WAITING_WAITING_ACTIONS_H_

#include "cli/messages/message_pass.h"
#include "cli/waiting/waiting_command.h"
#include "cli/waiting/waiting_queues.h"

namespace retryq::cli {

// Returns the waiting messages that match, ordered by due time, as a table or one JSON object per
// line; or their number by kind. All stay in their queues.
MessagesResult ListWaiting(const WaitingOptions& options, const WaitingPlace& place);

// Returns the complete first waiting message that matches; kNotFound if none matches.
MessagesResult ShowWaiting(const WaitingOptions& options, const WaitingPlace& place);

// Releases, parks or drops the waiting messages that match. A message leaves its delay queue once
// its copy is confirmed and was not returned. Otherwise it stays in its position, and the status
// contains the reason.
MessagesResult TakeWaiting(const WaitingOptions& options, const WaitingPlace& place);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_ACTIONS_H_
