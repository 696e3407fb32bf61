#include "bench/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "support/standard.h"

namespace retryq::bench {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(5);
constexpr int kPollMs = 200;  // how often signals are checked

volatile std::sig_atomic_t interrupted = 0;

// A child process and the read end of its output. Killed by the destructor if it still runs.
class Child {
 public:
  Child(const std::string& program, std::vector<std::string> words) {
    words.insert(words.begin(), program);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);

    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("cannot open a pipe");
    output_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int error =
        ::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) {
      ::close(output_);
      throw std::runtime_error("cannot run " + program + ": " + std::strerror(error));
    }
  }
  ~Child() {
    ::close(output_);
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    Wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns its output, after it has closed it.
  std::string Read() {
    const absl::Time deadline = absl::Now() + kPatience;
    std::string text;
    while (true) {
      CheckInterrupted();
      if (absl::Now() > deadline) throw std::runtime_error("it has not exited in time");
      pollfd readable{.fd = output_, .events = POLLIN, .revents = 0};
      if (::poll(&readable, 1, kPollMs) <= 0) continue;
      std::array<char, 4096> buffer;
      const ssize_t size = ::read(output_, buffer.data(), buffer.size());
      if (size == 0) return text;
      if (size > 0) text.append(buffer.data(), static_cast<std::size_t>(size));
    }
  }

  // Waits until it exits, and returns whether it succeeded.
  bool Wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t process_ = 0;
  int output_ = -1;
};

}  // namespace

nlohmann::json RunProgram(const std::string& path, std::vector<std::string> arguments) {
  return RunPrograms(path, {std::move(arguments)}).front();
}

std::vector<nlohmann::json> RunPrograms(const std::string& path,
                                        const std::vector<std::vector<std::string>>& arguments) {
  std::vector<std::unique_ptr<Child>> children;
  for (const auto& words : arguments) children.push_back(std::make_unique<Child>(path, words));
  std::vector<nlohmann::json> parsed;
  for (const auto& child : children) {
    const std::string line = child->Read();
    const bool succeeded = child->Wait();
    CheckInterrupted();
    if (!succeeded) throw std::runtime_error(path + " failed; see its message above");
    parsed.push_back(nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false));
    if (!parsed.back().is_object()) {
      throw std::runtime_error(path + " printed no line of JSON: " + line);
    }
  }
  return parsed;
}

void NoteInterrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void CheckInterrupted() {
  if (interrupted != 0) throw Interrupted{};
}

}  // namespace retryq::bench
