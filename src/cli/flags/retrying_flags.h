#ifndef RETRYQ_CLI_FLAGS_RETRYING_FLAGS_H_
#define RETRYQ_CLI_FLAGS_RETRYING_FLAGS_H_

#include "cli/flags/backoff_flags.h"
#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// The flags that say when and how often to retry: of every subcommand that follows or shows a
// policy.
struct RetryingFlags {
  BackoffFlags backoff;
  FlagText max_attempts, max_age;
};

void AddFlags(FlagParser& parser, RetryingFlags& flags);

// Their values. What is wrong is complained of.
void ReadFlags(const RetryingFlags& flags, FlagReader& reader, RetryOptions* retry);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_RETRYING_FLAGS_H_
