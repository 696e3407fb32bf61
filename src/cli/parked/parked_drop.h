#ifndef RETRYQ_CLI_PARKED_PARKED_DROP_H_
#define RETRYQ_CLI_PARKED_PARKED_DROP_H_

#include "cli/messages/message_pass.h"
#include "cli/parked/parked_options.h"

namespace retryq::cli {

// Takes the parked messages that match off their queue for good. What retryq did not park stays
// unless the options say otherwise, and the status says so.
MessagesResult DropParked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_DROP_H_
