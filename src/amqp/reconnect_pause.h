#ifndef RETRYQ_SRC_AMQP_RECONNECT_PAUSE_H_
#define RETRYQ_SRC_AMQP_RECONNECT_PAUSE_H_

#include "absl/time/time.h"
#include "retryq/random.h"

namespace retryq::amqp {

// How long to wait before trying again: doubling from `initial` up to `max`, and of that
// at random between half and all, so that many clients do not return at once.
class ReconnectPause {
 public:
  ReconnectPause(absl::Duration initial, absl::Duration max);

  absl::Duration Next(Random& random);
  // The next pause at its longest.
  absl::Duration Longest(Random& random);
  // After a success.
  void Reset() { whole_ = initial_; }

 private:
  static absl::Duration Jitter(absl::Duration whole, Random& random);

  absl::Duration initial_;
  absl::Duration max_;
  absl::Duration whole_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_RECONNECT_PAUSE_H_
