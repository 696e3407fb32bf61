#ifndef RETRYQ_SRC_RETRY_POLICY_NEXT_DELAY_H_
#define RETRYQ_SRC_RETRY_POLICY_NEXT_DELAY_H_

#include "absl/time/time.h"
#include "retryq/backoff.h"
#include "retryq/random.h"

namespace retryq {

// The delay after a failure, jitter and the user's function included: whole milliseconds, from 1 ms
// to LongestDelay(options). Needs valid options. `random` is asked only where chance has a say.
absl::Duration NextDelay(const BackoffOptions& options, const Failure& failure, Random& random);

// Whether it can be said beforehand which delays come up, except for what a fraction of jitter
// takes from them.
bool IsForeseeable(const BackoffOptions& options);

// The shortest that a fraction of jitter makes of `delay`, in whole milliseconds, at least 1 ms.
absl::Duration ShortestJittered(const BackoffOptions& options, absl::Duration delay);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_POLICY_NEXT_DELAY_H_
