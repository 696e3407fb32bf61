#ifndef RETRYQ_TEST_REFUSALS_IDLE_TIME_H_
#define RETRYQ_TEST_REFUSALS_IDLE_TIME_H_

#include "absl/time/time.h"

namespace retryq::refusals {

// While this object exists, time passes for this process only when its event loop waits for a
// timer: the clocks stand still while work is done, and when there is nothing to do they step to
// the time for which the loop would wait. So a program with real sockets, whose peers run on the
// same loop, simulates minutes in the time of its computation, and in the same way each time.
//
// It replaces clock_gettime() and epoll_wait() in the whole process. Only one object may exist at a
// time. A loop that gets its timers from a timerfd would not see it: make the event_base without
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
