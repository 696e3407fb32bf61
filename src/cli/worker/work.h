#ifndef RETRYQ_CLI_WORKER_WORK_H_
#define RETRYQ_CLI_WORKER_WORK_H_

#include "absl/status/status.h"
#include "cli/worker/work_options.h"

namespace retryq::cli {

// Works until a signal ends it, and settles what runs then; ok after that. An error before the
// first message could be consumed: see Client::Consume.
absl::Status Work(const WorkOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_WORK_H_
