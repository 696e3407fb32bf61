#include "cli/worker/child_process.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "cli/worker/spawn.h"

namespace retryq::cli {
namespace {

using MonotonicClock = std::chrono::steady_clock;

MonotonicClock::time_point FromNow(absl::Duration duration) {
  constexpr absl::Duration kLongestWait = absl::Hours(24 * 365 * 100);
  return MonotonicClock::now() + absl::ToChronoMilliseconds(std::min(duration, kLongestWait));
}

// The remaining milliseconds for poll, rounded up, at most a day.
int PollTimeout(MonotonicClock::time_point until) {
  constexpr std::int64_t kLongest = std::int64_t{24} * 3600 * 1000;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - MonotonicClock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kLongest));
}

// One child: starts it, writes its stdin, reads its stderr, and stops it at its timeout or on
// request.
class Child {
 public:
  Child(std::string_view input, absl::Duration timeout, const ChildRunner::Options& options)
      : input_(input), options_(options), deadline_(FromNow(timeout)) {}

  ChildResult Run(const ChildSpec& spec, int end_all_fd) {
    if (const int error = Start(spec)) return {.code = error};
    while (!exited_) Turn(end_all_fd);
    return Reap();
  }

 private:
  int Start(const ChildSpec& spec) {
    Pipe in;
    Pipe err;
    if (const int error = OpenPipe(&in)) return error;
    if (const int error = OpenPipe(&err)) return error;
    Spawned spawned;
    if (const int error = Spawn(spec.command, spec.environment, in.read_end.get(),
                                options_.stdout_fd, err.write_end.get(), &spawned)) {
      return error;
    }
    pid_ = spawned.pid;
    process_ = std::move(spawned.process);
    stdin_ = std::move(in.write_end);
    stderr_ = std::move(err.read_end);
    SetNonBlocking(stdin_);
    SetNonBlocking(stderr_);
    Feed();
    return 0;
  }

  // Waits for the next event and handles it.
  void Turn(int end_all_fd) {
    // poll ignores negative descriptors.
    std::array<pollfd, 4> polled = {{{process_.get(), POLLIN, 0},
                                     {ended_as_ ? -1 : end_all_fd, POLLIN, 0},
                                     {stderr_.get(), POLLIN, 0},
                                     {stdin_.get(), POLLOUT, 0}}};
    const int ready = ::poll(polled.data(), polled.size(), PollTimeout(deadline_));
    if (ready <= 0) {
      if (ready == 0 && MonotonicClock::now() >= deadline_) OnDeadline();
      return;
    }
    if (polled[3].revents != 0) Feed();
    if (polled[2].revents != 0) Listen();
    if (polled[1].revents != 0) Terminate(ChildResult::End::kCancelled);
    exited_ = polled[0].revents != 0;
  }

  // Writes as much of the input as possible without blocking.
  void Feed() {
    while (!input_.empty()) {
      const ssize_t written = ::write(stdin_.get(), input_.data(), input_.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno == EAGAIN) return;
      if (written < 0) break;  // EPIPE: the child does not read its stdin
      input_.remove_prefix(static_cast<std::size_t>(written));
    }
    stdin_.Close();
  }

  // Reads from the child's stderr, passes the text on and remembers the end of it. Returns false if
  // there was nothing to read.
  bool Listen() {
    std::array<char, 4096> chunk;
    const ssize_t size = ::read(stderr_.get(), chunk.data(), chunk.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (size <= 0) {
      stderr_.Close();
      return false;
    }
    const std::string_view text(chunk.data(), static_cast<std::size_t>(size));
    if (options_.errors != nullptr) options_.errors->Write(text);
    errors_.append(text);
    if (errors_.size() > ChildRunner::kErrorTail)
      errors_.erase(0, errors_.size() - ChildRunner::kErrorTail);
    return true;
  }

  void OnDeadline() {
    if (!ended_as_) {
      Terminate(ChildResult::End::kTimedOut);
    } else {
      Signal(SIGKILL);
      deadline_ = FromNow(absl::InfiniteDuration());
    }
  }

  void Terminate(ChildResult::End why) {
    ended_as_ = why;
    Signal(SIGTERM);
    deadline_ = FromNow(options_.kill_grace);
  }

  // Signals the whole process group. Its id cannot be reused before the child is reaped.
  void Signal(int signal) const { ::kill(-pid_, signal); }

  ChildResult Reap() {
    if (ended_as_) Signal(SIGKILL);  // the rest of its group
    const int status = WaitFor(pid_);
    // Reads the rest of its stderr, but only as much as a pipe holds: a process that inherited
    // stderr may write forever.
    constexpr int kPipeful = 32;
    for (int i = 0; i < kPipeful && stderr_.is_open() && Listen(); ++i) {
    }
    ChildResult result = {.errors = std::move(errors_)};
    if (ended_as_) {
      result.end = *ended_as_;
    } else if (WIFSIGNALED(status)) {
      result.end = ChildResult::End::kSignaled;
      result.code = WTERMSIG(status);
    } else {
      result.end = ChildResult::End::kExited;
      result.code = WEXITSTATUS(status);
    }
    return result;
  }

  std::string_view input_;
  const ChildRunner::Options& options_;
  MonotonicClock::time_point deadline_;
  std::optional<ChildResult::End> ended_as_;  // set if this process stopped it
  bool exited_ = false;
  pid_t pid_ = -1;
  FileDescriptor process_;  // a pidfd: readable once the child has exited
  FileDescriptor stdin_;
  FileDescriptor stderr_;
  std::string errors_;
};

}  // namespace

ChildRunner::ChildRunner(Options options)
    : options_(options), end_all_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

ChildRunner::~ChildRunner() {
  EndAll();
  std::unique_lock<std::mutex> lock(mutex_);
  none_runs_.wait(lock, [this] { return running_ == 0; });
}

ChildResult ChildRunner::Run(const ChildSpec& spec) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++running_;
  }
  ChildResult result = {.end = ChildResult::End::kCancelled};
  if (!WaitForEndAll(absl::ZeroDuration())) {
    result = Child(spec.input, spec.timeout, options_).Run(spec, end_all_.get());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--running_ == 0) none_runs_.notify_all();
  return result;
}

int ChildRunner::running() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return running_;
}

void ChildRunner::EndAll() {
  const std::uint64_t one = 1;
  WriteAll(end_all_.get(), {reinterpret_cast<const char*>(&one), sizeof(one)});
}

bool ChildRunner::WaitForEndAll(absl::Duration duration) const {
  const MonotonicClock::time_point until = FromNow(duration);
  for (;;) {
    pollfd polled = {end_all_.get(), POLLIN, 0};
    const int ready = ::poll(&polled, 1, PollTimeout(until));
    if (ready > 0) return true;
    if (ready == 0 && MonotonicClock::now() >= until) return false;
  }
}

}  // namespace retryq::cli
