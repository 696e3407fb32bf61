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
  // The program, looked for in PATH unless it has a slash, and its arguments. Not empty.
  const std::vector<std::string>& command;
  // All of it, as NAME=VALUE.
  const std::vector<std::string>& environment;
  // What it can read from its stdin. It need not.
  std::string_view input;
  // Past this it is ended. It counts from the start.
  absl::Duration timeout = absl::InfiniteDuration();
};

struct ChildResult {
  enum class End {
    kExited,      // `code` is its exit code
    kSignaled,    // `code` is the signal that killed it
    kTimedOut,    // it was ended because of the timeout
    kCancelled,   // it was ended, or not started, because of `EndAll`
    kNotStarted,  // `code` is the errno that says why
  };
  End end = End::kNotStarted;
  int code = 0;
  std::string errors;  // the end of what it wrote to stderr, at most kErrorTail bytes
};

// Runs programs and waits for them, on as many threads at once as call `Run`. Thread-safe.
//
// Each child leads a process group of its own, has no descriptor but 0, 1 and 2, no signal blocked,
// and gone with it are its descriptors and its zombie. PrepareProcess must have been called.
class ChildRunner {
 public:
  static constexpr std::size_t kErrorTail = 4096;

  struct Options {
    int stdout_fd = STDOUT_FILENO;  // where the children's stdout goes
    Outlet* errors = nullptr;       // where their stderr is passed on to, if anywhere
    // From SIGTERM to SIGKILL, both to the whole group, when a child is ended.
    absl::Duration kill_grace = absl::Seconds(2);
  };

  ChildRunner() : ChildRunner(Options()) {}
  explicit ChildRunner(Options options);
  // Ends what runs, and waits for it.
  ~ChildRunner();
  ChildRunner(const ChildRunner&) = delete;
  ChildRunner& operator=(const ChildRunner&) = delete;

  // Runs a program until it has ended. What it left in the background lives on, unless it had to be
  // ended.
  ChildResult Run(const ChildSpec& spec);

  // Ends all children, now and later: each `Run` returns soon, with kCancelled.
  void EndAll();

  // Sleeps for `duration`. True as soon as `EndAll` has been called.
  bool WaitForEndAll(absl::Duration duration) const;

  // How many programs run.
  int running() const;

 private:
  const Options options_;
  FileDescriptor end_all_;  // an eventfd, readable for ever after EndAll

  mutable std::mutex mutex_;
  std::condition_variable none_runs_;
  int running_ = 0;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_CHILD_PROCESS_H_
