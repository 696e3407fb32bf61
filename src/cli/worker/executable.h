#ifndef RETRYQ_CLI_WORKER_EXECUTABLE_H_
#define RETRYQ_CLI_WORKER_EXECUTABLE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace retryq::cli {

// Checks whether a program can be started. Like exec, it searches PATH, unless the name contains a
// slash. If it cannot be started, returns kNotFound or kPermissionDenied, with the remedy.
absl::Status CheckExecutable(const std::string& program);

// The paths that exec tries for this program.
std::vector<std::string> CandidatesFor(const std::string& program);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_EXECUTABLE_H_
