#include "cli/process/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_split.h"
#include "cli/text/duration.h"
#include "retryq/broker/clock.h"

namespace retryq::cli {
namespace {

constexpr int kNotRun = 127;

// The rest of a program's output is read in at most this number of steps: a process that inherited
// the pipe may write forever.
constexpr int kMostReadsAtExit = 32;

// The paths that exec tries for this program.
std::vector<std::string> CandidatesFor(const std::string& program) {
  if (program.find('/') != std::string::npos) return {program};
  const char* path = std::getenv("PATH");
  std::vector<std::string> candidates;
  for (const std::string& directory :
       std::vector<std::string>(absl::StrSplit(path == nullptr ? "/bin:/usr/bin" : path, ':'))) {
    candidates.push_back((directory.empty() ? "." : directory) + "/" + program);
  }
  return candidates;
}

// The two ends of a pipe, which programs do not inherit.
struct Pipe {
  // Returns 0 or an errno.
  int Open() {
    std::array<int, 2> ends;
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
    read_end = FileDescriptor(ends[0]);
    write_end = FileDescriptor(ends[1]);
    return 0;
  }

  FileDescriptor read_end;
  FileDescriptor write_end;
};

// Only the end of this process; the program's end of the pipe stays blocking.
FileDescriptor NonBlocking(FileDescriptor fd) {
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

// `variables` and those of this process that they do not replace.
std::vector<char*> Environment(const std::vector<std::string>& variables) {
  std::vector<char*> all = Pointers(variables);
  all.pop_back();
  absl::flat_hash_set<std::string_view> replaced;
  replaced.reserve(variables.size());
  for (const std::string& variable : variables) replaced.insert(NameOf(variable));
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    if (!replaced.contains(NameOf(*inherited))) all.push_back(*inherited);
  }
  all.push_back(nullptr);
  return all;
}

// The running programs of this process, which OrphanReaper leaves alone.
std::set<pid_t>& RunningPrograms() {
  static std::set<pid_t> pids;
  return pids;
}

// Returns whether `fd` is read-only. PrepareProcess opens a closed stdout in this way.
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
  // then. The signal is sent when the thread that started the child ends, which is the main one.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != program.parent) ::_exit(kNotRun);
  ::setpgid(0, 0);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction current = {};
    if (::sigaction(number, nullptr, &current) != 0) continue;
    // The child gets the default action of the signals that this process may ignore. SIGHUP is left
    // as it is, for nohup.
    const bool is_ours = number == SIGINT || number == SIGTERM || number == SIGPIPE ||
                         number == SIGXFSZ || number == SIGCHLD || current.sa_handler != SIG_IGN;
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

// Starts the child without copying the memory. Signals are blocked meanwhile, because their
// handlers belong to the parent.
pid_t Fork(const Program& program) {
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

int WaitFor(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  RunningPrograms().erase(pid);
  return status;
}

// Starts a program with these descriptors as stdin, stdout and stderr. Returns 0 or an errno.
int Spawn(const Subprocess::Spec& spec, int in, int out, int err, pid_t* pid,
          FileDescriptor* process) {
  FileDescriptor nowhere;
  if (CannotBeWritten(out)) {
    // A program must not fail if its output is discarded.
    nowhere = FileDescriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    out = nowhere.get();
  }
  Pipe failure;
  if (const int error = failure.Open()) return error;
  const std::vector<std::string> candidates = CandidatesFor(spec.command.front());
  const std::vector<char*> programs = Pointers(candidates);
  const std::vector<char*> arguments = Pointers(spec.command);
  const std::vector<char*> variables = Environment(spec.variables);
  const pid_t child = Fork({.candidates = programs.data(),
                            .arguments = arguments.data(),
                            .environment = variables.data(),
                            .descriptors = {in, out, err, failure.write_end.get()},
                            .parent = ::getpid()});
  if (child < 0) return errno;
  failure.write_end.Close();
  int why = 0;
  ssize_t size = 0;
  do {
    size = ::read(failure.read_end.get(), &why, sizeof(why));
  } while (size < 0 && errno == EINTR);
  if (size > 0) {
    WaitFor(child);
    return why;
  }
  *process = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!process->is_open()) {
    why = errno;
    ::kill(child, SIGKILL);
    WaitFor(child);
    return why;
  }
  RunningPrograms().insert(child);
  *pid = child;
  return 0;
}

bool AdoptsOrphans() {
  int subreaper = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
  return ::getpid() == 1 || subreaper != 0;
}

}  // namespace

absl::Status CheckExecutable(const std::string& program) {
  bool exists = false;
  for (const std::string& candidate : CandidatesFor(program)) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(candidate, ignored)) continue;
    if (::access(candidate.c_str(), X_OK) == 0) return absl::OkStatus();
    exists = true;
  }
  if (exists) {
    return absl::PermissionDeniedError("'" + program + "' is not executable: chmod +x it");
  }
  const std::string where = program.find('/') == std::string::npos ? " in PATH" : "";
  return absl::NotFoundError("there is no program '" + program + "'" + where +
                             ": install it, or give its path");
}

