#ifndef RETRYQ_CLI_PROCESS_SUBPROCESS_H_
#define RETRYQ_CLI_PROCESS_SUBPROCESS_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/text/io.h"
#include "loop/libevent_ptr.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// Checks whether a program can be started. Like exec, it searches PATH, unless the name contains a
// slash. If it cannot be started, returns kNotFound or kPermissionDenied, with the remedy.
absl::Status CheckExecutable(const std::string& program);

// How a program ended.
struct ProcessEnd {
  int start_error = 0;  // errno if it could not be started; 0: it ran
  int status = 0;       // as waitpid reports it
  std::string stopped;  // why this process stopped it; empty: it ended by itself
  std::string errors;   // the end of its stderr, at most Subprocess::kErrorTail bytes

  // The exit status, if the program exited by itself.
  std::optional<int> exit_status() const;
};

// A program that runs, on an event loop. All calls and callbacks are on the loop's thread, and none
// of them blocks, except the destructor. PrepareProcess must have been called.
//
// The program leads its own process group, has no descriptors except 0, 1 and 2, and no blocked
// signals. It is killed when this process ends. When it ends, its descriptors are closed and it is
// reaped. Processes that it left in the background keep running, unless it had to be stopped.
class Subprocess {
 public:
  static constexpr std::size_t kErrorTail = 4096;

  struct Spec {
    // The program, which is looked up in PATH unless it contains a slash, and its arguments. Not
    // empty.
    std::vector<std::string> command;
    // NAME=VALUE each. The program has them and the other variables of this process.
    std::vector<std::string> variables = {};
    // Written to the program's stdin, which is then closed. Must be valid until the program has
    // ended. If not set, stdin stays open for `Write`.
    std::optional<std::string_view> input;
    int stdout_fd = STDOUT_FILENO;  // the program's stdout, unless Callbacks::output is set
    Outlet* errors = nullptr;       // receives a copy of its stderr; may be null
    absl::Duration timeout = absl::InfiniteDuration();  // then it is stopped
    absl::Duration kill_grace = absl::Seconds(2);       // from SIGTERM to SIGKILL
  };

  struct Callbacks {
    // The program has ended. The last callback; it may destroy the object.
    std::function<void(ProcessEnd end)> ended;
    // If set, receives what the program writes to its stdout. Must not destroy the object.
    std::function<void(std::string_view text)> output = nullptr;
    // The program has closed its "stdin" or "stdout", and has not ended yet. May be null; must not
    // destroy the object.
    std::function<void(const char* which)> closed = nullptr;
  };

  // Does not start the program yet. `loop` must outlive the object.
  Subprocess(EventLoop& loop, Callbacks callbacks);
  // Stops the program and waits until it has ended, without callbacks.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  // Starts the program, once. Returns 0, or an errno if it does not run; then there are no
  // callbacks.
  int Start(const Spec& spec);

  // Writes text to the program's stdin at the end of this turn of the loop. Text that does not fit
  // into the pipe is buffered.
  void Write(std::string_view text);

  // Closes the program's stdin as soon as everything is written.
  void CloseStdin();

  // Sends SIGTERM to its process group, and SIGKILL after `kill_grace`; once. `why` becomes
  // ProcessEnd::stopped.
  void Terminate(std::string why);

  bool is_running() const { return pid_ >= 0 && !has_exited_; }
  bool is_terminated() const { return !stopped_.empty(); }

  // Returns how many bytes the program has read from its stdin; the highest number if that is not
  // known.
  std::uint64_t read_input() const;

 private:
  template <auto method>
  EventPtr MakeEvent(int fd, short what);
  template <typename Take>
  bool ReadOnce(FileDescriptor& fd, EventPtr& readable, const Take& take);

  void Feed();
  // These return whether data was read.
  bool ReadOutput();
  bool ReadErrors();
  void ReadRest();
  void OnExit();
  int Reap();
  void Signal(int signal) const;

  EventLoop& loop_;
  Callbacks callbacks_;
  Outlet* errors_to_ = nullptr;
  absl::Duration kill_grace_;

  pid_t pid_ = -1;
  bool has_exited_ = false;
  FileDescriptor process_;  // a pidfd: readable once the program has exited
  FileDescriptor stdin_, stdout_, stderr_;
  EventPtr exit_event_, write_event_, flush_event_, output_event_, error_event_;

  std::string_view input_;    // the unwritten part of Spec::input
  std::string buffer_;        // from `Write`
  std::size_t written_ = 0;   // bytes of buffer_
  std::uint64_t sent_ = 0;    // bytes in total
  bool close_stdin_ = false;  // once everything is written
  std::string errors_;        // the end of its stderr
  std::string stopped_;
  absl::Duration terminated_at_;  // since boot
  std::unique_ptr<Timer> timer_;  // for the timeout, then for SIGKILL
};

// Reaps processes that programs leave behind, if this process is PID 1, for example in a container,
// or a subreaper: it becomes their parent, and they would stay zombies. Otherwise does nothing.
class OrphanReaper {
 public:
  // `loop` must outlive it.
  explicit OrphanReaper(EventLoop& loop);
  OrphanReaper(const OrphanReaper&) = delete;
  OrphanReaper& operator=(const OrphanReaper&) = delete;

 private:
  void Reap();

  EventLoop& loop_;
  EventPtr child_ended_;  // SIGCHLD
  std::unique_ptr<Timer> again_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PROCESS_SUBPROCESS_H_
