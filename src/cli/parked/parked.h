#ifndef RETRYQ_CLI_PARKED_PARKED_H_
#define RETRYQ_CLI_PARKED_PARKED_H_

#include "cli/messages/message_pass.h"
#include "cli/parked/parked_options.h"

namespace retryq::cli {

// Does what `retryq parked` is asked to do.
MessagesResult Parked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_H_
