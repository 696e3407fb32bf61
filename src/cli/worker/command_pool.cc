#include "cli/worker/command_pool.h"

#include <sys/wait.h>
#include <sysexits.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <system_error>

#include "absl/status/status.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"
#include "retryq/broker/clock.h"

namespace retryq::cli {
namespace {

// Exit statuses of shells.
constexpr int kNotExecutable = 126;
constexpr int kCommandNotFound = 127;

std::string Assignment(std::string_view name, std::string_view value) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string assignment = std::string(name) + "=";
  const std::size_t limit = assignment.size() + kMaxVariable;
  for (const char c : value) {
    if (assignment.size() >= limit) break;
    if (c == '\0') {
      assignment.append(kReplacement);
    } else {
      assignment.push_back(c);
    }
  }
  return assignment;
}

// Lists the environment variable of each field.
struct Variables {
  void operator()(std::string_view, std::string_view variable, std::string_view value) {
    all.push_back(Assignment(variable, value));
  }
  void operator()(std::string_view, std::string_view variable,
                  const std::optional<std::uint64_t>& number) {
    all.push_back(Assignment(variable, number ? std::to_string(*number) : ""));
  }
  void operator()(std::string_view, std::string_view variable, bool value) {
    all.push_back(Assignment(variable, value ? "true" : "false"));
  }

  std::vector<std::string>& all;
};

// The parsed end of stderr.
struct LastWords {
  std::string_view error;  // the last line that is none of the following:
  std::optional<absl::Duration> retry_after;
  std::optional<absl::Duration> snooze;
};

// Removes and returns the last line of `text` that is not blank; empty if there is none.
std::string_view TakeLastLine(std::string_view& text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text = text.substr(0, text.find_last_not_of(kBlank) + 1);
  const std::size_t start = text.find_last_of("\r\n") + 1;
  std::string_view line = text.substr(start);
  text.remove_suffix(line.size());
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  return line;
}

LastWords LastWordsOf(std::string_view errors) {
  const std::string_view last = TakeLastLine(errors);
  if (const std::optional<absl::Duration> delay = ParseDelayLine("retry-after", last)) {
    return {.error = TakeLastLine(errors), .retry_after = delay};
  }
  if (const std::optional<absl::Duration> delay = ParseDelayLine("snooze", last)) {
    return {.error = TakeLastLine(errors), .snooze = delay};
  }
  return {.error = last};
}

std::string SignalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

std::string DescribeEndAlone(const ProcessEnd& end) {
  if (end.start_error != 0) {
    return "cannot be started: " + std::generic_category().message(end.start_error);
  }
  if (!end.stopped.empty()) return end.stopped;
  if (WIFSIGNALED(end.status)) return "killed by " + SignalName(WTERMSIG(end.status));
  return "exit " + std::to_string(WEXITSTATUS(end.status));
}

// Starts the command for a message, whose delivery must exist until the command has ended. Returns
// 0 or an errno.
int StartCommand(const CommandOptions& options, MessageFacts message, Subprocess* process) {
  if (options.traceparent != nullptr) message.traceparent = options.traceparent(message.delivery);
  return process->Start({.command = options.command,
                         .variables = VariablesFor(message),
                         .input = message.delivery.body(),
                         .stdout_fd = options.stdout_fd,
                         .errors = options.errors,
                         .timeout = options.timeout,
                         .kill_grace = options.kill_grace});
}

}  // namespace

std::vector<std::string> VariablesFor(const MessageFacts& message) {
  std::vector<std::string> variables;
  VisitFields(message, Variables{variables});
  variables.push_back(
      Assignment("RETRYQ_HEADERS", HeadersJson(message.delivery.headers(), kMaxVariable)));
  return variables;
}

std::string DescribeEnd(const ProcessEnd& end) {
  const std::string_view error = LastWordsOf(end.errors).error;
  std::string description = DescribeEndAlone(end);
  if (!error.empty()) description.append(": ").append(error);
  return description;
}

