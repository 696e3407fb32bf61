#ifndef RETRYQ_CLI_MESSAGES_PACER_H_
#define RETRYQ_CLI_MESSAGES_PACER_H_

#include <algorithm>

#include "absl/time/time.h"

namespace retryq::cli {

// Spreads steps evenly over time. Later steps make up for a delay, as timers cause it, but only for
// up to `kSlack`: a pause of a minute is not followed by a burst.
class Pacer {
 public:
  static constexpr absl::Duration kSlack = absl::Milliseconds(50);

  // Allows `rate` steps per second; 0: unlimited.
  explicit Pacer(double rate)
      : interval_(rate > 0 ? absl::Seconds(1) / rate : absl::ZeroDuration()) {}

  // Returns the time until the next step is allowed; zero or less: now. All times have the same
  // origin.
  absl::Duration Wait(absl::Duration now) const { return next_ - now; }

  void Step(absl::Duration now) { next_ = std::max(next_, now - kSlack) + interval_; }

 private:
  const absl::Duration interval_;
  absl::Duration next_ = -absl::InfiniteDuration();
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_PACER_H_
