#include "retryq/event_loop.h"

#include <signal.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <utility>

#include "loop/caught_signals.h"
#include "loop/libevent_ptr.h"
#include "loop/loop_executor.h"
#include "loop/own_process.h"
#include "loop/runner_thread.h"
#include "loop/system_clock.h"
#include "loop/thrown.h"

namespace retryq {
namespace {

constexpr absl::Duration kDefaultGrace = absl::Seconds(25);

EventBasePtr MakeBase() {
  event_config* config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
  EventBasePtr base(event_base_new_with_config(config));
  event_config_free(config);
  if (base == nullptr) {
    std::perror("retryq: event_base_new");  // out of memory or of file descriptors
    std::abort();
  }
  return base;
}

void IgnoreSigpipeUnlessHandled() {
  struct sigaction current = {};
  sigaction(SIGPIPE, nullptr, &current);
  if ((current.sa_flags & SA_SIGINFO) == 0 && current.sa_handler == SIG_DFL) {
    signal(SIGPIPE, SIG_IGN);
  }
}

absl::Duration Monotonic() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

// One call, which is never early. libevent counts from the beginning of the turn in which a timer
// is started, so a timer that fires too soon is started again for the rest.
class LoopTimer final : public Timer {
 public:
  using Callback = Timers::Callback;

  LoopTimer(event_base* base, std::shared_ptr<const Executor> executor, absl::Duration delay,
            Callback callback)
      : executor_(std::move(executor)),
        due_(Monotonic() + std::max(delay, absl::ZeroDuration())),
        callback_(std::move(callback)) {
    event_.reset(evtimer_new(
        base,
        [](evutil_socket_t, short, void* self) { static_cast<LoopTimer*>(self)->OnTimeout(); },
        this));
    StartTimer(event_.get(), delay);
  }
  ~LoopTimer() override {
    if (event_.get_deleter().made_in.is_here()) CheckThread(*executor_, "Timer::~Timer");
  }

 private:
  void OnTimeout() {
    const absl::Duration early = due_ - Monotonic();
    if (early > absl::ZeroDuration()) return StartTimer(event_.get(), early);
    // The callback may destroy this timer.
    Callback callback = std::exchange(callback_, nullptr);
    CallFromC("the callback of EventLoop::After", [&callback] { std::move(callback)(); });
  }

  const std::shared_ptr<const Executor> executor_;  // the loop's
  const absl::Duration due_;                        // by CLOCK_MONOTONIC, like libevent's timers
  Callback callback_;
  EventPtr event_;
};

// The functions that must finish before a loop may end: see EventLoop::OnDrain. Owned by
// shared_ptr, because handles may outlive the loop.
class Drains : public std::enable_shared_from_this<Drains> {
 public:
  using Drain = absl::AnyInvocable<void(EventLoop::DrainDone) &&>;

  // Starts at once if the others have been started. Dropping the handle counts as done.
  std::shared_ptr<void> Add(Drain drain) {
    entries_.push_back({.drain = std::move(drain)});
    const auto entry = std::prev(entries_.end());
    const auto forget = [weak = weak_from_this(), entry](void*) {
      if (const auto self = weak.lock()) self->entries_.erase(entry);
    };
    std::shared_ptr<void> handle(&*entry, forget);
    if (begun_) Begin(*entry);
    return handle;
  }

  void BeginAll() {
    if (std::exchange(begun_, true)) return;
    // Each call may add or remove entries, so the next entry is looked up again.
    const auto next = [this] {
      return std::find_if(entries_.begin(), entries_.end(),
                          [](const Entry& entry) { return entry.drain != nullptr; });
    };
    for (auto entry = next(); entry != entries_.end(); entry = next()) Begin(*entry);
  }
  // Prepares for another `BeginAll`. Functions that were called before are not called again.
  void Reset() { begun_ = false; }

  bool all_done() const {
    return begun_ && std::all_of(entries_.begin(), entries_.end(),
                                 [](const Entry& entry) { return *entry.done; });
  }

