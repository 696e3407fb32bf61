#ifndef RETRYQ_TEST_FAULT_WORKER_H_
#define RETRYQ_TEST_FAULT_WORKER_H_

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fault/worker_log.h"
#include "support/standard.h"

namespace retryq::fault {

// A fault_worker in its own process, which can be started repeatedly. Throws std::runtime_error if
// it cannot be started, or has ended by itself. Used on one thread, which must outlive the object,
// because the process dies with that thread.
class Worker {
 public:
  struct Options {
    std::string program;
    std::string log;  // each start appends the worker's actions to it, and its stderr to LOG.err
    std::string queue_type;
    absl::Duration confirm_timeout;
    std::vector<std::string> flags;  // further ones of fault_worker
    std::vector<std::string> urls;
  };

  explicit Worker(Options options) : options_(std::move(options)) {}
  // Kills it.
  ~Worker() { Kill(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Start() {
    std::vector<std::string> words = {
        options_.program, options_.log, options_.queue_type,
        std::to_string(absl::ToInt64Milliseconds(options_.confirm_timeout))};
    words.insert(words.end(), options_.flags.begin(), options_.flags.end());
    words.insert(words.end(), options_.urls.begin(), options_.urls.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);

    const std::string errors = options_.log + ".err";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                     O_WRONLY | O_APPEND | O_CREAT, 0600);
    const int error = ::posix_spawn(&process_, options_.program.c_str(), &actions, nullptr,
                                    arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      process_ = 0;
      throw std::runtime_error("cannot run " + options_.program + ": " + std::strerror(error));
    }
  }
  // Sets the flags from its next start on.
  void SetFlags(std::vector<std::string> flags) { options_.flags = std::move(flags); }
  // SIGKILL, SIGSTOP and SIGCONT.
  void Kill() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    int status = 0;
    Reap(std::exchange(process_, 0), &status, 0);
  }
  void Freeze() const { ::kill(process_, SIGSTOP); }
  void Thaw() const { ::kill(process_, SIGCONT); }
  // Sends SIGTERM; returns whether it exited with 0 within `patience`, after which it is killed.
  bool Stop(absl::Duration patience) {
    if (process_ == 0) return true;
    ::kill(process_, SIGTERM);
    int status = 0;
    for (const absl::Time end = absl::Now() + patience; absl::Now() < end;
         absl::SleepFor(absl::Milliseconds(10))) {
      if (!Reap(process_, &status, WNOHANG)) continue;
      process_ = 0;
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    Kill();
    return false;
  }

  // Fails if it has ended by itself.
  void CheckRuns() {
    if (!HasEnded()) return;
    throw std::runtime_error("a worker ended by itself, see " + options_.log + ".err");
  }
  // Starts it again if it has ended by itself; returns whether it had.
  bool StartAgainIfDead() {
    if (!HasEnded()) return false;
    Start();
    return true;
  }

  // Returns its actions since the last call.
  std::vector<WorkerEntry> News() { return ReadWorkerLog(options_.log, &offset_); }

 private:
  // Returns whether the process has ended, and how; waits for it unless a flag prevents that.
  static bool Reap(pid_t process, int* status, int options) {
    pid_t ended = 0;
    do {
      ended = ::waitpid(process, status, options);
    } while (ended < 0 && errno == EINTR);
    return ended == process;
  }

  bool HasEnded() {
    int status = 0;
    if (process_ == 0 || !Reap(process_, &status, WNOHANG)) return false;
    process_ = 0;
    return true;
  }

  Options options_;
  pid_t process_ = 0;  // 0: none runs
  std::size_t offset_ = 0;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_WORKER_H_
