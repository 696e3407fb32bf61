#include <sysexits.h>

#include <algorithm>

#include "absl/status/status.h"
#include "base/escaped_text.h"
#include "cli/text/duration.h"
#include "cli/worker/command_pool.h"
#include "retryq/broker/clock.h"

namespace retryq::cli {
namespace {

constexpr std::size_t kShownOfALine = 100;

constexpr char kNoAnswer[] =
    "COMMAND has received messages and has not answered any. If it has handled one, its answer is "
    "still in a buffer: flush stdout after each line (Python: print(..., flush=True); C: "
    "fflush(stdout))";

}  // namespace

// How a program ended.
struct LinesPool::End {
  std::string why;       // "exit 3: out of paper"
  bool not_run = false;  // the program could not be run: exit status 126 or 127
  bool begun = true;     // it has read or answered at least one of its messages
  bool answered = false;
  // The first unanswered message caused the end: it was the only one, or it timed out.
  bool first_is_cause = false;
  // One of several unanswered messages caused the end, but it is not known which.
  bool one_is_cause = false;
  // The unanswered messages, in the order in which they were given.
  std::deque<Job> unanswered;
  absl::Duration took = absl::ZeroDuration();  // time spent on the first of them
};

// A running program. It is stopped if it writes an invalid answer, closes its stdin or stdout
// without exiting, or takes longer than the timeout for a message. The time of a message starts
// when it is the oldest that the program has.
class LinesPool::Program {
 public:
  Program(LinesPool& pool, Slot& slot)
      : pool_(pool),
        slot_(slot),
        process_(pool.loop_, {.ended = [this](const ProcessEnd& end) { OnEnded(end); },
                              .output = [this](std::string_view text) { OnOutput(text); },
                              .closed = [this](const char* which) { OnClosed(which); }}) {}

  int Start() {
    const CommandOptions& options = pool_.options_.command;
    return process_.Start({.command = options.command,
                           .input = std::nullopt,
                           .errors = options.errors,
                           .kill_grace = options.kill_grace});
  }

  void Give(Job job) {
    const std::uint64_t id = ++last_id_;
    const CommandOptions& options = pool_.options_.command;
    std::optional<std::string> traceparent;
    if (options.traceparent != nullptr) traceparent = options.traceparent(job.delivery);
    const std::string line =
        LineFor(id, job.delivery, options.max_attempts, std::move(traceparent));
    process_.Write(line);
    written_ += line.size();
    open_.push_back({.id = id, .job = std::move(job), .given = Now(), .end = written_});
    WatchFirst();
  }

  // No more messages follow.
  void Close() {
    closing_ = true;
    process_.CloseStdin();
  }

  void Terminate(std::string why) { process_.Terminate(std::move(why)); }

  // Removes and returns the unanswered messages, in order. Later answers to them are invalid.
  std::deque<Job> TakeOpen() {
    std::deque<Job> jobs;
    for (Open& open : open_) jobs.push_back(std::move(open.job));
    open_.clear();
    return jobs;
  }

  // Also false while it has a message that must be alone.
  bool takes_more() const {
    const bool is_full = !open_.empty() && open_.front().job.alone;
    return process_.is_running() && !process_.is_terminated() && !closing_ && !closed_ && !is_full;
  }

  std::size_t open() const { return open_.size(); }

  std::optional<OldestJob> Oldest() const {
    if (open_.empty()) return std::nullopt;
    return OldestJob{open_.front().job.delivery, BegunAt(open_.front())};
  }

 private:
  struct Open {
    std::uint64_t id;
    Job job;
    absl::Duration given;  // since boot
    std::uint64_t end;     // of its line, in the program's stdin
  };

  absl::Duration Now() const { return pool_.loop_.clock().SinceBoot(); }

  // When the program began to work on this message. A program that answers in order usually begins
  // a message after it has answered the previous one.
  absl::Duration BegunAt(const Open& open) const {
    return in_order_ ? std::max(open.given, answered_at_) : open.given;
  }

