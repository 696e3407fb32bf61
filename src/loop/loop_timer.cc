#include "loop/loop_timer.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace retryq {
namespace {

absl::Duration Monotonic() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

}  // namespace

LoopTimer::LoopTimer(event_base* base, absl::Duration delay, std::function<void()> callback)
    : due_(Monotonic() + std::max(delay, absl::ZeroDuration())), callback_(std::move(callback)) {
  event_.reset(evtimer_new(
      base, [](evutil_socket_t, short, void* self) { static_cast<LoopTimer*>(self)->OnTimeout(); },
      this));
  StartTimer(event_.get(), delay);
}

void LoopTimer::OnTimeout() {
  const absl::Duration early = due_ - Monotonic();
  if (early > absl::ZeroDuration()) return StartTimer(event_.get(), early);
  std::exchange(callback_, nullptr)();  // which may destroy this timer
}

}  // namespace retryq
