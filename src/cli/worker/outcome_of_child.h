#ifndef RETRYQ_CLI_WORKER_OUTCOME_OF_CHILD_H_
#define RETRYQ_CLI_WORKER_OUTCOME_OF_CHILD_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "cli/worker/child_process.h"
#include "retryq/outcome.h"

namespace retryq::cli {

// What became of a message, judged by the child that got it: exit 0 is ok, 65 (EX_DATAERR) parks,
// all else retries; a last line `retry-after: 30s` on stderr sets the delay of a retry, and after
// `snooze: 30s` the message comes back after that delay and has not failed. The error is how the
// child ended and the last other line that it wrote there: "exit 3: no such customer", "killed by
// SIGSEGV". `timeout` is what the child was given.
Outcome OutcomeOf(const ChildResult& result, absl::Duration timeout);

// The error that OutcomeOf gives; "exit 0" for none.
std::string DescribeEnd(const ChildResult& result, absl::Duration timeout);

// Why the command did not get as far as handling anything: it could not be started, or a shell or a
// wrapper between says so by exit code 126 or 127. Nothing if it did.
std::optional<std::string> WhyNotRun(const ChildResult& result);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_OUTCOME_OF_CHILD_H_