  void OnOutput(std::string_view text);
  void OnLine(std::string_view line);
  void OnClosed(const char* which);
  void OnEnded(const ProcessEnd& process);
  void WatchFirst();

  LinesPool& pool_;
  Slot& slot_;
  std::uint64_t last_id_ = 0;
  std::uint64_t written_ = 0;  // bytes, to its stdin
  std::uint64_t read_ = 0;     // of them, at least
  std::deque<Open> open_;      // by id
  std::string input_;          // the beginning of a line
  bool has_answered_ = false;
  bool odd_answer_said_ = false;
  bool in_order_ = true;                               // all answers so far came in order
  absl::Duration answered_at_ = absl::ZeroDuration();  // last answer, since boot
  bool closing_ = false;
  std::uint64_t watched_ = 0;    // id of the message whose time is running; 0: none
  std::uint64_t timed_out_ = 0;  // id of the message that timed out
  std::unique_ptr<Timer> timeout_;
  std::unique_ptr<Timer> closed_;  // the program has closed a pipe and should exit
  Subprocess process_;             // destroyed first
};

// A slot for a program, which is restarted whenever it ends.
struct LinesPool::Slot {
  explicit Slot(Pauses between_starts) : pauses(std::move(between_starts)) {}
  std::unique_ptr<Program> program;
  std::unique_ptr<Timer> timer;  // for its restart, or for `proof`
  Pauses pauses;
};

void LinesPool::Program::OnOutput(std::string_view text) {
  input_.append(text);
  std::size_t begin = 0;
  std::size_t answered = 0;
  for (;;) {
    const std::size_t end = input_.find('\n', begin);
    if (end == std::string::npos) break;
    const std::size_t before = open_.size();
    // After an invalid answer, later lines are ignored.
    const bool trusted = !process_.is_terminated() || timed_out_ != 0;
    if (trusted) OnLine(std::string_view(input_).substr(begin, end - begin));
    answered += before - open_.size();
    begin = end + 1;
  }
  input_.erase(0, begin);
  if (input_.size() > kLongestAnswer) {
    input_.clear();
    Terminate("wrote a line of more than 1 MiB");
  }
  if (answered == 0) return;
  has_answered_ = true;
  WatchFirst();
  pool_.OnAnswered(slot_);
}

void LinesPool::Program::OnLine(std::string_view line) {
  const auto refuse = [this, line](const std::string& why) {
    Terminate(absl::StrCat("wrote '", EscapedText(line.substr(0, kShownOfALine)),
                           line.size() > kShownOfALine ? "…" : "",
                           "', which is not an answer: ", why));
  };
  absl::StatusOr<LinesAnswer> answer = ParseAnswer(line);
  if (!answer.ok()) return refuse(std::string(answer.status().message()));
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const Open& open) { return open.id == answer->id; });
  if (found == open_.end()) {
    return refuse(answer->id == 0 || answer->id > last_id_
                      ? "this program has received no message with that \"id\"; answer with the "
                        "\"id\" of the line that was read"
                      : "the message with that \"id\" has been answered; write one answer for each "
                        "message");
  }
  // The program may have left the line break in the pipe.
  const std::uint64_t needed = found->end - 1;
  if (read_ < needed) read_ = process_.read_input();
  if (read_ < needed) {
    return refuse("this program has not read the message with that \"id\" yet");
  }
  if (!answer->ignored.empty() && !std::exchange(odd_answer_said_, true)) {
    pool_.callbacks_.odd_answer(IgnoredFieldWarning(answer->ignored));
  }
  Settlement settlement = std::move(found->job.settlement);
  in_order_ = in_order_ && found == open_.begin();
  const absl::Duration begun = BegunAt(*found);
  answered_at_ = Now();
  open_.erase(found);
  std::move(settlement).Settle(std::move(answer->outcome).Took(answered_at_ - begun));
}

// The program usually exits next.
void LinesPool::Program::OnClosed(const char* which) {
  if (process_.is_terminated() || closed_ != nullptr) return;
  closed_ = pool_.loop_.After(pool_.options_.command.kill_grace, [this, which] {
    Terminate(absl::StrCat("closed its ", which, " and did not exit"));
  });
}

