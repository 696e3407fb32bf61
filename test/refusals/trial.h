#ifndef RETRYQ_TEST_REFUSALS_TRIAL_H_
#define RETRYQ_TEST_REFUSALS_TRIAL_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "refusals/way.h"

namespace retryq::refusals {

// When the refusals begin: after a time of normal work, with the loss of all connections, or right
// at the start, when a refusal may end the program.
enum class Beginning { kLater, kAtStart };

struct Figures {
  // In the worst minute of the refusals.
  int attempts = 0;
  int lines = 0;  // that the command would log
  // In the minute with the fewest: messages of the other queue that were acked, and messages of the
  // program that were confirmed.
  int other_acks = 0;
  int other_publishes = 0;
  // The error that has ended the program, if any.
  absl::Status failure;
  // From the end of the refusals until messages of the refused queue are acked again; infinite: not
  // within `kLongestRecovery`.
  absl::Duration recovery = absl::InfiniteDuration();
  // How long a stop took after all is well.
  absl::Duration stop = absl::InfiniteDuration();
};

constexpr absl::Duration kLongestRecovery = absl::Minutes(2);

// A program with two consumers that also publishes. One consumer and some of the publishes are
// refused until the refusals end.
Figures TryTo(Request request, Way way, Beginning beginning, int minutes);

// How long a stop takes that begins this long after the refusals began.
absl::Duration TimeOfStop(Request request, Way way, Beginning beginning, absl::Duration after);

}  // namespace retryq::refusals

#endif  // RETRYQ_TEST_REFUSALS_TRIAL_H_
