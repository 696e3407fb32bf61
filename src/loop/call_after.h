#ifndef RETRYQ_SRC_LOOP_CALL_AFTER_H_
#define RETRYQ_SRC_LOOP_CALL_AFTER_H_

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "retryq/broker/timers.h"

namespace retryq {

// Makes the call after this delay, unless `timer` is replaced or destroyed before. `timer` is null
// again when the call is made, so the call may start it again, and may destroy its owner.
template <typename Call>
void CallAfter(Timers& timers, absl::Duration delay, std::unique_ptr<Timer>& timer, Call call) {
  timer = timers.After(delay, [&timer, call = std::move(call)]() mutable {
    const std::unique_ptr<Timer> fired = std::move(timer);
    call();
  });
}

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_CALL_AFTER_H_
