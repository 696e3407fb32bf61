#include "cli/worker/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <set>
#include <shared_mutex>

namespace retryq::cli {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The children of Spawn that nobody has waited for. A child is in the list before ReapOrphan can
// take it for an orphan: that waits until those that are being started are.
class Children {
 public:
  template <typename Start>
  int Add(pid_t* pid, Start start) {
    const std::shared_lock<std::shared_mutex> starting(starting_);
    const int error = start();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error == 0) pids_.insert(*pid);
    return error;
  }

  void Remove(pid_t pid) {
    const std::lock_guard<std::mutex> lock(mutex_);
    pids_.erase(pid);
  }

  Reaped ReapOther() {
    const std::unique_lock<std::shared_mutex> none_starts(starting_);
    const std::lock_guard<std::mutex> lock(mutex_);
    siginfo_t ended = {};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) {
      return Reaped::kNone;
    }
    if (pids_.contains(ended.si_pid)) return Reaped::kUnknown;
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
    return Reaped::kOrphan;
  }

 private:
  std::shared_mutex starting_;
  std::mutex mutex_;
  std::set<pid_t> pids_;  // guarded by mutex_
};

Children& AllChildren() {
  static Children children;
  return children;
}

// What stdout is if it was closed: see PrepareProcess.
bool CannotBeWritten(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
}

}  // namespace

int OpenPipe(Pipe* pipe) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
  *pipe = {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  return 0;
}

void SetNonBlocking(const FileDescriptor& fd) { ::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

int Spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          int stdin_fd, int stdout_fd, int stderr_fd, Spawned* spawned) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, stdin_fd, STDIN_FILENO);
  if (CannotBeWritten(stdout_fd)) {
    // A program must not fail because its output is thrown away.
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(&actions, stdout_fd, STDOUT_FILENO);
  }
  posix_spawn_file_actions_adddup2(&actions, stderr_fd, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  // Those that may be ignored here. SIGHUP stays as it is, for nohup's sake.
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) sigaddset(&signals, signal);
  posix_spawnattr_setsigdefault(&attributes, &signals);

  const int error = AllChildren().Add(&spawned->pid, [&] {
    return ::posix_spawnp(&spawned->pid, command.front().c_str(), &actions, &attributes,
                          Pointers(command).data(), Pointers(environment).data());
  });
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return error;
  spawned->process = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, spawned->pid, 0)));
  if (spawned->process.is_open()) return 0;
  const int no_pidfd = errno;
  ::kill(-spawned->pid, SIGKILL);
  WaitFor(spawned->pid);
  return no_pidfd;
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  AllChildren().Remove(pid);
  return status;
}

Reaped ReapOrphan() { return AllChildren().ReapOther(); }

}  // namespace retryq::cli
