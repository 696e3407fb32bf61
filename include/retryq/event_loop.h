#ifndef RETRYQ_EVENT_LOOP_H_
#define RETRYQ_EVENT_LOOP_H_

#include <functional>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/broker/clock.h"
#include "retryq/broker/executor.h"
#include "retryq/broker/random.h"
#include "retryq/broker/timers.h"
#include "retryq/duration.h"
#include "retryq/export.h"

struct event_base;

namespace retryq {

// The event loop of a thread, on libevent. All work of the objects that are made on it runs on the
// thread that runs the loop. It owns an event_base, or borrows one that your program already runs.
//
// Must outlive every Client made on it. Not thread-safe except for the executor. While `Run` or
// `RunUntilSignal` runs on one thread, a call on another thread ends the process (abort) with a
// line on stderr that names the function. The destructor waits for handlers that still run on
// threads.
//
// Belongs to the process that made it: in a forked child it does nothing, and neither do its
// clients and consumers, so that a child may call exit(). A child can make a new one.
//
// The constructor makes this process ignore SIGPIPE, unless the signal has a handler or is ignored
// already, so that writing to a connection that the peer has closed ends that connection and not
// the process. A child inherits this over exec unless it resets it (posix_spawnattr_setsigdefault).
class RETRYQ_EXPORT EventLoop : public Timers {
 public:
  EventLoop();
  // Uses an event_base of yours, which must outlive the loop. The code that runs the base runs this
  // loop; so does `Run…` of this class. While the loop exists, the base has a pending event, so
  // that event_base_dispatch does not return by itself. If your code runs the base, nothing handles
  // `Fail`, drains, or catches signals: make the Client with an Environment and a `fatal` of your
  // own, as examples/borrowed_event_base does.
  static EventLoop Borrow(event_base* base);

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop() override;

  // Runs until `Stop`, `Drain` or `Fail`. Returns the first status that `Fail` got, before the run
  // or during it, otherwise ok. Returns kFailedPrecondition inside a run (including one of a
  // borrowed base by its owner) and in a forked child. If a timer's callback or posted work throws
  // an exception, the loop drains and then returns kUnknown, which names the callback.
  absl::Status Run();

  // Runs until SIGINT, SIGTERM or (unless it is ignored) SIGHUP, then drains: calls every function
  // registered by `OnDrain` and continues to run until each has called back or `grace` is over; a
  // second signal ends the drain at once. Returns as `Run` does. The previous handlers of the
  // signals are restored. Only one loop of a process may run it at a time: a second one gets
  // kFailedPrecondition.
  //
  // While a callback blocks the loop's thread, the loop cannot take a signal. The process is then
  // ended by the signal when `grace` (at least 5 s) is over, or by another signal that comes a
  // second later or more. After 5 s a line on stderr reports this.
  absl::Status RunUntilSignal(Duration grace = absl::Seconds(25));

  // Ends `Run`/`RunUntilSignal` at the end of the current turn, without draining. Has no effect if
  // neither runs.
  void Stop();

  // Begins the drain that a signal would begin (grace in `Run`: 25 s), now or as soon as the loop
  // runs.
  void Drain();

  // Ends `Run`/`RunUntilSignal`, now or as soon as one is called, with this error, which must not
  // be ok. Only the first error counts. If the owner of a borrowed base runs the base, the error is
  // not reported.
  void Fail(absl::Status error);

  // Registers work for the graceful stop. `drain` gets a function that it calls, at most once, when
  // it is done. Dropping the handle unregisters it.
  using DrainDone = std::function<void()>;
  [[nodiscard]] std::shared_ptr<void> OnDrain(absl::AnyInvocable<void(DrainDone) &&> drain);

  [[nodiscard]] std::unique_ptr<Timer> After(Duration delay, Callback callback) override;

  // Takes work from any thread and runs it on this loop's thread.
  std::shared_ptr<Executor> executor() const;

  const Clock& clock() const;
  Random& random();
  event_base* base() const;

 private:
  class RETRYQ_NO_EXPORT Impl;
  explicit EventLoop(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The exit status of a command for this status, by sysexits.h: 0 ok, 64 invalid options
// (kInvalidArgument), 69 an object does not exist or is unavailable (kNotFound, kUnavailable,
// kFailedPrecondition), 71 the operating system refuses something, such as a thread
// (kResourceExhausted), 77 refused (kUnauthenticated, kPermissionDenied), otherwise 70.
RETRYQ_EXPORT int ExitCode(const absl::Status& status);

}  // namespace retryq

#endif  // RETRYQ_EVENT_LOOP_H_