 private:
  struct Entry {
    Drain drain;  // null once called
    std::shared_ptr<bool> done = std::make_shared<bool>(false);
  };

  static void Begin(Entry& entry) {
    Drain drain = std::exchange(entry.drain, nullptr);
    try {
      std::move(drain)([done = entry.done] { *done = true; });
    } catch (...) {
      KeepThrown(Thrown("the function given to EventLoop::OnDrain"));
      *entry.done = true;
    }
  }

  std::list<Entry> entries_;
  bool begun_ = false;
};

// Random numbers of the kernel, read in blocks. They cannot be predicted from earlier ones, and two
// processes never get the same sequence. Not thread-safe. After a fork, both processes use the rest
// of the current block.
class SystemRandom final : public Random {
 public:
  std::uint64_t Next() override {
    if (used_ == fetched_.size()) Refill();
    return std::exchange(fetched_[used_++], 0);
  }

 private:
  void Refill() {
    char* const bytes = reinterpret_cast<char*>(fetched_.data());
    for (std::size_t filled = 0; filled < sizeof(fetched_);) {
      const ssize_t got = getrandom(bytes + filled, sizeof(fetched_) - filled, 0);
      if (got > 0) {
        filled += static_cast<std::size_t>(got);
      } else if (errno != EINTR) {
        // The kernel has no getrandom, or a filter forbids it. Without random numbers, ids would
        // repeat.
        std::perror("retryq: getrandom");
        std::abort();
      }
    }
    used_ = 0;
  }

  std::array<std::uint64_t, 128> fetched_ = {};
  std::size_t used_ = fetched_.size();
};

}  // namespace

class EventLoop::Impl {
 public:
  explicit Impl(event_base* borrowed)
      : owned_(borrowed == nullptr ? MakeBase() : nullptr),
        base_(borrowed == nullptr ? owned_.get() : borrowed),
        executor_(std::make_shared<LoopExecutor>(base_)) {
    IgnoreSigpipeUnlessHandled();
  }

  ~Impl() { executor_->Close(); }

  absl::Status Run(absl::Duration grace, bool until_signal) {
    if (!process_.is_here()) {
      return absl::FailedPreconditionError(
          "the event loop belongs to the process that was forked: make another one in the child");
    }
    if (executor_->thread() == Executor::Thread::kOther || running_) {
      return absl::FailedPreconditionError("the event loop is already running");
    }
    std::unique_ptr<CaughtSignals> signals;
    if (until_signal) signals = CaughtSignals::Catch(base_, grace, [this] { OnSignal(); });
    if (until_signal && signals == nullptr) {
      return absl::FailedPreconditionError(
          "another EventLoop of this process runs until a signal comes; remedy: run this one by "
          "Run(), and have the other call its Drain() by OnDrain() and executor()->Post");
    }
    const RunnerThread::Run here(executor_->runner());
    running_ = true;
    stopped_ = false;
    grace_ = grace;
    if (drain_wanted_) BeginDrain();
    bool runs = true;  // false inside a turn that the owner of a borrowed base runs
    while (runs && !ended()) {
      runs = event_base_loop(base_, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY) >= 0;
      // The owner of a borrowed base has stopped it.
      if (event_base_got_break(base_) || event_base_got_exit(base_)) break;
      if (TookThrown()) Drain();
    }
    // Objects that were destroyed inside a call in this turn wait in the executor for its end.
    if (runs) executor_->RunPosted();
    TookThrown();
    running_ = false;
    signals.reset();
    drain_wanted_ = false;
    drains_->Reset();
    grace_timer_.reset();
    if (!runs) {
      return absl::FailedPreconditionError(
          "the owner of the event base runs it already: that runs this loop too");
    }
    absl::Status thrown = std::exchange(thrown_, absl::OkStatus());
    const absl::Status failure = std::exchange(failure_, absl::OkStatus());
    return failure.ok() ? thrown : failure;
  }

