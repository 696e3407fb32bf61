#ifndef RETRYQ_CLI_WORKER_EXECUTABLE_H_
#define RETRYQ_CLI_WORKER_EXECUTABLE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace retryq::cli {

// Whether a program can be started, looked for as exec does: in PATH, or as it stands if it has a
// slash. kNotFound or kPermissionDenied otherwise, with the remedy.
absl::Status CheckExecutable(const std::string& program);

// Where exec looks for it.
std::vector<std::string> CandidatesFor(const std::string& program);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_EXECUTABLE_H_