Outcome OutcomeOf(const ProcessEnd& end) {
  const std::optional<int> exit_status = end.exit_status();
  if (exit_status == EX_OK) return Outcome::Ok();
  const absl::Status error = absl::UnknownError(DescribeEnd(end));
  if (exit_status == EX_DATAERR) return Outcome::Park(error);
  const LastWords last = LastWordsOf(end.errors);
  // A command that did not exit by itself did not decide to snooze.
  if (exit_status && last.snooze) return Outcome::Snooze(*last.snooze, std::string(last.error));
  return last.retry_after ? Outcome::RetryAfter(*last.retry_after, error) : Outcome(error);
}

std::optional<std::string> WhyNotRun(const ProcessEnd& end) {
  const std::optional<int> exit_status = end.exit_status();
  const bool by_shell = exit_status == kNotExecutable || exit_status == kCommandNotFound;
  if (!by_shell && end.start_error == 0) return std::nullopt;
  return DescribeEnd(end);
}

CommandPool::CommandPool(EventLoop& loop, CommandOptions command, std::size_t jobs,
                         Availability::OnState on_state)
    : loop_(loop), command_(std::move(command)), jobs_(jobs), availability_(std::move(on_state)) {}

CommandPool::~CommandPool() { StopNow(); }

void CommandPool::Handle(Delivery delivery, Settlement settlement) {
  if (stopping_) {
    std::move(settlement).Settle(Outcome::Requeue());
    return;
  }
  settlement.SetBegun(IsStuckOn(delivery));
  waiting_.Add({.delivery = std::move(delivery), .settlement = std::move(settlement)});
  Feed();
}

// Returns whether a command is still running for an earlier delivery of this message. Then the new
// delivery counts as begun even while it waits for its own command.
bool CommandPool::IsStuckOn(const Delivery& delivery) const {
  return std::any_of(running_.begin(), running_.end(), [&](const Run& run) {
    const Delivery& earlier = run.job.delivery;
    if (!earlier.abandoned() || earlier.body() != delivery.body()) return false;
    return earlier.id().empty() || earlier.id() == delivery.id();
  });
}

void CommandPool::Feed() {
  while (HasRoom()) {
    std::optional<Job> job = waiting_.Next();
    if (!job) return;
    StartRun(*std::move(job));
  }
}

// After the command has failed, it is tried with one message at a time.
bool CommandPool::HasRoom() const {
  switch (availability_.state()) {
    case Availability::State::kWorks:
      return running_.size() < jobs_;
    case Availability::State::kTried:
      return running_.empty();
    case Availability::State::kFails:
      return false;
  }
  return false;
}

void CommandPool::StartRun(Job job) {
  job.settlement.SetBegun(true);
  job.begun = loop_.clock().SinceBoot();
  const Running run = running_.emplace(running_.end(), std::move(job));
  run->process.emplace(loop_, Subprocess::Callbacks{.ended = [this, run](const ProcessEnd& end) {
                         OnEnded(run, end);
                       }});
  const Delivery& delivery = run->job.delivery;
  const int error = StartCommand(command_,
                                 {.delivery = delivery,
                                  .id = delivery.id(),
                                  .failures = delivery.attempt(),
                                  .last_error = delivery.last_error(),
                                  .max_attempts = command_.max_attempts},
                                 &*run->process);
  if (error != 0) OnEnded(run, {.start_error = error});
}

void CommandPool::OnEnded(Running running, const ProcessEnd& end) {
  Job job = std::move(running->job);
  running_.erase(running);
  const absl::Duration took = loop_.clock().SinceBoot() - job.begun;
  const std::optional<std::string> why_not = WhyNotRun(end);
  if (!why_not) {
    pauses_.Succeeded(loop_.clock().SinceBoot());
    try_again_.reset();
    availability_.Worked();
  }
  if (!why_not || (end.start_error == 0 && availability_.TakeProof())) {
    std::move(job.settlement).Settle(OutcomeOf(end).Took(took));
  } else if (stopping_) {
    std::move(job.settlement).Settle(Outcome::Requeue().Took(took));
  } else {
    waiting_.Add(std::move(job));
    Pause(*why_not);
  }
  if (!stopping_) return Feed();
  if (running_.empty() && stopped_) std::exchange(stopped_, nullptr)();
}

