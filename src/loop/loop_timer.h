#ifndef RETRYQ_SRC_LOOP_LOOP_TIMER_H_
#define RETRYQ_SRC_LOOP_LOOP_TIMER_H_

#include <functional>

#include "absl/time/time.h"
#include "loop/libevent_ptr.h"
#include "retryq/timers.h"

namespace retryq {

// One call, never early: libevent counts from the beginning of the turn in which
// a timer is started, so one that comes too soon is started again for the rest.
class LoopTimer final : public Timer {
 public:
  LoopTimer(event_base* base, absl::Duration delay, std::function<void()> callback);

 private:
  void OnTimeout();

  const absl::Duration due_;  // CLOCK_MONOTONIC, as libevent's
  std::function<void()> callback_;
  EventPtr event_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_LOOP_TIMER_H_
