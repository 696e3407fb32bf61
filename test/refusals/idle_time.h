#ifndef RETRYQ_TEST_REFUSALS_IDLE_TIME_H_
#define RETRYQ_TEST_REFUSALS_IDLE_TIME_H_

#include "absl/time/time.h"

namespace retryq::refusals {

// While it lives, time passes for this process only where its event loop waits for a timer: the
// clocks stand still while something is done, and where nothing is left to do they step to the time
// that the loop would wait for. So a program with real sockets, whose other ends are served by the
// same loop, runs through minutes in the time that it takes to compute, and the same way each time.
//
// It takes the place of clock_gettime() and epoll_wait() in the whole process. One at a time. A
// loop that gets its timers from a timerfd would not see it: make the event_base without
// EVENT_BASE_FLAG_PRECISE_TIMER.
class IdleTime {
 public:
  IdleTime();
  ~IdleTime();
  IdleTime(const IdleTime&) = delete;
  IdleTime& operator=(const IdleTime&) = delete;

  // Since the beginning.
  absl::Duration passed() const;
};

}  // namespace retryq::refusals

#endif  // RETRYQ_TEST_REFUSALS_IDLE_TIME_H_
