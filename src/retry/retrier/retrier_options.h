#ifndef RETRYQ_SRC_RETRY_RETRIER_RETRIER_OPTIONS_H_
#define RETRYQ_SRC_RETRY_RETRIER_RETRIER_OPTIONS_H_

#include "absl/status/status.h"
#include "retryq/broker/retrier.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// Returns kInvalidArgument naming every wrong field, separated by "; ". A delay queue must be able
// to hold the longest delay.
absl::Status Validate(const RetrierOptions& options, const DelayQueueOptions& delay_queues);

// Returns the options with their empty fields replaced by defaults.
RetrierOptions WithDefaults(RetrierOptions options);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_RETRIER_OPTIONS_H_
