#include "amqp/connection/heartbeat.h"

#include <utility>

namespace retryq::amqp {
namespace {

constexpr int kTicksPerInterval = 8;
constexpr int kTicksUntilSent = kTicksPerInterval / 2;
constexpr int kTicksUntilDead = 2 * kTicksPerInterval;

}  // namespace

Heartbeat::Heartbeat(Timers& timers, absl::Duration interval, Callbacks callbacks)
    : timers_(timers), tick_(interval / kTicksPerInterval), callbacks_(std::move(callbacks)) {
  if (interval > absl::ZeroDuration()) StartTick();
}

void Heartbeat::StartTick() {
  timer_ = timers_.After(tick_, [this] { OnTick(); });
}

void Heartbeat::OnTick() {
  if (++silent_ticks_ >= kTicksUntilDead) return std::function(callbacks_.dead)();
  StartTick();
  if (++unsent_ticks_ < kTicksUntilSent) return;
  unsent_ticks_ = 0;
  callbacks_.send();
}

}  // namespace retryq::amqp
