#ifndef RETRYQ_CLI_FLAGS_BACKOFF_FLAGS_H_
#define RETRYQ_CLI_FLAGS_BACKOFF_FLAGS_H_

#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "retryq/backoff.h"

namespace retryq::cli {

// The flags that say how long to wait after a failure.
struct BackoffFlags {
  FlagText backoff, base, factor, step, max, delays, jitter;
};

void AddBackoffFlags(FlagParser& parser, BackoffFlags& flags);

// Flags that contradict each other are complaints, named after those that were given. What is wrong
// with a value beyond that is for retryq::Validate to say.
void ReadBackoff(const BackoffFlags& flags, FlagReader& reader, BackoffOptions* options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_BACKOFF_FLAGS_H_