std::optional<int> ProcessEnd::exit_status() const {
  if (start_error != 0 || !stopped.empty() || !WIFEXITED(status)) return std::nullopt;
  return WEXITSTATUS(status);
}

Subprocess::Subprocess(EventLoop& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)) {}

Subprocess::~Subprocess() {
  if (pid_ < 0) return;
  callbacks_ = {};
  Terminate("stopped with retryq");
  for (;;) {
    const absl::Duration left = terminated_at_ + kill_grace_ - loop_.clock().SinceBoot();
    if (left <= absl::ZeroDuration()) break;
    // poll ignores negative descriptors.
    std::array<pollfd, 3> polled = {
        {{process_.get(), POLLIN, 0}, {stdout_.get(), POLLIN, 0}, {stderr_.get(), POLLIN, 0}}};
    const int ready =
        ::poll(polled.data(), polled.size(), static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready <= 0) continue;
    if (polled[0].revents != 0) break;
    if (polled[1].revents != 0) ReadOutput();
    if (polled[2].revents != 0) ReadErrors();
  }
  ReadRest();
  Reap();
}

template <auto method>
EventPtr Subprocess::MakeEvent(int fd, short what) {
  return EventPtr(event_new(
      loop_.base(), fd, what,
      [](evutil_socket_t, short, void* self) { (static_cast<Subprocess*>(self)->*method)(); },
      this));
}

int Subprocess::Start(const Spec& spec) {
  Pipe in, out, err;
  const bool reads = callbacks_.output != nullptr;
  for (Pipe* pipe : {&in, &err, &out}) {
    if (pipe == &out && !reads) continue;
    if (const int error = pipe->Open()) return error;
  }
  if (const int error = Spawn(spec, in.read_end.get(), reads ? out.write_end.get() : spec.stdout_fd,
                              err.write_end.get(), &pid_, &process_)) {
    return error;
  }
  errors_to_ = spec.errors;
  kill_grace_ = spec.kill_grace;
  stdin_ = NonBlocking(std::move(in.write_end));
  stdout_ = NonBlocking(std::move(out.read_end));
  stderr_ = NonBlocking(std::move(err.read_end));
  exit_event_ = MakeEvent<&Subprocess::OnExit>(process_.get(), EV_READ);
  write_event_ = MakeEvent<&Subprocess::Feed>(stdin_.get(), EV_WRITE);
  // Not tied to a descriptor: all texts of one turn of the loop are written at its end, at once.
  flush_event_ = MakeEvent<&Subprocess::Feed>(-1, 0);
  output_event_ = MakeEvent<&Subprocess::ReadOutput>(stdout_.get(), EV_READ | EV_PERSIST);
  error_event_ = MakeEvent<&Subprocess::ReadErrors>(stderr_.get(), EV_READ | EV_PERSIST);
  event_add(exit_event_.get(), nullptr);
  if (stdout_.is_open()) event_add(output_event_.get(), nullptr);
  event_add(error_event_.get(), nullptr);
  if (spec.timeout != absl::InfiniteDuration()) {
    timer_ = loop_.After(spec.timeout, [this, timeout = spec.timeout] {
      const std::unique_ptr<Timer> fired = std::move(timer_);
      Terminate("timed out after " + DurationText(timeout));
    });
  }
  if (spec.input) {
    input_ = *spec.input;
    close_stdin_ = true;
    Feed();
  }
  return 0;
}

void Subprocess::Write(std::string_view text) {
  if (buffer_.empty()) event_active(flush_event_.get(), EV_WRITE, 0);
  buffer_.append(text);
}

void Subprocess::CloseStdin() {
  close_stdin_ = true;
  if (buffer_.empty() && input_.empty()) Feed();
}

