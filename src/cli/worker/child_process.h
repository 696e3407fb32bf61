#ifndef RETRYQ_CLI_WORKER_CHILD_PROCESS_H_
#define RETRYQ_CLI_WORKER_CHILD_PROCESS_H_

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "cli/text/io.h"
#include "cli/text/outlet.h"

namespace retryq::cli {

// One run of a program.
struct ChildSpec {
  // The program, which is looked up in PATH unless it contains a slash, and its arguments. Not
  // empty.
  const std::vector<std::string>& command;
  // The whole environment, as NAME=VALUE.
  const std::vector<std::string>& environment;
  // The stdin of the program. The program need not read it.
  std::string_view input;
  // The program is stopped after this time, counted from its start.
  absl::Duration timeout = absl::InfiniteDuration();
};

struct ChildResult {
  enum class End {
    kExited,      // `code` is its exit code
    kSignaled,    // `code` is the signal that killed it
    kTimedOut,    // it was stopped because of the timeout
    kCancelled,   // it was stopped, or not started, because of `EndAll`
    kNotStarted,  // `code` is the errno
  };
  End end = End::kNotStarted;
  int code = 0;
  std::string errors;  // the end of its stderr, at most kErrorTail bytes
};

// Runs programs and waits for them, each on the thread that calls `Run`. Thread-safe.
//
// Each child leads its own process group, has no descriptors except 0, 1 and 2, and no blocked
// signals. When it ends, its descriptors are closed and it is reaped. PrepareProcess must have been
// called.
class ChildRunner {
 public:
  static constexpr std::size_t kErrorTail = 4096;

  struct Options {
    int stdout_fd = STDOUT_FILENO;  // the stdout of the children
    Outlet* errors = nullptr;       // receives a copy of their stderr; may be null
    // The time from SIGTERM to SIGKILL when a child is stopped. Both go to the whole process group.
    absl::Duration kill_grace = absl::Seconds(2);
  };

  ChildRunner() : ChildRunner(Options()) {}
  explicit ChildRunner(Options options);
  // Stops the running children and waits until they have ended.
  ~ChildRunner();
  ChildRunner(const ChildRunner&) = delete;
  ChildRunner& operator=(const ChildRunner&) = delete;

  // Runs a program and waits until it has ended. Processes that it left in the background keep
  // running, unless the program had to be stopped.
  ChildResult Run(const ChildSpec& spec);

  // Stops all children; later calls of `Run` start none. Each `Run` returns soon, with kCancelled.
  void EndAll();

  // Sleeps for `duration`. Returns true as soon as `EndAll` has been called.
  bool WaitForEndAll(absl::Duration duration) const;

  // The number of running programs.
  int running() const;

 private:
  const Options options_;
  FileDescriptor end_all_;  // an eventfd, which stays readable after EndAll

  mutable std::mutex mutex_;
  std::condition_variable none_runs_;
  int running_ = 0;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_CHILD_PROCESS_H_
