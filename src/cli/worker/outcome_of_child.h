#ifndef RETRYQ_CLI_WORKER_OUTCOME_OF_CHILD_H_
#define RETRYQ_CLI_WORKER_OUTCOME_OF_CHILD_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "cli/worker/child_process.h"
#include "retryq/outcome.h"

namespace retryq::cli {

// Returns the outcome of a message, from how its child ended. Exit code 0 is success and 65
// (EX_DATAERR) parks; any other end retries. If the last line on stderr is `retry-after: 30s`, it
// sets the delay of the retry; after `snooze: 30s` the message returns after that delay and has not
// failed. The error text is how the child ended, with the last other line on stderr: "exit 3: no
// such customer", "killed by SIGSEGV". `timeout` is the time limit that the child had.
Outcome OutcomeOf(const ChildResult& result, absl::Duration timeout);

// The error text of OutcomeOf; "exit 0" for success.
std::string DescribeEnd(const ChildResult& result, absl::Duration timeout);

// Returns why the command did not start handling the message: it could not be started, or a shell
// or a wrapper exited with 126 or 127. Otherwise returns nullopt.
std::optional<std::string> WhyNotRun(const ChildResult& result);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_OUTCOME_OF_CHILD_H_
