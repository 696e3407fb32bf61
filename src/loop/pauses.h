#ifndef RETRYQ_SRC_LOOP_PAUSES_H_
#define RETRYQ_SRC_LOOP_PAUSES_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "retryq/random.h"

namespace retryq {

// How long to wait before something that failed is tried again, for all that is tried again here:
// doubling from `first` up to `longest`, and of that at random between half and all, so that many
// clients do not return at once. They begin anew only after a success that has lasted: a connection
// that is closed as soon as it is open is no success.
class Pauses {
 public:
  // How long a success must last to count.
  static constexpr absl::Duration kLasting = absl::Seconds(10);

  Pauses(absl::Duration first, absl::Duration longest);

  // It has worked since `now`, by Clock::SinceBoot.
  void Succeeded(absl::Duration now) { works_since_ = now; }
  // It has been of use: begins anew, however long it lasts.
  void Restart() { failures_ = 0; }

  // It has failed at `now`: how long to wait.
  absl::Duration Next(absl::Duration now, Random& random);
  // The same where nothing but time will help: the longest.
  absl::Duration Longest(Random& random);

  // The pause after so many failures in a row, 1 or more.
  static absl::Duration After(std::uint32_t failures, absl::Duration first, absl::Duration longest,
                              Random& random);
  // The same with nothing left to chance, for what one client does alone.
  static absl::Duration WholeAfter(std::uint32_t failures, absl::Duration first,
                                   absl::Duration longest);

 private:
  absl::Duration first_;
  absl::Duration longest_;
  std::uint32_t failures_ = 0;  // in a row
  std::optional<absl::Duration> works_since_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_PAUSES_H_