void LinesPool::Program::OnEnded(const ProcessEnd& process) {
  End end = {.why = process.stopped.empty() ? DescribeEnd(process) : process.stopped,
             .not_run = WhyNotRun(process).has_value(),
             .begun = has_answered_ || process_.read_input() > 0,
             .answered = has_answered_};
  // A program that exits by itself after some messages may not have read the remaining ones.
  const bool in_peace = has_answered_ && process.exit_status() == EX_OK;
  const bool in_time = timed_out_ == 0;
  end.one_is_cause = !in_peace && in_time && open_.size() > 1;
  end.first_is_cause =
      !in_peace && !open_.empty() && (in_time ? open_.size() == 1 : open_.front().id == timed_out_);
  if (!open_.empty()) end.took = Now() - BegunAt(open_.front());
  end.unanswered = TakeOpen();
  pool_.OnEnded(slot_, std::move(end));
}

void LinesPool::Program::WatchFirst() {
  const absl::Duration timeout = pool_.options_.command.timeout;
  if (timeout == absl::InfiniteDuration() || process_.is_terminated()) return;
  const std::uint64_t first = open_.empty() ? 0 : open_.front().id;
  if (first == watched_) return;
  watched_ = first;
  timeout_.reset();
  if (first == 0) return;
  timeout_ = pool_.loop_.After(timeout, [this, timeout] {
    if (process_.is_terminated()) return;
    timed_out_ = watched_;
    Terminate("timed out after " + DurationText(timeout));
  });
}

