#ifndef RETRYQ_SRC_LOOP_PAUSES_H_
#define RETRYQ_SRC_LOOP_PAUSES_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "retryq/broker/random.h"

namespace retryq {

// The pauses between retries of an operation. A pause doubles from `first` up to `longest`; a
// random half to all of it is used, so that many clients do not return at the same time. The pauses
// start again from `first` only after a success that lasts: a connection that is closed as soon as
// it is open is not a success.
class Pauses {
 public:
  // How long a success must last to count.
  static constexpr absl::Duration kLasting = absl::Seconds(10);

  Pauses(absl::Duration first, absl::Duration longest);

  // Call it when the operation succeeds. `now` is Clock::SinceBoot.
  void Succeeded(absl::Duration now) { works_since_ = now; }
  // Starts again from `first`, because the success was useful even if it does not last.
  void Restart() { failures_ = 0; }

  // Call it when the operation has failed at `now`. Returns the pause.
  absl::Duration Next(absl::Duration now, Random& random);
  // Returns the longest pause, for an operation that is unlikely to succeed soon.
  absl::Duration Longest(Random& random);

  // Returns the pause after `failures` failures in a row, 1 or more.
  static absl::Duration After(std::uint32_t failures, absl::Duration first, absl::Duration longest,
                              Random& random);
  // The same without randomness, for operations that only one client performs.
  static absl::Duration WholeAfter(std::uint32_t failures, absl::Duration first,
                                   absl::Duration longest);

 private:
  absl::Duration first_;
  absl::Duration longest_;
  std::uint32_t failures_ = 0;  // consecutive
  std::optional<absl::Duration> works_since_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_PAUSES_H_
