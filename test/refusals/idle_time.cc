#include "refusals/idle_time.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "support/standard.h"

namespace retryq::refusals {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;
// The size of the signal mask, which is null.
constexpr std::size_t kMaskSize = 8;

std::atomic<bool> is_simulated = false;
std::atomic<std::int64_t> time_passed = 0;  // nanoseconds

// The directory has an entry for each thread, and two more.
nlink_t Threads() {
  struct stat tasks = {};
  return stat("/proc/self/task", &tasks) == 0 ? tasks.st_nlink : 0;
}

// Whether another thread runs, for example to resolve a name: its result comes before any timer.
// Threads of a sanitizer run from the beginning.
bool OthersAreAtWork() {
  static const nlink_t at_first = Threads();
  return Threads() > at_first;
}

int ReallyWait(int fd, epoll_event* events, int size, int timeout) {
  return static_cast<int>(syscall(SYS_epoll_pwait, fd, events, size, timeout, nullptr, kMaskSize));
}

int WaitIdly(int fd, epoll_event* events, int size, int timeout) {
  for (;;) {
    const bool others = OthersAreAtWork();
    int ready = ReallyWait(fd, events, size, others ? 1 : 0);
    if (ready != 0 || timeout == 0) return ready;
    if (others) continue;
    // Data that was written to one of our sockets arrives at once, unless the system is busy.
    sched_yield();
    ready = ReallyWait(fd, events, size, 0);
    if (ready != 0) return ready;
    if (timeout > 0) {
      time_passed += timeout * kMillisecond;
      return 0;
    }
    std::fputs("the loop waits for nothing: it would wait for ever\n", stderr);
    std::abort();
  }
}

}  // namespace

IdleTime::IdleTime() {
  OthersAreAtWork();
  time_passed = 0;
  is_simulated = true;
}

IdleTime::~IdleTime() { is_simulated = false; }

absl::Duration IdleTime::passed() const { return absl::Nanoseconds(time_passed.load()); }

}  // namespace retryq::refusals

// The functions of the program take precedence over those of the C library, for everything that is
// linked to it.
extern "C" {

[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using namespace retryq::refusals;  // NOLINT(google-build-using-namespace)
  const bool of_cpu = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
  if (!is_simulated || of_cpu) return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  const bool of_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  constexpr std::int64_t kWallClockAtFirst = 1'800'000'000 * kSecond;
  constexpr std::int64_t kSinceBootAtFirst = 3600 * kSecond;
  const std::int64_t time = time_passed + (of_wall ? kWallClockAtFirst : kSinceBootAtFirst);
  now->tv_sec = time / kSecond;
  now->tv_nsec = time % kSecond;
  return 0;
}

[[gnu::visibility("default")]] int epoll_wait(int fd, epoll_event* events, int size, int timeout) {
  using namespace retryq::refusals;  // NOLINT(google-build-using-namespace)
  return is_simulated ? WaitIdly(fd, events, size, timeout) : ReallyWait(fd, events, size, timeout);
}

}  // extern "C"
