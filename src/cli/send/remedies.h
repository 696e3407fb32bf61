#ifndef RETRYQ_CLI_SEND_REMEDIES_H_
#define RETRYQ_CLI_SEND_REMEDIES_H_

#include "absl/status/status.h"

namespace retryq::cli {

// Adds the remedy, if known, to the error of a publish. `to_queue`: the publish was through the
// default exchange.
absl::Status WithSendRemedy(const absl::Status& status, bool to_queue);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_REMEDIES_H_
