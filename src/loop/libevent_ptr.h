#ifndef RETRYQ_SRC_LOOP_LIBEVENT_PTR_H_
#define RETRYQ_SRC_LOOP_LIBEVENT_PTR_H_

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/time.h>

#include <algorithm>
#include <memory>

#include "absl/time/time.h"
#include "loop/own_process.h"

namespace retryq {

// Owners of libevent's objects. Freeing an event cancels it. Both kinds may be freed inside their
// own callbacks. In a forked child nothing is freed, because that would also cancel the parent's
// events.

struct EventDeleter {
  void operator()(event* e) const {
    if (made_in.is_here()) event_free(e);
  }
  OwnProcess made_in;
};
using EventPtr = std::unique_ptr<event, EventDeleter>;

struct EventBaseDeleter {
  void operator()(event_base* base) const {
    if (made_in.is_here()) event_base_free(base);
  }
  OwnProcess made_in;
};
using EventBasePtr = std::unique_ptr<event_base, EventBaseDeleter>;

struct BufferEventDeleter {
  void operator()(bufferevent* b) const {
    if (made_in.is_here()) bufferevent_free(b);
  }
  OwnProcess made_in;
};
using BufferEventPtr = std::unique_ptr<bufferevent, BufferEventDeleter>;

// Starts a timer event. Rounds the delay up to libevent's microseconds; a negative delay is zero.
// An infinite delay becomes a century: libevent adds it to the present time, which must not
// overflow.
inline void StartTimer(event* timer, absl::Duration delay) {
  constexpr absl::Duration kCentury = absl::Hours(24 * 365 * 100);
  delay = std::clamp(delay, absl::ZeroDuration(), kCentury);
  delay = absl::Ceil(delay, absl::Microseconds(1));
  const timeval after = absl::ToTimeval(delay);
  event_add(timer, &after);
}

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_LIBEVENT_PTR_H_
