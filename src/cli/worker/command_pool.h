#ifndef RETRYQ_CLI_WORKER_COMMAND_POOL_H_
#define RETRYQ_CLI_WORKER_COMMAND_POOL_H_

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/process/subprocess.h"
#include "cli/text/outlet.h"
#include "cli/worker/job_pool.h"
#include "loop/pauses.h"
#include "retryq/delivery.h"
#include "retryq/event_loop.h"
#include "retryq/observer.h"
#include "retryq/outcome.h"

namespace retryq::cli {

// The longest value of a variable, so that no message makes exec fail with E2BIG: Linux limits one
// variable to 128 KiB and all of them usually to 2 MiB.
inline constexpr std::size_t kMaxVariable = std::size_t{64} * 1024;

// The message data for the environment of a command. The views need to be valid during the call
// only.
struct MessageFacts {
  const Delivery& delivery;
  std::string_view id;             // RETRYQ_ID
  std::uint64_t failures = 0;      // RETRYQ_ATTEMPT
  std::string_view last_error;     // RETRYQ_LAST_ERROR
  std::uint64_t max_attempts = 0;  // RETRYQ_MAX_ATTEMPTS, 0 = unlimited
};

// This process's environment plus the variables of one message, which `retryq work --help` lists.
// All of them are always set; a variable is empty if the message does not have the property. A NUL
// byte, which a variable cannot contain, becomes U+FFFD.
std::vector<std::string> CommandEnvironment(const MessageFacts& message);

// Returns the outcome of a message, from how its command ended. Exit status 0 is success and 65
// (EX_DATAERR) parks; any other end retries. If the last line on stderr is `retry-after: 30s`, it
// sets the delay of the retry; after `snooze: 30s` the message returns after that delay and has not
// failed. The error text is how the command ended, with the last other line on stderr: "exit 3: no
// such customer", "killed by SIGSEGV".
Outcome OutcomeOf(const ProcessEnd& end);

// The error text of OutcomeOf; "exit 0" for success.
std::string DescribeEnd(const ProcessEnd& end);

// Returns why the command did not start handling the message: it could not be started, or a shell
// or a wrapper exited with 126 or 127. Otherwise returns nullopt.
std::optional<std::string> WhyNotRun(const ProcessEnd& end);

// How the command of a message runs.
struct CommandOptions {
  std::vector<std::string> command;  // program and arguments
  absl::Duration timeout = absl::InfiniteDuration();
  std::uint64_t max_attempts = 0;  // for the environment
  int stdout_fd = STDOUT_FILENO;
  Outlet* errors = nullptr;  // receives a copy of stderr; may be null
  absl::Duration kill_grace = absl::Seconds(2);
};

// Handles messages by running a command for each, up to `jobs` at a time.
//
// If a command cannot be run for a message (see WhyNotRun) but works for other messages, that
// message has failed (see Availability). If the command works for no message, the message stays at
// the end of the queue of waiting messages and loses no attempt. After a pause, which grows, one
// message is tried.
class CommandPool final : public JobPool {
 public:
  struct Options {
    CommandOptions command;
    std::size_t jobs = 1;  // commands at a time
    absl::Duration first_pause = absl::Seconds(1);
    absl::Duration longest_pause = absl::Seconds(10);
  };

  // `loop` must outlive it.
  CommandPool(EventLoop& loop, Options options, Availability::OnState on_state);
  // Stops the commands and waits until they have ended.
  ~CommandPool() override;

  void Start() override {}
  void Handle(Delivery delivery, Settlement settlement) override;
  void RequeueWaiting() override { waiting_.Requeue(); }
  void Stop(std::function<void()> stopped) override;
  std::size_t open() const override { return running_.size(); }
  std::optional<OldestJob> Oldest() const override;
  std::optional<std::string> Trouble() const override { return availability_.Trouble(); }
  std::vector<Job> StopNow() override;

 private:
  struct Run {
    explicit Run(Job its) : job(std::move(its)) {}
    Job job;
    std::optional<Subprocess> process;
  };
  using Running = std::list<Run>::iterator;

  void Feed();
  bool HasRoom() const;
  bool IsStuckOn(const Delivery& delivery) const;
  void StartRun(Job job);
  void OnEnded(Running running, const ProcessEnd& end);
  void Pause(const std::string& why);

  EventLoop& loop_;
  const Options options_;
  Availability availability_;
  Pauses pauses_;
  std::unique_ptr<Timer> try_again_;
  WaitingJobs waiting_;
  std::list<Run> running_;
  bool stopping_ = false;
  std::function<void()> stopped_;
};

// Runs a command for each parked message, one at a time. The message stays parked, whatever the
// result.
class ParkedHook {
 public:
  // Receives the error if the command failed for this message, which has this id, or was not run.
  using OnFailure =
      std::function<void(const Delivery& parked, const std::string& id, const std::string& error)>;

  static constexpr std::size_t kMostWaiting = 1024;

  // `loop` must outlive it. Its destructor stops the running command; waiting ones are not run.
  ParkedHook(EventLoop& loop, CommandOptions options, OnFailure on_failure,
             std::size_t most_waiting = kMostWaiting);

  // Takes an event of kind kParked.
  void OnParked(const Event& parked);

  // Calls `idle` once no command runs or waits. Only one such call may be pending.
  void WhenIdle(std::function<void()> idle);

  // The number of messages whose command runs or waits.
  std::size_t unfinished() const { return tasks_.size(); }

 private:
  struct Task {
    Delivery delivery;
    std::string id;
    std::uint64_t failures;
    std::string error;
  };

  void RunFirst();
  void OnEnded(const ProcessEnd& end);

  EventLoop& loop_;
  const CommandOptions options_;
  const OnFailure on_failure_;
  const std::size_t most_waiting_;
  std::deque<Task> tasks_;  // the first one runs
  std::function<void()> when_idle_;
  std::unique_ptr<Timer> next_;
  std::optional<Subprocess> running_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_COMMAND_POOL_H_
