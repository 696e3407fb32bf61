#ifndef RETRYQ_CLI_FLAGS_RETRYING_FLAGS_H_
#define RETRYQ_CLI_FLAGS_RETRYING_FLAGS_H_

#include "cli/flags/backoff_flags.h"
#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// The flags for delays and limits of retries, for each subcommand that applies or shows a policy.
struct RetryingFlags {
  BackoffFlags backoff;
  FlagText max_attempts, max_age;
};

void AddFlags(FlagParser& parser, RetryingFlags& flags);

// Reads the values and reports errors.
void ReadFlags(const RetryingFlags& flags, FlagReader& reader, RetryOptions* retry);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_RETRYING_FLAGS_H_