  void Stop() { stopped_ = true; }

  void Drain() {
    if (std::exchange(drain_wanted_, true) || !running_) return;
    BeginDrain();
  }

  // Returns whether the object belongs to this process. Ends the process if the calling thread is
  // the wrong one.
  bool Check(const char* function) const {
    if (!process_.is_here()) return false;
    CheckThread(*executor_, function);
    return true;
  }

  void Fail(absl::Status error) {
    if (failure_.ok()) failure_ = std::move(error);
  }

  std::shared_ptr<void> OnDrain(Drains::Drain drain) { return drains_->Add(std::move(drain)); }

  std::unique_ptr<Timer> After(absl::Duration delay, Callback callback) {
    return std::make_unique<LoopTimer>(base_, executor_, delay, std::move(callback));
  }

  std::shared_ptr<Executor> executor() const { return executor_; }
  const Clock& clock() const { return clock_; }
  Random& random() { return random_; }
  event_base* base() const { return base_; }

 private:
  // Whether a callback has thrown. The loop then drains and ends with the exception.
  bool TookThrown() {
    absl::Status thrown = TakeThrown();
    if (thrown.ok()) return false;
    thrown_.Update(std::move(thrown));
    return true;
  }

  bool ended() const { return stopped_ || !failure_.ok() || drains_->all_done(); }

  void OnSignal() { drain_wanted_ ? Stop() : Drain(); }

  void BeginDrain() {
    grace_timer_ = After(grace_, [this] { Stop(); });
    drains_->BeginAll();
  }

  const OwnProcess process_;
  EventBasePtr owned_;  // null if borrowed
  event_base* base_;
  SystemClock clock_;
  SystemRandom random_;
  std::shared_ptr<LoopExecutor> executor_;

  const std::shared_ptr<Drains> drains_ = std::make_shared<Drains>();
  absl::Duration grace_ = kDefaultGrace;
  std::unique_ptr<Timer> grace_timer_;
  bool running_ = false;
  bool stopped_ = false;
  bool drain_wanted_ = false;
  absl::Status failure_;
  absl::Status thrown_;  // by a callback
};

EventLoop::EventLoop() : EventLoop(std::make_unique<Impl>(nullptr)) {}
EventLoop::EventLoop(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventLoop EventLoop::Borrow(event_base* base) { return EventLoop(std::make_unique<Impl>(base)); }
EventLoop::~EventLoop() {
  if (!impl_->Check("EventLoop::~EventLoop")) static_cast<void>(impl_.release());
}

absl::Status EventLoop::Run() { return impl_->Run(kDefaultGrace, /*until_signal=*/false); }
absl::Status EventLoop::RunUntilSignal(Duration grace) {
  return impl_->Run(grace, /*until_signal=*/true);
}
void EventLoop::Stop() {
  if (impl_->Check("EventLoop::Stop")) impl_->Stop();
}
void EventLoop::Drain() {
  if (impl_->Check("EventLoop::Drain")) impl_->Drain();
}
void EventLoop::Fail(absl::Status error) {
  if (impl_->Check("EventLoop::Fail")) impl_->Fail(std::move(error));
}
std::shared_ptr<void> EventLoop::OnDrain(absl::AnyInvocable<void(DrainDone) &&> drain) {
  impl_->Check("EventLoop::OnDrain");
  return impl_->OnDrain(std::move(drain));
}
std::unique_ptr<Timer> EventLoop::After(Duration delay, Callback callback) {
  impl_->Check("EventLoop::After");
  return impl_->After(delay, std::move(callback));
}
std::shared_ptr<Executor> EventLoop::executor() const { return impl_->executor(); }
const Clock& EventLoop::clock() const { return impl_->clock(); }
Random& EventLoop::random() { return impl_->random(); }
event_base* EventLoop::base() const { return impl_->base(); }

}  // namespace retryq
