#ifndef RETRYQ_EVENT_LOOP_H_
#define RETRYQ_EVENT_LOOP_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/clock.h"
#include "retryq/executor.h"
#include "retryq/export.h"
#include "retryq/random.h"
#include "retryq/timers.h"

struct event_base;

namespace retryq {

// The thread's event loop, on libevent: everything of this library that is
// connected to it runs on the thread that runs it. Owns an event_base, or
// borrows one that already drives the program.
//
// Must outlive every Client made on it. Not thread-safe except for
// `executor()->Post`. Its destructor waits for handlers on threads that still run.
//
// Belongs to the process that made it: in a forked child it does nothing, nor do the clients and
// consumers on it, so that a child may call exit(). A child can make another one.
//
// Making one ignores SIGPIPE in this process if nothing else was asked for, as
// writing to a connection that the peer has closed shall end that connection
// and not the process. A child inherits that over exec unless it is reset
// (posix_spawnattr_setsigdefault).
class RETRYQ_EXPORT EventLoop : public Timers {
 public:
  EventLoop();
  // On an event_base of yours, which must outlive it. The code that runs that base
  // runs this loop; `Run…` here runs it too. While the loop exists the base has
  // an event pending, so that event_base_dispatch does not return by itself.
  // Then nobody hears `Fail`, drains or catches signals: make the Client on an
  // Environment with a `fatal` of yours, as examples/borrowed_event_base does.
  static EventLoop Borrow(event_base* base);

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop() override;

  // Runs until `Stop`, `Drain` or `Fail`. Returns the first status given to
  // `Fail`, before the run or during it, else ok. kFailedPrecondition inside a
  // run, also of a borrowed base by its owner, and in a forked child. An exception
  // of a timer's callback or of posted work begins a drain, after which it
  // returns kUnknown, which names the callback.
  absl::Status Run();

  // Runs until SIGINT, SIGTERM or (unless it is ignored) SIGHUP, then drains: calls every function
  // registered by `OnDrain` and runs on until each has called back or `grace` is over; a second
  // signal ends it at once. Returns as `Run` does. The signals' former handlers are restored. One
  // loop of a process at a time: for a second one kFailedPrecondition.
  absl::Status RunUntilSignal(absl::Duration grace = absl::Seconds(25));

  // Ends `Run`/`RunUntilSignal` at the end of the current turn, without
  // draining. Nothing happens where neither runs.
  void Stop();

  // Begins what a signal would begin (grace in `Run`: 25 s), or as soon as the
  // loop runs.
  void Drain();

  // Ends `Run`/`RunUntilSignal`, now or as soon as it is called, with this error,
  // which must not be ok. The first one counts. Nobody hears it where the owner
  // of a borrowed base runs that instead.
  void Fail(absl::Status error);

  // Registers work for the graceful stop. `drain` gets a function to call, at
  // most once, when it is done. Dropping the handle unregisters it.
  using DrainDone = std::function<void()>;
  [[nodiscard]] std::shared_ptr<void> OnDrain(std::function<void(DrainDone)> drain);

  [[nodiscard]] std::unique_ptr<Timer> After(absl::Duration delay,
                                             std::function<void()> callback) override;

  // To get onto this loop's thread from any other.
  std::shared_ptr<Executor> executor() const;

  const Clock& clock() const;
  Random& random();
  event_base* base() const;

 private:
  class RETRYQ_NO_EXPORT Impl;
  explicit EventLoop(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What a command exits with for this status, by sysexits.h: 0 ok, 64 invalid
// options (kInvalidArgument), 69 an object is not there (kNotFound,
// kUnavailable, kFailedPrecondition), 71 the operating system refuses something, such as a thread
// (kResourceExhausted), 77 refused (kUnauthenticated, kPermissionDenied), else 70.
RETRYQ_EXPORT int ExitCode(const absl::Status& status);

}  // namespace retryq

#endif  // RETRYQ_EVENT_LOOP_H_
