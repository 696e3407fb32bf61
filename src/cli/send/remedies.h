#ifndef RETRYQ_CLI_SEND_REMEDIES_H_
#define RETRYQ_CLI_SEND_REMEDIES_H_

#include "absl/status/status.h"

namespace retryq::cli {

// Why a publish failed, with what to do about it where that is known. `to_queue`: through the
// default exchange.
absl::Status WithSendRemedy(const absl::Status& status, bool to_queue);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_REMEDIES_H_
