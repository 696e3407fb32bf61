#ifndef RETRYQ_CLI_WAITING_WAITING_TAKE_H_
#define RETRYQ_CLI_WAITING_WAITING_TAKE_H_

#include "cli/messages/message_pass.h"
#include "cli/waiting/waiting_options.h"
#include "cli/waiting/waiting_queues.h"

namespace retryq::cli {

// Releases, parks or drops the messages that wait and match. Each leaves its delay queue only once
// its copy is confirmed and was not returned. Whatever else happens to a copy, its original stays
// where it was, and the status says why.
MessagesResult TakeWaiting(const WaitingOptions& options, const WaitingPlace& place);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_TAKE_H_
