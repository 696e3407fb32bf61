#ifndef RETRYQ_CLI_FLAGS_BACKOFF_FLAGS_H_
#define RETRYQ_CLI_FLAGS_BACKOFF_FLAGS_H_

#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "retryq/backoff.h"

namespace retryq::cli {

// The flags for the delay after a failure.
struct BackoffFlags {
  FlagText backoff, base, factor, step, max, delays, jitter;
};

void AddBackoffFlags(FlagParser& parser, BackoffFlags& flags);

// Reports flags that contradict each other, by their names. retryq::Validate checks the values
// further.
void ReadBackoff(const BackoffFlags& flags, FlagReader& reader, BackoffOptions* options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_BACKOFF_FLAGS_H_
