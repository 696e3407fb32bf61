#ifndef RETRYQ_CLI_MESSAGES_PACER_H_
#define RETRYQ_CLI_MESSAGES_PACER_H_

#include <algorithm>

#include "absl/time/time.h"

namespace retryq::cli {

// Spreads steps evenly over time. A step that comes late, as timers do, is made up for by those
// that follow, except what is more than `kSlack` late: one that could not go on for a minute does
// not rush for it.
class Pacer {
 public:
  static constexpr absl::Duration kSlack = absl::Milliseconds(50);

  // At most so many steps a second; 0 = no limit.
  explicit Pacer(double rate)
      : interval_(rate > 0 ? absl::Seconds(1) / rate : absl::ZeroDuration()) {}

  // How long until the next step may be made; zero or less: now. Times are since any moment.
  absl::Duration Wait(absl::Duration now) const { return next_ - now; }

  void Step(absl::Duration now) { next_ = std::max(next_, now - kSlack) + interval_; }

 private:
  const absl::Duration interval_;
  absl::Duration next_ = -absl::InfiniteDuration();
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_PACER_H_