void CommandPool::Pause(const std::string& why) {
  if (availability_.state() == Availability::State::kFails) return;  // reported already
  availability_.EndedInVain(why);
  availability_.Fail(why);
  try_again_ = loop_.After(pauses_.Next(loop_.clock().SinceBoot(), loop_.random()), [this] {
    const std::unique_ptr<Timer> fired = std::move(try_again_);
    availability_.TryAgain();
    Feed();
  });
}

void CommandPool::Stop(std::function<void()> stopped) {
  stopping_ = true;
  stopped_ = std::move(stopped);
  try_again_.reset();
  waiting_.Requeue();
  if (running_.empty()) std::exchange(stopped_, nullptr)();
}

std::optional<OldestJob> CommandPool::Oldest() const {
  if (running_.empty()) return std::nullopt;
  const Job& job = running_.front().job;
  return OldestJob{job.delivery, job.begun};
}

std::vector<Job> CommandPool::StopNow() {
  try_again_.reset();
  stopping_ = true;
  for (Run& run : running_) run.process->Terminate("stopped with retryq");
  std::vector<Job> unsettled;
  while (!running_.empty()) {
    unsettled.push_back(std::move(running_.front().job));
    running_.pop_front();  // waits for the command
  }
  for (Job& job : waiting_.TakeAll()) unsettled.push_back(std::move(job));
  return unsettled;
}

ParkedHook::ParkedHook(EventLoop& loop, CommandOptions options, OnFailure on_failure,
                       std::size_t most_waiting)
    : loop_(loop),
      options_(std::move(options)),
      on_failure_(std::move(on_failure)),
      most_waiting_(most_waiting) {}

void ParkedHook::OnParked(const Event& parked) {
  if (parked.delivery == nullptr) return;
  if (tasks_.size() > most_waiting_) {
    on_failure_(*parked.delivery, std::string(parked.id),
                "not run: too many parked messages wait for it");
    return;
  }
  // The attempt of the delivery does not include the failure that parked it.
  tasks_.push_back({.delivery = *parked.delivery,
                    .id = std::string(parked.id),
                    .failures = parked.delivery->attempt() + 1,
                    .error = std::string(parked.error)});
  if (tasks_.size() == 1) RunFirst();
}

void ParkedHook::WhenIdle(std::function<void()> idle) {
  if (tasks_.empty()) return idle();
  when_idle_ = std::move(idle);
}

// Starts on the next turn of the loop: a command may be destroyed in its own callback, but not
// replaced.
void ParkedHook::RunFirst() {
  next_ = loop_.After(absl::ZeroDuration(), [this] {
    const std::unique_ptr<Timer> fired = std::move(next_);
    const Task& task = tasks_.front();
    running_.emplace(
        loop_, Subprocess::Callbacks{.ended = [this](const ProcessEnd& end) { OnEnded(end); }});
    const int error = StartCommand(options_,
                                   {.delivery = task.delivery,
                                    .id = task.id,
                                    .failures = task.failures,
                                    .last_error = task.error,
                                    .max_attempts = options_.max_attempts},
                                   &*running_);
    if (error != 0) OnEnded({.start_error = error});
  });
}

void ParkedHook::OnEnded(const ProcessEnd& end) {
  running_.reset();
  const Task task = std::move(tasks_.front());
  tasks_.pop_front();
  if (end.exit_status() != EX_OK) on_failure_(task.delivery, task.id, DescribeEnd(end));
  if (!tasks_.empty()) return RunFirst();
  if (when_idle_ != nullptr) std::exchange(when_idle_, nullptr)();
}

}  // namespace retryq::cli
