#ifndef RETRYQ_SRC_RETRY_NEXT_DELAY_H_
#define RETRYQ_SRC_RETRY_NEXT_DELAY_H_

#include "absl/time/time.h"
#include "retryq/backoff.h"
#include "retryq/random.h"

namespace retryq {

// The delay after a failure, jitter and the user's function included: whole milliseconds, from 1 ms
// to LongestDelay(options). Needs valid options. `random` is asked only where chance has a say.
absl::Duration NextDelay(const BackoffOptions& options, const Failure& failure, Random& random);

// Whether delays are left to chance or to a function, so that any may come up.
bool IsArbitrary(const BackoffOptions& options);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_NEXT_DELAY_H_
