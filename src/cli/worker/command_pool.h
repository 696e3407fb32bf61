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

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/process/subprocess.h"
#include "cli/text/io.h"
#include "loop/pauses.h"
#include "retryq/amqp/properties.h"
#include "retryq/amqp/table.h"
#include "retryq/delivery.h"
#include "retryq/event_loop.h"
#include "retryq/observer.h"
#include "retryq/outcome.h"
#include "retryq/settlement.h"

namespace retryq::cli {

// A message on its way through `retryq work`.
struct Job {
  Delivery delivery;
  Settlement settlement;
  // A program has ended while it had this message and others. Each of them is now given to a
  // program that has no other message, to find the cause.
  bool alone = false;
  int crashes = 0;            // number of programs that ended while they had only this message
  absl::Duration begun = {};  // since boot, if a command runs for it
};

// The message that has been running longest.
struct OldestJob {
  const Delivery& delivery;
  absl::Duration begun;  // since boot
};

// Messages that wait for a program, in order. A message whose channel is gone is skipped, because
// the broker redelivers it. Prefetch limits their number.
class WaitingJobs {
 public:
  void Add(Job job) {
    if (!jobs_.empty() && jobs_.front().delivery.abandoned()) {
      std::erase_if(jobs_, [](const Job& each) { return each.delivery.abandoned(); });
    }
    jobs_.push_back(std::move(job));
  }

  // Puts back messages that a program had, at the front (`first`) or at the end.
  void Return(std::deque<Job> jobs, bool first) {
    if (first) jobs.swap(jobs_);
    for (Job& job : jobs) jobs_.push_back(std::move(job));
  }

  // The next message; null if there is none.
  const Job* Front() {
    while (!jobs_.empty() && jobs_.front().delivery.abandoned()) jobs_.pop_front();
    return jobs_.empty() ? nullptr : &jobs_.front();
  }

  std::optional<Job> Next() {
    if (Front() == nullptr) return std::nullopt;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  std::deque<Job> TakeAll() { return std::exchange(jobs_, {}); }

  void Requeue() {
    for (Job& job : TakeAll()) std::move(job.settlement).Settle(Outcome::Requeue());
  }

 private:
  std::deque<Job> jobs_;
};

// Tracks whether COMMAND can be run. If a run handles no message (exit status 126 or 127, or a
// program that ends before its first answer), the message is the cause if the command has handled
// another one since the last such run. Otherwise the command is, and consuming pauses.
class Availability {
 public:
  enum class State {
    kWorks,
    kFails,  // nothing is consumed
    kTried,  // the command has failed, and the next message tests it again
  };
  // Called at each failure, with the reason in `why`, and at each change to another state.
  using OnState = std::function<void(State state, const std::string& why)>;

  static constexpr int kManyInVain = 3;

  explicit Availability(OnState on_state) : on_state_(std::move(on_state)) {}

  State state() const { return state_; }

  void Worked() {  // the command has handled a message, with any outcome
    has_worked_ = true;
    in_vain_ = 0;
    Recover();
  }

  // The command seems to work, although it has not handled a message yet.
  void Recover() { Change(State::kWorks); }

  // After a run that handled no message: returns whether the command has handled one since the last
  // such run.
  bool TakeProof() { return std::exchange(has_worked_, false); }

  // A run has ended without handling a message.
  void EndedInVain(const std::string& why) {
    ++in_vain_;
    why_in_vain_ = why;
  }

  // Returns why the command does not work: kManyInVain runs in a row have handled no message.
  std::optional<std::string> Trouble() const {
    if (in_vain_ < kManyInVain) return std::nullopt;
    return absl::StrCat("COMMAND has ended ", in_vain_,
                        " times in a row without having handled a message: ", why_in_vain_);
  }

  void Fail(const std::string& why) {
    state_ = State::kFails;
    on_state_(state_, why);
  }

  // Call it after a pause, before the next try.
  void TryAgain() {
    if (state_ == State::kFails) Change(State::kTried);
  }

 private:
  void Change(State state) {
    if (std::exchange(state_, state) != state) on_state_(state, "");
  }

  const OnState on_state_;
  State state_ = State::kWorks;
  bool has_worked_ = false;  // since the last run that handled no message
  int in_vain_ = 0;          // in a row
  std::string why_in_vain_;
};

// Handles messages by running programs. All calls are on the loop's thread.
class JobPool {
 public:
  virtual ~JobPool() = default;

  virtual void Start() = 0;

  virtual void Handle(Delivery delivery, Settlement settlement) = 0;

  // Requeues the messages that wait for a program.
  virtual void RequeueWaiting() = 0;

  // Requeues the messages that wait, and calls `stopped` when all running programs have ended.
  virtual void Stop(std::function<void()> stopped) = 0;

  // The number of messages that programs have.
  virtual std::size_t open() const = 0;

