#include "cli/flags/retrying_flags.h"

#include <cstdint>

namespace retryq::cli {

void AddFlags(FlagParser& parser, RetryingFlags& flags) {
  parser.Group("How often");
  AddBackoffFlags(parser, flags.backoff);
  parser.Add("--max-attempts", "NUMBER", &flags.max_attempts,
             "Runs for one message, the first included; 0: no limit (default: 25)");
  parser.Add("--max-age", "DURATION", &flags.max_age,
             "No retry starts this long after the first failure (default: 0, no limit)");
}

void ReadFlags(const RetryingFlags& flags, FlagReader& reader, RetryOptions* retry) {
  ReadBackoff(flags.backoff, reader, &retry->backoff);
  reader.Read("--max-attempts", flags.max_attempts, 0, UINT64_MAX, &retry->max_attempts);
  reader.Read("--max-age", flags.max_age, &retry->max_age);
  reader.Complain(Validate(*retry));
}

}  // namespace retryq::cli
