#ifndef RETRYQ_TEST_INTEGRATION_TERMINAL_RUN_H_
#define RETRYQ_TEST_INTEGRATION_TERMINAL_RUN_H_

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>

#include "support/test.h"

namespace retryq::testing {

// One run of a program on its own terminal, 100 columns by 24 lines, of the type "xterm". It is
// killed with its owner.
class TerminalRun {
 public:
  // `environment`: variables in addition to those of this process, as NAME=VALUE.
  explicit TerminalRun(std::vector<std::string> command,
                       std::vector<std::string> environment = {}) {
    winsize size = {.ws_row = 24, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
    environment.emplace_back("TERM=xterm");
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    // All code that may allocate runs before the fork.
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ < 0) throw std::runtime_error("there is no pseudo-terminal");
    if (pid_ == 0) {
      for (std::string& variable : environment) ::putenv(variable.data());
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
  }
  TerminalRun(const TerminalRun&) = delete;
  TerminalRun& operator=(const TerminalRun&) = delete;
  ~TerminalRun() {
    if (!exit_code_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(terminal_);
  }

  void Press(std::string_view keys) const {
    EXPECT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void Signal(int signal) const { ::kill(pid_, signal); }
  void Resize(unsigned short columns, unsigned short rows) const {
    const winsize size = {.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }

  // Waits until this has been written since the last call.
  ::testing::AssertionResult Shows(std::string_view text) {
    const std::size_t from = read_to_;
    const bool shown = Until([&] {
      const std::size_t at = output_.find(text, from);
      if (at == std::string::npos) return false;
      read_to_ = at + text.size();
      return true;
    });
    if (shown) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "no '" << text << "' in: " << Readable(from);
  }

  // Its exit code, or minus the signal that killed it; nullopt if it does not exit in time.
  std::optional<int> Wait() {
    Until([this] {
      int status = 0;
      if (exit_code_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return exit_code_.has_value();
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      return true;
    });
    Read();
    return exit_code_;
  }

  // Whether the terminal echoes its input, and passes it on line by line.
  bool IsAsItWas() const {
    termios settings = {};
    if (::tcgetattr(terminal_, &settings) != 0) return false;
    return (settings.c_lflag & ECHO) != 0 && (settings.c_lflag & ICANON) != 0;
  }

  const std::string& output() const { return output_; }

 private:
  bool Until(const std::function<bool()>& condition) {
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (!condition()) {
      if (absl::Now() > end) return false;
      Read();
    }
    return true;
  }

  // Waits a little for more.
  void Read() {
    pollfd readable = {terminal_, POLLIN, 0};
    if (::poll(&readable, 1, 10) <= 0) return;
    std::array<char, 4096> chunk;
    const ssize_t size = ::read(terminal_, chunk.data(), chunk.size());
    if (size > 0) output_.append(chunk.data(), static_cast<std::size_t>(size));
  }

  std::string Readable(std::size_t from) const {
    std::string text = output_.substr(from);
    std::replace(text.begin(), text.end(), '\x1b', '^');
    return text;
  }

  pid_t pid_ = 0;
  int terminal_ = -1;
  std::string output_;
  std::size_t read_to_ = 0;
  std::optional<int> exit_code_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_INTEGRATION_TERMINAL_RUN_H_
