#include "amqp/heartbeat.h"

#include <utility>

namespace retryq::amqp {
namespace {

constexpr int kTicksUntilDead = 4;  // two intervals

}  // namespace

Heartbeat::Heartbeat(Timers& timers, absl::Duration interval, Callbacks callbacks)
    : timers_(timers), tick_(interval / 2), callbacks_(std::move(callbacks)) {
  if (interval > absl::ZeroDuration()) StartTick();
}

void Heartbeat::StartTick() {
  timer_ = timers_.After(tick_, [this] { OnTick(); });
}

void Heartbeat::OnTick() {
  // The first tick after something came may follow at once, so one more makes two intervals.
  if (++silent_ticks_ > kTicksUntilDead) return std::function(callbacks_.dead)();
  StartTick();
  if (!sent_) callbacks_.send();
  sent_ = false;
}

}  // namespace retryq::amqp
