#ifndef RETRYQ_CLI_WAITING_WAITING_COMMAND_H_
#define RETRYQ_CLI_WAITING_WAITING_COMMAND_H_

#include "cli/messages/message_pass.h"
#include "cli/waiting/waiting_options.h"

namespace retryq::cli {

// Does what `retryq waiting` is asked to do. Errors name the object and the remedy.
MessagesResult RunWaitingCommand(const WaitingOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_COMMAND_H_
