#include "loop/caught_signals.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "loop/libevent_ptr.h"
#include "loop/own_process.h"
#include "loop/thrown.h"

namespace retryq {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
using std::chrono::steady_clock;

constexpr absl::Duration kPatience = absl::Seconds(5);
// Signals that arrive together (systemd's SendSIGHUP) count as one request to stop.
constexpr absl::Duration kTogether = absl::Seconds(1);

// The messages to the watching thread, in addition to the numbers of signals.
constexpr unsigned char kTaken = 254;
constexpr unsigned char kRunEnds = 255;

// A handler may still run until another handler is set, so it reads only static data.
std::atomic<pid_t> catcher = 0;                  // the process whose loop catches signals
std::atomic<int> told = -1;                      // the pipe to the watching thread
std::atomic<void (*)(int)> libevents = nullptr;  // libevent's handler, the same for each signal

// The other end of `told`, and the process that made both. The pipe is made once and never closed,
// because a handler on another thread may still write to it after its loop has ended.
int told_from = -1;
pid_t told_in = 0;

// Without file descriptors for a pipe, `told_from` is -1.
void MakePipe() {
  if (told_from < 0 || told_in != getpid()) {
    std::array<int, 2> ends = {-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) ends = {-1, -1};
    told_in = getpid();
    told_from = ends[0];
    told = ends[1];
  }
  std::array<char, 64> left;  // by the loop before
  while (read(told_from, left.data(), left.size()) > 0) {
  }
}

void Tell(unsigned char what) { [[maybe_unused]] const ssize_t written = write(told, &what, 1); }

void OnSignal(int number) {
  const pid_t process = catcher;
  if (process == 0) return;  // the loop has just ended
  if (process != getpid()) {
    signal(number, SIG_DFL);
    raise(number);  // delivered when this handler returns
    return;
  }
  const int error = errno;
  Tell(static_cast<unsigned char>(number));
  libevents.load()(number);
  errno = error;
}

// Whether the signal is ignored, as nohup ignores SIGHUP.
bool IsIgnored(int number) {
  struct sigaction current = {};
  sigaction(number, nullptr, &current);
  return (current.sa_flags & SA_SIGINFO) == 0 && current.sa_handler == SIG_IGN;
}

[[noreturn]] void EndProcessBy(int number) {
  signal(number, SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
  raise(number);
  _exit(128 + number);
}

// Writes a line to stderr, unless the pipe is full, which would block forever.
void WriteLine(const std::string& line) {
  pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&to, 1, 0) != 1) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

class Caught final : public CaughtSignals {
 public:
  Caught(event_base* base, absl::Duration grace, std::function<void()> on_signal)
      : grace_(std::clamp(grace, kPatience, absl::Hours(24 * 365))),
        on_signal_(std::move(on_signal)) {
    MakePipe();
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      if (number != SIGHUP || !IsIgnored(number)) Catch(base, number);
    }
    StartWatching();
  }

  ~Caught() override {
    for (const auto& [number, libevent] : actions_) sigaction(number, &libevent, nullptr);
    events_.clear();
    if (watching_.joinable()) {
      if (process_.is_here()) {
        Tell(kRunEnds);
        watching_.join();
      } else {
        watching_.detach();
      }
    }
    catcher = 0;
  }

 private:
  enum class State { kIdle, kWaiting, kReported, kDraining };

  void Catch(event_base* base, int number) {
    const auto taken = [](evutil_socket_t, short, void* self) {
      Tell(kTaken);
      CallFromC("a drain", [self] { static_cast<Caught*>(self)->on_signal_(); });
    };
    events_.emplace_back(evsignal_new(base, number, taken, this));
    event_add(events_.back().get(), nullptr);

    struct sigaction action = {};
    sigaction(number, nullptr, &action);
    actions_.emplace_back(number, action);
    libevents = action.sa_handler;
    action.sa_handler = OnSignal;
    sigaction(number, &action, nullptr);
  }

  // If the pipe or the thread cannot be created, a signal has no effect until the callback that
  // blocks the loop returns.
  void StartWatching() {
    if (told_from < 0) return;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      watching_ = std::thread([this] { Watch(); });
    } catch (const std::system_error&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Returns the next message to the thread, or 0 at `deadline_`.
  unsigned char Next() const {
    int timeout = -1;
    if (state_ != State::kIdle) {
      const absl::Duration left = absl::FromChrono(deadline_ - steady_clock::now());
      timeout = static_cast<int>(
          std::clamp<std::int64_t>(absl::ToInt64Milliseconds(left) + 1, 0, 60 * 60 * 1000));
    }
    pollfd from = {.fd = told_from, .events = POLLIN, .revents = 0};
    poll(&from, 1, timeout);
    unsigned char what = 0;
    return read(told_from, &what, 1) == 1 ? what : 0;
  }

  void Watch() {
    for (;;) {
      const unsigned char what = Next();
      const SteadyTime now = steady_clock::now();
      if (what == kRunEnds) return;
      if (what == kTaken) {
        Enter(State::kDraining, now, grace_ + kPatience);
      } else if (what != 0) {
        OnArrival(what, now);
      } else if (state_ != State::kIdle && now >= deadline_) {
        OnDeadline();
      }
    }
  }

  void OnArrival(int number, SteadyTime now) {
    if (state_ != State::kWaiting && state_ != State::kReported) {
      number_ = number;
      return Enter(State::kWaiting, now, kPatience);
    }
    if (absl::FromChrono(now - since_) >= kTogether) EndProcessBy(number);
  }

  void OnDeadline() {
    const bool ends = state_ != State::kWaiting;
    if (state_ != State::kReported) WriteLine(Report(ends));
    if (ends) EndProcessBy(number_);
    Enter(State::kReported, since_, grace_);
  }

  std::string Report(bool ends) const {
    return absl::StrCat(
        "retryq: signal ", number_,
        " waits because a callback blocks the thread of the event loop; the process ends ",
        ends ? "now"
             : absl::StrCat(absl::FormatDuration(grace_), " after the signal, or at the next one"),
        "; remedy: let handlers that block run on threads (handler_threads)\n");
  }

  void Enter(State state, SteadyTime since, absl::Duration left) {
    state_ = state;
    since_ = since;
    deadline_ = since + absl::ToChronoNanoseconds(left);
  }

  const OwnProcess process_;
  const absl::Duration grace_;
  const std::function<void()> on_signal_;
  std::vector<EventPtr> events_;
  std::vector<std::pair<int, struct sigaction>> actions_;  // libevent's

  // Used only by the thread.
  State state_ = State::kIdle;
  int number_ = 0;
  SteadyTime since_;
  SteadyTime deadline_;

  std::thread watching_;
};

}  // namespace

std::unique_ptr<CaughtSignals> CaughtSignals::Catch(event_base* base, absl::Duration grace,
                                                    std::function<void()> on_signal) {
  if (catcher.exchange(getpid()) == getpid()) return nullptr;
  return std::make_unique<Caught>(base, grace, std::move(on_signal));
}

}  // namespace retryq