// Writes as much as possible without blocking.
void Subprocess::Feed() {
  while (stdin_.is_open()) {
    const std::string_view rest =
        input_.empty() ? std::string_view(buffer_).substr(written_) : input_;
    if (rest.empty()) break;
    const ssize_t size = ::write(stdin_.get(), rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      event_add(write_event_.get(), nullptr);
      return;
    }
    if (size < 0) {
      input_ = {};
      if (callbacks_.closed != nullptr) callbacks_.closed("stdin");
      break;
    }
    const auto written = static_cast<std::size_t>(size);
    input_.empty() ? void(written_ += written) : input_.remove_prefix(written);
    sent_ += written;
  }
  buffer_.clear();
  written_ = 0;
  if (!close_stdin_ || !stdin_.is_open()) return;
  write_event_.reset();
  stdin_.Close();
}

// At the end of the output, `take` receives an empty text.
template <typename Take>
bool Subprocess::ReadOnce(FileDescriptor& fd, EventPtr& readable, const Take& take) {
  std::array<char, kReadSize> text;
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size <= 0) {
    readable.reset();
    fd.Close();
  }
  take(std::string_view(text.data(), size <= 0 ? 0 : static_cast<std::size_t>(size)));
  return size > 0;
}

bool Subprocess::ReadOutput() {
  return ReadOnce(stdout_, output_event_, [this](std::string_view text) {
    if (!text.empty()) {
      if (callbacks_.output != nullptr) callbacks_.output(text);
    } else if (callbacks_.closed != nullptr) {
      callbacks_.closed("stdout");
    }
  });
}

bool Subprocess::ReadErrors() {
  return ReadOnce(stderr_, error_event_, [this](std::string_view text) {
    if (errors_to_ != nullptr) errors_to_->Write(text);
    errors_.append(text);
    if (errors_.size() > kErrorTail) errors_.erase(0, errors_.size() - kErrorTail);
  });
}

void Subprocess::ReadRest() {
  for (int i = 0; i < kMostReadsAtExit && stdout_.is_open() && ReadOutput(); ++i) {
  }
  for (int i = 0; i < kMostReadsAtExit && stderr_.is_open() && ReadErrors(); ++i) {
  }
}

void Subprocess::OnExit() {
  has_exited_ = true;
  ReadRest();
  const int status = Reap();
  timer_.reset();
  for (EventPtr* e : {&write_event_, &flush_event_, &output_event_, &error_event_}) e->reset();
  const auto ended = std::move(callbacks_.ended);
  ended({.status = status, .stopped = std::move(stopped_), .errors = std::move(errors_)});
}

int Subprocess::Reap() {
  if (is_terminated()) Signal(SIGKILL);  // the rest of its group
  return WaitFor(std::exchange(pid_, -1));
}

void Subprocess::Terminate(std::string why) {
  if (pid_ < 0 || is_terminated()) return;
  stopped_ = std::move(why);
  terminated_at_ = loop_.clock().SinceBoot();
  Signal(SIGTERM);
  timer_ = loop_.After(kill_grace_, [this] { Signal(SIGKILL); });
}

// The id of the group cannot be reused before the program is reaped.
void Subprocess::Signal(int signal) const { ::kill(-pid_, signal); }

std::uint64_t Subprocess::read_input() const {
  int unread = 0;  // bytes in the pipe
  if (!stdin_.is_open() || ::ioctl(stdin_.get(), FIONREAD, &unread) != 0) return UINT64_MAX;
  return sent_ - static_cast<std::uint64_t>(unread);
}

OrphanReaper::OrphanReaper(EventLoop& loop) : loop_(loop) {
  if (!AdoptsOrphans()) return;
  child_ended_.reset(event_new(
      loop.base(), SIGCHLD, EV_SIGNAL | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<OrphanReaper*>(self)->Reap(); }, this));
  event_add(child_ended_.get(), nullptr);
  Reap();
}

// A running program that has ended hides orphans until it is reaped.
void OrphanReaper::Reap() {
  constexpr absl::Duration kHidden = absl::Milliseconds(20);
  again_.reset();
  for (;;) {
    siginfo_t ended = {};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    if (RunningPrograms().contains(ended.si_pid)) break;
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
  }
  again_ = loop_.After(kHidden, [this] {
    const std::unique_ptr<Timer> fired = std::move(again_);
    Reap();
  });
}

}  // namespace retryq::cli
