#ifndef RETRYQ_SRC_LOOP_CAUGHT_SIGNALS_H_
#define RETRYQ_SRC_LOOP_CAUGHT_SIGNALS_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"

struct event_base;

namespace retryq {

// SIGINT, SIGTERM and (unless it is ignored) SIGHUP, while a loop runs until a signal comes.
//
// libevent only wakes the loop, so a signal has no effect while a callback blocks the loop's
// thread. A thread of this object then ends the process by the signal: at a further signal at least
// a second later, or once `grace` (at least five seconds) is over. After five seconds it writes a
// line to stderr. If a callback blocks a drain, the process ends five seconds after `grace`.
//
// A signal to a forked child that has inherited the handlers ends the child, as it would by
// default.
class CaughtSignals {
 public:
  // Null if another loop of this process catches signals. `on_signal` is called on the loop's
  // thread, for each signal.
  static std::unique_ptr<CaughtSignals> Catch(event_base* base, absl::Duration grace,
                                              std::function<void()> on_signal);

  // Restores the handlers that the process had before.
  virtual ~CaughtSignals() = default;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_CAUGHT_SIGNALS_H_
