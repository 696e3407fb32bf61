#include "cli/worker/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "cli/worker/executable.h"

namespace retryq::cli {
namespace {

constexpr int kNotRun = 127;

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The children of Spawn that have not been waited for. ReapOrphan waits until children that are
// being started are in the list, so it never takes one for an orphan.
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

// Returns whether `fd` is read-only, as a stdout is that was closed: see PrepareProcess.
bool CannotBeWritten(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
}

// The data that the child needs between fork and exec.
struct Program {
  char* const* candidates;  // paths that are tried
  char* const* arguments;
  char* const* environment;
  std::array<int, 4> descriptors;  // stdin, stdout, stderr, errno pipe
  pid_t parent;
};

// Runs in the child, which shares the parent's memory: it must not allocate or lock.
[[noreturn]] void Become(const Program& program) {
  // The broker redelivers the child's message after the parent has ended, so the child is killed
  // then. The signal is sent when the thread that started the child ends, so that thread waits for
  // it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != program.parent) ::_exit(kNotRun);
  ::setpgid(0, 0);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction current = {};
    if (::sigaction(number, nullptr, &current) != 0) continue;
    // The child gets the default action of the signals that this process may ignore. SIGHUP is left
    // as it is, for nohup.
    const bool is_ours = number == SIGINT || number == SIGTERM || number == SIGPIPE ||
                         number == SIGCHLD || current.sa_handler != SIG_IGN;
    if (is_ours && current.sa_handler != SIG_DFL) ::signal(number, SIG_DFL);
  }
  for (int fd = 0; fd < static_cast<int>(program.descriptors.size()); ++fd) {
    ::dup2(program.descriptors[static_cast<std::size_t>(fd)], fd);
  }
  constexpr int kFailure = STDERR_FILENO + 1;
  ::fcntl(kFailure, F_SETFD, FD_CLOEXEC);
  ::closefrom(kFailure + 1);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  int why = ENOENT;
  for (char* const* candidate = program.candidates; *candidate != nullptr; ++candidate) {
    ::execve(*candidate, program.arguments, program.environment);
    if (errno != ENOENT && errno != ENOTDIR) why = errno;
    if (why != ENOENT && why != EACCES) break;
  }
  [[maybe_unused]] const ssize_t written = ::write(kFailure, &why, sizeof(why));
  ::_exit(kNotRun);
}

// Starts the child without copying the memory. Signals are blocked meanwhile, as their handlers
// belong to the parent.
pid_t Start(const Program& program) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();
  if (pid == 0) Become(program);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
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
  FileDescriptor nowhere;
  if (CannotBeWritten(stdout_fd)) {
    // A program must not fail if its output is discarded.
    nowhere = FileDescriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    stdout_fd = nowhere.get();
  }
  Pipe failure;
  if (const int error = OpenPipe(&failure)) return error;
  const std::vector<std::string> candidates = CandidatesFor(command.front());
  const std::vector<char*> programs = Pointers(candidates);
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  const Program program = {.candidates = programs.data(),
                           .arguments = arguments.data(),
                           .environment = variables.data(),
                           .descriptors = {stdin_fd, stdout_fd, stderr_fd, failure.write_end.get()},
                           .parent = ::getpid()};
  const int error = AllChildren().Add(&spawned->pid, [&] {
    spawned->pid = Start(program);
    if (spawned->pid < 0) return errno;
    failure.write_end.Close();
    int why = 0;
    ssize_t size = 0;
    do {
      size = ::read(failure.read_end.get(), &why, sizeof(why));
    } while (size < 0 && errno == EINTR);
    if (size <= 0) return 0;
    while (::waitpid(spawned->pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return why;
  });
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
