#ifndef RETRYQ_CLI_WAITING_WAITING_SHOW_H_
#define RETRYQ_CLI_WAITING_WAITING_SHOW_H_

#include "cli/messages/message_pass.h"
#include "cli/waiting/waiting_options.h"
#include "cli/waiting/waiting_queues.h"

namespace retryq::cli {

// The first message that waits and matches, whole. kNotFound where there is none.
MessagesResult ShowWaiting(const WaitingOptions& options, const WaitingPlace& place);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_SHOW_H_
