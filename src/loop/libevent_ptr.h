#ifndef RETRYQ_SRC_LOOP_LIBEVENT_PTR_H_
#define RETRYQ_SRC_LOOP_LIBEVENT_PTR_H_

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/time.h>

#include <algorithm>
#include <memory>

#include "absl/time/time.h"

namespace retryq {

// Owners of libevent's objects. Freeing an event cancels it; both kinds may be
// freed inside their own callbacks.

struct EventDeleter {
  void operator()(event* e) const { event_free(e); }
};
using EventPtr = std::unique_ptr<event, EventDeleter>;

struct EventBaseDeleter {
  void operator()(event_base* base) const { event_base_free(base); }
};
using EventBasePtr = std::unique_ptr<event_base, EventBaseDeleter>;

struct BufferEventDeleter {
  void operator()(bufferevent* b) const { bufferevent_free(b); }
};
using BufferEventPtr = std::unique_ptr<bufferevent, BufferEventDeleter>;

// Starts a timer event. Rounds up to libevent's microseconds, negative is zero. Infinite is never:
// a century, as libevent adds to the time of now, and that sum must not overflow.
inline void StartTimer(event* timer, absl::Duration delay) {
  constexpr absl::Duration kCentury = absl::Hours(24 * 365 * 100);
  delay = std::clamp(delay, absl::ZeroDuration(), kCentury);
  delay = absl::Ceil(delay, absl::Microseconds(1));
  const timeval after = absl::ToTimeval(delay);
  event_add(timer, &after);
}

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_LIBEVENT_PTR_H_
