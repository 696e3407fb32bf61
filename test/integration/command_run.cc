#include "integration/command_run.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "absl/time/clock.h"

namespace retryq::testing {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

CommandRun::CommandRun(const std::vector<std::string>& arguments, const std::string& url,
                       const std::string& input, const std::string& program) {
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

CommandRun::~CommandRun() {
  if (exit_code_) return;
  Signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void CommandRun::Signal(int signal) const { ::kill(pid_, signal); }

std::optional<int> CommandRun::Wait(absl::Duration patience) {
  WaitUntil([this] { return Ended(); }, patience);
  return exit_code_;
}

::testing::AssertionResult CommandRun::Stop() {
  Signal(SIGTERM);
  if (Wait() == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << Story();
}

std::vector<nlohmann::json> CommandRun::events(std::string_view name) const {
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

::testing::AssertionResult CommandRun::Says(std::string_view name, std::size_t count) {
  return Until([&] { return events(name).size() >= count; }, name);
}

::testing::AssertionResult CommandRun::Until(const std::function<bool()>& condition,
                                             std::string_view what) {
  // Does not check a condition again after it has held: some conditions publish.
  bool held = false;
  WaitUntil([&] { return (held = condition()) || Ended(); }, absl::Seconds(30));
  if (held || condition()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << what << " did not happen;" << Story();
}

std::string CommandRun::Story() const {
  const std::string end = exit_code_ ? "exited with " + std::to_string(*exit_code_) : "runs";
  return " the command " + end + "\nstdout: " + out() + "\nstderr: " + err();
}

bool CommandRun::WaitUntil(const std::function<bool()>& condition, absl::Duration patience) {
  const absl::Time end = absl::Now() + patience;
  while (!condition()) {
    if (absl::Now() > end) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

bool CommandRun::Ended() {
  int status = 0;
  if (!exit_code_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  return exit_code_.has_value();
}

CommandTest::End CommandTest::RunToEnd(const Arguments& arguments, const std::string& url,
                                       const std::string& input) {
  CommandRun run(arguments, url, input);
  const std::optional<int> code = run.Wait(absl::Seconds(60));
  return {code, run.out(), run.err()};
}

CommandRun CommandTest::Work(const Arguments& flags, const std::string& script) {
  Arguments all = {"work", "--json", "--queue", "orders", "--base", "50ms"};
  all.insert(all.end(), flags.begin(), flags.end());
  all.insert(all.end(), {"--", "sh", "-c", script});
  return CommandRun(all, vhost_.Url());
}

std::string CommandTest::NotePid(const std::string& name, const std::string& pid) const {
  return "echo " + pid + " > " + File(name) + ".$$; mv " + File(name) + ".$$ " + File(name);
}

bool CommandTest::IsGone(const std::string& name) const {
  const pid_t process = static_cast<pid_t>(std::stol(files_.Read(name)));
  return CommandRun::WaitUntil([&] { return ::kill(process, 0) != 0; }, absl::Seconds(10));
}

std::string CommandTest::ParkedError() {
  const amqp::MessagePtr parked = peer_.Get("orders.parked");
  if (parked == nullptr) return "";
  return std::string(parked->properties.headers->FindString("x-retry-error").value_or(""));
}

}  // namespace retryq::testing