  virtual std::optional<OldestJob> Oldest() const = 0;

  // Returns why the programs handle no messages: see Availability.
  virtual std::optional<std::string> Trouble() const = 0;

  // Stops the programs and waits until they have ended. Returns the messages that are not settled.
  virtual std::vector<Job> StopNow() = 0;
};

// The longest value of a variable, so that no message makes exec fail with E2BIG: Linux limits one
// variable to 128 KiB, and all variables usually to 2 MiB.
inline constexpr std::size_t kMaxVariable = std::size_t{64} * 1024;

// The data of a message for its command. The views need to be valid during the call only.
struct MessageFacts {
  const Delivery& delivery;
  std::string_view id;
  std::uint64_t failures = 0;
  std::string_view last_error;
  std::uint64_t max_attempts = 0;  // 0 = unlimited
  // The context of the attempt, which replaces that of the message.
  std::optional<std::string> traceparent = std::nullopt;
};

// Calls `visit(name, variable, value)` for each field that a command gets, except headers and body.
// The value is a text, empty if the message does not have it, a number that may be missing, or a
// bool.
template <typename Visit>
void VisitFields(const MessageFacts& message, Visit visit) {
  using Number = std::optional<std::uint64_t>;
  const Delivery& delivery = message.delivery;
  const amqp::Properties& properties = delivery.properties();
  const amqp::TableView headers = delivery.headers().all();
  visit("attempt", "RETRYQ_ATTEMPT", Number(message.failures));
  visit("max_attempts", "RETRYQ_MAX_ATTEMPTS", Number(message.max_attempts));
  visit("last_error", "RETRYQ_LAST_ERROR", message.last_error);
  visit("retry_id", "RETRYQ_ID", message.id);
  visit("queue", "RETRYQ_QUEUE", delivery.queue());
  visit("exchange", "RETRYQ_EXCHANGE", delivery.exchange());
  visit("routing_key", "RETRYQ_ROUTING_KEY", delivery.routing_key());
  visit("message_id", "RETRYQ_MESSAGE_ID", properties.message_id.value_or(""));
  visit("correlation_id", "RETRYQ_CORRELATION_ID", properties.correlation_id.value_or(""));
  visit("content_type", "RETRYQ_CONTENT_TYPE", properties.content_type.value_or(""));
  visit("content_encoding", "RETRYQ_CONTENT_ENCODING", properties.content_encoding.value_or(""));
  visit("reply_to", "RETRYQ_REPLY_TO", properties.reply_to.value_or(""));
  visit("type", "RETRYQ_TYPE", properties.type.value_or(""));
  visit("app_id", "RETRYQ_APP_ID", properties.app_id.value_or(""));
  visit("expiration", "RETRYQ_EXPIRATION", properties.expiration.value_or(""));
  visit("priority", "RETRYQ_PRIORITY", Number(properties.priority));
  visit("timestamp", "RETRYQ_TIMESTAMP", Number(properties.timestamp));
  visit("redelivered", "RETRYQ_REDELIVERED", delivery.redelivered());
  const auto in_message = [&](const char* name) { return headers.FindString(name).value_or(""); };
  visit("traceparent", "TRACEPARENT",
        message.traceparent ? std::string_view(*message.traceparent) : in_message("traceparent"));
  visit("tracestate", "TRACESTATE", message.traceparent ? "" : in_message("tracestate"));
}

// The environment variables of a message, which `retryq work --help` lists, as NAME=VALUE. All of
// them are always set. A NUL byte, which a variable cannot contain, becomes U+FFFD.
std::vector<std::string> VariablesFor(const MessageFacts& message);

// Returns the outcome of a message, from how its command ended: see `retryq work --help`. The error
// is that end, with the last line on stderr that is no `retry-after` or `snooze`: "exit 3: no such
// customer", "killed by SIGSEGV".
Outcome OutcomeOf(const ProcessEnd& end);

// The error text of OutcomeOf; "exit 0" for success.
std::string DescribeEnd(const ProcessEnd& end);

// Returns why the command did not start handling the message, if so: it could not be started, or a
// shell exited with 126 or 127.
std::optional<std::string> WhyNotRun(const ProcessEnd& end);

// How the command of a message runs.
struct CommandOptions {
  std::vector<std::string> command;  // program and arguments
  absl::Duration timeout = absl::InfiniteDuration();
  std::uint64_t max_attempts = 0;  // for the environment
  // Returns the `traceparent` of an attempt; null: the command gets that of the message.
  std::string (*traceparent)(const Delivery& delivery) = nullptr;
  int stdout_fd = STDOUT_FILENO;
  Outlet* errors = nullptr;  // receives a copy of stderr; may be null
  absl::Duration kill_grace = absl::Seconds(2);
};

// Handles messages by running a command for each, up to `jobs` at a time. A message for which the
// command cannot be run fails only if the command works for others (see Availability). Otherwise
// the message waits behind the others, and after a pause, which grows, one message is tried.
class CommandPool final : public JobPool {
 public:
  // `loop` must outlive it.
  CommandPool(EventLoop& loop, CommandOptions command, std::size_t jobs,
              Availability::OnState on_state);
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
  const CommandOptions command_;
  const std::size_t jobs_;  // commands at a time
  Availability availability_;
  Pauses pauses_{absl::Seconds(1), absl::Seconds(10)};
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
  // Receives why the command failed, or was not run, for the message with this id.
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

// Keeps some programs running and gives them messages: `work --lines`.
//
// A program that ends is started again: at once if it has answered a message, otherwise after a
// pause, which grows. If it had one message, or one that timed out, that message has failed. If it
// had several, each is given to a program without other messages, before all newer ones.
//
// If the program cannot be run (see Availability) or ends before it has read anything, its messages
// go behind the others and do not fail; nor do they before the first answer of any program, unless
// kCrashesThatCount programs in a row have ended because of one.
class LinesPool final : public JobPool {
 public:
  struct Options {
    CommandOptions command;
    std::size_t programs = 1;
    std::size_t in_flight = 1;  // messages that a program has at a time
    absl::Duration first_pause = absl::Milliseconds(100);
    absl::Duration longest_pause = absl::Seconds(10);
    // A program that is started after others failed counts as working after this time.
    absl::Duration proof = absl::Seconds(2);
    // The time from the first message to the report that no program has answered, and between
    // reports.
    absl::Duration silence = absl::Seconds(10);
    absl::Duration report_silence_every = absl::Minutes(1);
  };

