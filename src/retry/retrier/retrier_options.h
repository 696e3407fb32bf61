#ifndef RETRYQ_SRC_RETRY_RETRIER_RETRIER_OPTIONS_H_
#define RETRYQ_SRC_RETRY_RETRIER_RETRIER_OPTIONS_H_

#include "absl/status/status.h"
#include "retryq/delay_queue_options.h"
#include "retryq/retrier.h"

namespace retryq {

// kInvalidArgument naming every wrong field, separated by "; ". The longest
// delay must be one that a delay queue can have.
absl::Status Validate(const RetrierOptions& options, const DelayQueueOptions& delay_queues);

// What the empty fields stand for.
RetrierOptions WithDefaults(RetrierOptions options);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_RETRIER_OPTIONS_H_
