#include "amqp/reconnect_pause.h"

#include <algorithm>
#include <utility>

namespace retryq::amqp {

ReconnectPause::ReconnectPause(absl::Duration initial, absl::Duration max)
    : initial_(std::min(initial, max)), max_(max), whole_(initial_) {}

absl::Duration ReconnectPause::Next(Random& random) {
  return Jitter(std::exchange(whole_, std::min(whole_ * 2, max_)), random);
}

absl::Duration ReconnectPause::Longest(Random& random) { return Jitter(max_, random); }

absl::Duration ReconnectPause::Jitter(absl::Duration whole, Random& random) {
  const double fraction = static_cast<double>(random.Next() >> 11) * 0x1p-53;  // [0, 1)
  return whole * (0.5 + fraction / 2);
}

}  // namespace retryq::amqp