  struct Callbacks {
    Availability::OnState on_state;
    // A program has ended although the pool is not stopping.
    std::function<void(const std::string& why)> program_ended;
    // Programs have messages, but none has answered a message yet.
    std::function<void(const std::string& remedy)> no_answer;
    // A program answers with an unknown field. Called once per program.
    std::function<void(const std::string& warning)> odd_answer;
  };

  static constexpr int kCrashesThatCount = 3;

  // `loop` must outlive it.
  LinesPool(EventLoop& loop, Options options, Callbacks callbacks);
  // Stops the programs and waits until they have ended. Settlements of open messages are dropped.
  ~LinesPool() override;
  LinesPool(const LinesPool&) = delete;
  LinesPool& operator=(const LinesPool&) = delete;

  void Start() override;
  void Handle(Delivery delivery, Settlement settlement) override;
  void RequeueWaiting() override { waiting_.Requeue(); }

  // Closes the stdin of each program once it has answered all its messages. Those that it does not
  // answer are requeued, except one that caused its end, which has failed.
  void Stop(std::function<void()> stopped) override;
  std::size_t open() const override;
  std::optional<OldestJob> Oldest() const override;
  std::optional<std::string> Trouble() const override { return availability_.Trouble(); }
  std::vector<Job> StopNow() override;

 private:
  class Program;
  struct Slot;
  struct End;

  void OnAnswered(Slot& slot);
  void OnEnded(Slot& slot, End end);
  bool HasFailed(End& end, bool works) const;
  void StartProgram(Slot& slot);
  void StartLater(Slot& slot);
  void Feed();
  void WatchForAnswer(absl::Duration patience);
  Program* WithRoom(bool alone) const;
  void CloseIdle();
  void CheckStopped();

  EventLoop& loop_;
  const Options options_;
  const Callbacks callbacks_;
  std::vector<std::unique_ptr<Slot>> slots_;
  WaitingJobs waiting_;
  Availability availability_;
  bool ever_answered_ = false;
  std::unique_ptr<Timer> silence_;  // until `no_answer` is called
  bool stopping_ = false;
  std::function<void()> stopped_;
};

// The protocol between `work --lines` and its children: one JSON object per line in each direction.

// The longest answer: a child may write without line breaks.
inline constexpr std::size_t kLongestAnswer = std::size_t{1} << 20;

// A message for a child, with the line break, as `retryq work --help` shows it: with all fields, if
// necessary empty or null. `traceparent`, if set, replaces the context of the message.
std::string LineFor(std::uint64_t id, const Delivery& delivery, std::uint64_t max_attempts,
                    std::optional<std::string> traceparent = std::nullopt);

// The answer of a child.
struct LinesAnswer {
  std::uint64_t id = 0;
  Outcome outcome = Outcome::Ok();
  std::string ignored = {};  // an unknown field; empty: there is none
};

// The warning about a field in `LinesAnswer::ignored`.
std::string IgnoredFieldWarning(std::string_view field);

// Parses an answer, without its line break, as `retryq work --help` shows it. Returns
// kInvalidArgument with the reason for any other line.
absl::StatusOr<LinesAnswer> ParseAnswer(std::string_view line);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_COMMAND_POOL_H_
