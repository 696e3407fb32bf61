#ifndef RETRYQ_CLI_PARKED_PARKED_LIST_H_
#define RETRYQ_CLI_PARKED_PARKED_LIST_H_

#include "cli/messages/message_pass.h"
#include "cli/parked/parked_options.h"

namespace retryq::cli {

// The parked messages that match, or how many there are of each error, as a table or a JSON object
// a line. All stay where they are.
MessagesResult ListParked(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_LIST_H_
