#ifndef RETRYQ_TEST_INTEGRATION_COMMAND_RUN_H_
#define RETRYQ_TEST_INTEGRATION_COMMAND_RUN_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "support/peer.h"
#include "support/temporary_directory.h"
#include "support/test_vhost.h"

namespace retryq::testing {

// One run of the built command. It is killed with its owner.
class CommandRun {
 public:
  // `url` becomes RETRYQ_URL; `input` is what can be read from stdin. `program`: another one, which
  // runs it.
  CommandRun(const std::vector<std::string>& arguments, const std::string& url,
             const std::string& input = "", const std::string& program = RETRYQ_COMMAND) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const std::string in = files_.Write("stdin", input);
    const std::string out = files_.Write("stdout", "");
    const std::string err = files_.Write("stderr", "");
    constexpr int kWrite = O_WRONLY | O_APPEND;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), kWrite, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), kWrite, 0);
    std::vector<std::string> command = {program};
    command.insert(command.end(), arguments.begin(), arguments.end());
    std::vector<std::string> environment = {"RETRYQ_URL=" + url};
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (!std::string_view(*variable).starts_with("RETRYQ_URL=")) {
        environment.emplace_back(*variable);
      }
    }
    const int error = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr,
                                    Pointers(command).data(), Pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error("cannot start " + program);
  }
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;
  ~CommandRun() {
    if (exit_code_) return;
    Signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  void Signal(int signal) const { ::kill(pid_, signal); }

  // Its exit code, minus the signal if it was killed; nothing if it does not end in time.
  std::optional<int> Wait(absl::Duration patience = absl::Seconds(30)) {
    WaitUntil([this] { return Ended(); }, patience);
    return exit_code_;
  }

  // Ends it as an operator would. Whether all went well.
  ::testing::AssertionResult Stop() {
    Signal(SIGTERM);
    if (Wait() == 0) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << Story();
  }

  std::string out() const { return files_.Read("stdout"); }
  std::string err() const { return files_.Read("stderr"); }

  // With --json: its events so far. Throws if a line is no JSON.
  std::vector<nlohmann::json> events(std::string_view name = "") const {
    std::vector<nlohmann::json> events;
    std::istringstream lines(out());
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      events.push_back(nlohmann::json::parse(line));
    }
    if (!name.empty()) {
      std::erase_if(events, [name](const auto& event) { return event.at("event") != name; });
    }
    return events;
  }

  // Waits until there are so many events of that name.
  ::testing::AssertionResult Says(std::string_view name, std::size_t count = 1) {
    return Until([&] { return events(name).size() >= count; }, name);
  }

  // Waits until the condition holds while the command runs.
  ::testing::AssertionResult Until(const std::function<bool()>& condition,
                                   std::string_view what = "it") {
    if (WaitUntil([&] { return condition() || Ended(); }, absl::Seconds(30)) && condition()) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << what << " did not happen;" << Story();
  }

  std::string Story() const {
    const std::string end = exit_code_ ? "exited with " + std::to_string(*exit_code_) : "runs";
    return " the command " + end + "\nstdout: " + out() + "\nstderr: " + err();
  }

  static bool WaitUntil(const std::function<bool()>& condition, absl::Duration patience) {
    const absl::Time end = absl::Now() + patience;
    while (!condition()) {
      if (absl::Now() > end) return false;
      absl::SleepFor(absl::Milliseconds(2));
    }
    return true;
  }

 private:
  static std::vector<char*> Pointers(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (std::string& string : strings) pointers.push_back(string.data());
    pointers.push_back(nullptr);
    return pointers;
  }

  bool Ended() {
    int status = 0;
    if (!exit_code_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    return exit_code_.has_value();
  }

  TemporaryDirectory files_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// A test of the command on a real broker: in a vhost of its own, with the queue "orders".
class CommandTest : public ::testing::Test {
 protected:
  using Arguments = std::vector<std::string>;

  void SetUp() override { peer_.DeclareQueue("orders"); }

  // `retryq work --json --queue orders --base 50ms FLAGS -- sh -c SCRIPT`
  CommandRun Work(const Arguments& flags, const std::string& script) {
    Arguments all = {"work", "--json", "--queue", "orders", "--base", "50ms"};
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    return CommandRun(all, vhost_.Url());
  }

  void Publish(std::string_view body) { peer_.Publish("", "orders", body); }

  // A file that scripts can write to or wait for, in single quotes.
  std::string File(const std::string& name) const { return "'" + files_.File(name) + "'"; }

  // The x-retry-error of the first parked message; empty if there is none.
  std::string ParkedError() {
    const amqp::MessagePtr parked = peer_.Get("orders.parked");
    if (parked == nullptr) return "";
    return std::string(parked->properties.headers->FindString("x-retry-error").value_or(""));
  }

  TestVhost vhost_;
  Peer peer_{vhost_.Url()};
  TemporaryDirectory files_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_INTEGRATION_COMMAND_RUN_H_
