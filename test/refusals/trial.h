#ifndef RETRYQ_TEST_REFUSALS_TRIAL_H_
#define RETRYQ_TEST_REFUSALS_TRIAL_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "refusals/way.h"

namespace retryq::refusals {

// When the trouble begins: once all has worked for a while, with all connections lost, or right at
// the start, where a refusal may end the program.
enum class Beginning { kLater, kAtStart };

struct Figures {
  // In the worst minute of the trouble.
  int attempts = 0;
  int lines = 0;  // that the command would log
  // In the leanest one: messages of another queue that were acked, at first or after a retry's copy
  // was confirmed, and messages of the program that were confirmed by it.
  int other_acks = 0;
  int other_publishes = 0;
  // The error that has ended the program, if any.
  absl::Status failure;
  // From the end of the trouble until messages of the queue that was refused are done again;
  // infinite: not in `kLongestRecovery`.
  absl::Duration recovery = absl::InfiniteDuration();
  // How long a stop took after all is well.
  absl::Duration stop = absl::InfiniteDuration();
};

constexpr absl::Duration kLongestRecovery = absl::Minutes(2);

// A program with two consumers that also publishes, of which one consumer and some of what is
// published are refused, until the trouble is over.
Figures TryTo(Request request, Way way, Beginning beginning, int minutes);

// How long a stop takes that begins so long after the trouble.
absl::Duration TimeOfStop(Request request, Way way, Beginning beginning, absl::Duration after);

}  // namespace retryq::refusals

#endif  // RETRYQ_TEST_REFUSALS_TRIAL_H_