LinesPool::LinesPool(EventLoop& loop, Options options, Callbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      availability_(callbacks_.on_state) {
  for (std::size_t i = 0; i < options_.programs; ++i) {
    slots_.push_back(std::make_unique<Slot>(Pauses(options_.first_pause, options_.longest_pause)));
  }
}

LinesPool::~LinesPool() { StopNow(); }

void LinesPool::Start() {
  for (const auto& slot : slots_) StartProgram(*slot);
}

void LinesPool::Handle(Delivery delivery, Settlement settlement) {
  if (stopping_) {
    std::move(settlement).Settle(Outcome::Requeue());
    return;
  }
  waiting_.Add({.delivery = std::move(delivery), .settlement = std::move(settlement)});
  Feed();
}

void LinesPool::Feed() {
  while (const Job* const next = waiting_.Front()) {
    Program* const program = WithRoom(next->alone);
    if (program == nullptr) return;
    program->Give(*waiting_.Next());
    if (!ever_answered_ && silence_ == nullptr) WatchForAnswer(options_.silence);
  }
}

void LinesPool::WatchForAnswer(absl::Duration patience) {
  silence_ = loop_.After(patience, [this] {
    const std::unique_ptr<Timer> fired = std::move(silence_);
    if (ever_answered_ || open() == 0) return;
    callbacks_.no_answer(kNoAnswer);
    WatchForAnswer(options_.report_silence_every);
  });
}

// Returns the program with the fewest messages.
LinesPool::Program* LinesPool::WithRoom(bool alone) const {
  const std::size_t most = alone ? 1 : options_.in_flight;
  Program* best = nullptr;
  for (const auto& slot : slots_) {
    Program* const program = slot->program.get();
    if (program == nullptr || !program->takes_more() || program->open() >= most) continue;
    if (best == nullptr || program->open() < best->open()) best = program;
    if (best->open() == 0) break;
  }
  return best;
}

void LinesPool::OnAnswered(Slot& slot) {
  ever_answered_ = true;
  silence_.reset();
  slot.pauses = Pauses(options_.first_pause, options_.longest_pause);
  availability_.Worked();
  if (stopping_) {
    CloseIdle();
  } else {
    Feed();
  }
}

void LinesPool::OnEnded(Slot& slot, End end) {
  slot.program.reset();
  slot.timer.reset();
  // Then the cause may be the program and not a message.
  const bool in_vain = end.not_run || !end.begun || !ever_answered_;
  const bool works = !in_vain || availability_.TakeProof();
  if (!end.answered) availability_.EndedInVain(end.why);
  if (HasFailed(end, works)) {
    std::move(end.unanswered.front().settlement)
        .Settle(Outcome(absl::UnknownError(end.why)).Took(end.took));
    end.unanswered.pop_front();
  }
  if (stopping_) {
    for (Job& job : end.unanswered) std::move(job.settlement).Settle(Outcome::Requeue());
    return CheckStopped();
  }
  if (end.one_is_cause) {
    for (Job& job : end.unanswered) job.alone = true;
  }
  callbacks_.program_ended(end.why);
  waiting_.Return(std::move(end.unanswered), /*first=*/!in_vain);
  if (!works) availability_.Fail(end.why);
  if (end.answered && !in_vain) {
    StartProgram(slot);
  } else {
    StartLater(slot);
  }
  Feed();
}

// Returns whether the first unanswered message has failed, because it counts as the cause of the
// program's end.
bool LinesPool::HasFailed(End& end, bool works) const {
  if (!end.first_is_cause || !end.begun) return false;
  const int crashes = ++end.unanswered.front().crashes;
  return works || (!end.not_run && crashes >= kCrashesThatCount);
}

void LinesPool::StartProgram(Slot& slot) {
  auto program = std::make_unique<Program>(*this, slot);
  if (const int error = program->Start()) {
    const std::string why = *WhyNotRun({.start_error = error});
    availability_.EndedInVain(why);
    availability_.Fail(why);
    return StartLater(slot);
  }
  slot.program = std::move(program);
  availability_.TryAgain();
  if (availability_.state() != Availability::State::kWorks) {
    slot.timer = loop_.After(options_.proof, [this, &slot] {
      const std::unique_ptr<Timer> fired = std::move(slot.timer);
      availability_.Recover();
    });
  }
  Feed();
}

void LinesPool::StartLater(Slot& slot) {
  const absl::Duration pause = slot.pauses.Next(loop_.clock().SinceBoot(), loop_.random());
  slot.timer = loop_.After(pause, [this, &slot] {
    const std::unique_ptr<Timer> fired = std::move(slot.timer);
    StartProgram(slot);
  });
}

void LinesPool::Stop(std::function<void()> stopped) {
  stopping_ = true;
  stopped_ = std::move(stopped);
  for (const auto& slot : slots_) slot->timer.reset();
  silence_.reset();
  waiting_.Requeue();
  CloseIdle();
  CheckStopped();
}

void LinesPool::CloseIdle() {
  for (const auto& slot : slots_) {
    if (slot->program != nullptr && slot->program->open() == 0) slot->program->Close();
  }
}

void LinesPool::CheckStopped() {
  const bool none = std::all_of(slots_.begin(), slots_.end(),
                                [](const auto& slot) { return slot->program == nullptr; });
  if (none && stopped_) std::exchange(stopped_, nullptr)();
}

std::size_t LinesPool::open() const {
  std::size_t open = 0;
  for (const auto& slot : slots_) open += slot->program == nullptr ? 0 : slot->program->open();
  return open;
}

std::optional<OldestJob> LinesPool::Oldest() const {
  std::optional<OldestJob> oldest;
  for (const auto& slot : slots_) {
    if (slot->program == nullptr) continue;
    const std::optional<OldestJob> its = slot->program->Oldest();
    if (its && (!oldest || its->begun < oldest->begun)) oldest.emplace(*its);
  }
  return oldest;
}

std::vector<Job> LinesPool::StopNow() {
  std::vector<Job> unsettled;
  silence_.reset();
  for (Job& job : waiting_.TakeAll()) unsettled.push_back(std::move(job));
  for (const auto& slot : slots_) {
    slot->timer.reset();
    if (slot->program == nullptr) continue;
    slot->program->Terminate("stopped with retryq");
    for (Job& job : slot->program->TakeOpen()) unsettled.push_back(std::move(job));
  }
  // All have received SIGTERM; each destructor now waits for its own program.
  for (const auto& slot : slots_) slot->program.reset();
  return unsettled;
}

}  // namespace retryq::cli
