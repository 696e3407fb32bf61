#include "fault/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/standard.h"

namespace retryq::fault {
namespace {

// Returns whether the process has ended, and how; waits for it unless a flag prevents that.
bool Reap(pid_t process, int* status, int options) {
  pid_t ended = 0;
  do {
    ended = ::waitpid(process, status, options);
  } while (ended < 0 && errno == EINTR);
  return ended == process;
}

}  // namespace

Worker::Worker(Options options) : options_(std::move(options)) {}

Worker::~Worker() { Kill(); }

void Worker::Start() {
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

void Worker::Kill() {
  if (process_ == 0) return;
  ::kill(process_, SIGKILL);
  int status = 0;
  Reap(std::exchange(process_, 0), &status, 0);
}

void Worker::Freeze() const { ::kill(process_, SIGSTOP); }

void Worker::Thaw() const { ::kill(process_, SIGCONT); }

bool Worker::Stop(absl::Duration patience) {
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

bool Worker::HasEnded() {
  int status = 0;
  if (process_ == 0 || !Reap(process_, &status, WNOHANG)) return false;
  process_ = 0;
  return true;
}

bool Worker::StartAgainIfDead() {
  if (!HasEnded()) return false;
  Start();
  return true;
}

void Worker::CheckRuns() {
  if (!HasEnded()) return;
  throw std::runtime_error("a worker ended by itself, see " + options_.log + ".err");
}

}  // namespace retryq::fault
