#include "cli/worker/lines_pool.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "cli/worker/child_process.h"
#include "cli/worker/outcome_of_child.h"
#include "retryq/outcome.h"

namespace retryq::cli {
namespace {

constexpr char kNoAnswer[] =
    "COMMAND has been given messages and has not answered any yet. If it has handled one, its "
    "answer is still in a buffer: flush stdout after each line (Python: print(..., flush=True); C: "
    "fflush(stdout))";

}  // namespace

LinesPool::LinesPool(EventLoop& loop, Options options, Callbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      availability_(callbacks_.on_state) {
  for (std::size_t i = 0; i < options_.children; ++i) {
    programs_.push_back({.pauses = Pauses(options_.first_pause, options_.longest_pause)});
  }
}

LinesPool::~LinesPool() { EndAll(); }

void LinesPool::Start() {
  for (Program& program : programs_) StartChild(program);
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
    LinesChild* const child = WithRoom(next->alone);
    if (child == nullptr) return;
    child->Give(*waiting_.Next());
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

// Returns the child with the fewest messages.
LinesChild* LinesPool::WithRoom(bool alone) {
  const std::size_t most = alone ? 1 : options_.in_flight;
  LinesChild* best = nullptr;
  for (const Program& program : programs_) {
    LinesChild* const child = program.child.get();
    if (child == nullptr || !child->takes_more() || child->open() >= most) continue;
    if (best == nullptr || child->open() < best->open()) best = child;
    if (best->open() == 0) break;
  }
  return best;
}

void LinesPool::OnAnswered(LinesChild& child) {
  ever_answered_ = true;
  silence_.reset();
  for (Program& program : programs_) {
    if (program.child.get() != &child) continue;
    program.pauses = Pauses(options_.first_pause, options_.longest_pause);
  }
  availability_.Worked();
  if (stopping_) {
    CloseIdle();
  } else {
    Feed();
  }
}

void LinesPool::OnEnded(LinesChild& child, LinesChild::End end) {
  const auto program = std::find_if(programs_.begin(), programs_.end(), [&](const Program& each) {
    return each.child.get() == &child;
  });
  const bool answered = child.has_answered();
  program->child.reset();
  program->timer.reset();
  // If so, the cause may be the program and not a message.
  const bool in_vain = end.not_run || !end.begun || !ever_answered_;
  const bool works = !in_vain || availability_.TakeProof();
  if (!answered) availability_.EndedInVain(end.why);
  if (IsGuilty(end, works)) {
    std::move(end.unanswered.front().settlement)
        .Settle(Outcome(absl::UnknownError(end.why)).Took(end.took));
    end.unanswered.pop_front();
  }
  if (stopping_) {
    for (Job& job : end.unanswered) std::move(job.settlement).Settle(Outcome::Requeue());
    return CheckStopped();
  }
  if (end.one_is_to_blame) {
    for (Job& job : end.unanswered) job.alone = true;
  }
  callbacks_.child_ended(end.why);
  waiting_.Return(std::move(end.unanswered), /*first=*/!in_vain);
  if (!works) availability_.Fail(end.why);
  if (answered && !in_vain) {
    StartChild(*program);
  } else {
    StartLater(*program);
  }
  Feed();
}

// Returns whether the first unanswered message counts as the cause of the child's end.
bool LinesPool::IsGuilty(LinesChild::End& end, bool works) const {
  if (!end.first_is_to_blame || !end.begun) return false;
  const int crashes = ++end.unanswered.front().crashes;
  return works || (!end.not_run && crashes >= kCrashesThatCount);
}

void LinesPool::StartChild(Program& program) {
  LinesChild::Owner& owner = *this;
  auto child = std::make_unique<LinesChild>(loop_, options_.child, owner);
  if (const int error = child->Start()) {
    const std::string why = *WhyNotRun({.end = ChildResult::End::kNotStarted, .code = error});
    availability_.EndedInVain(why);
    availability_.Fail(why);
    return StartLater(program);
  }
  program.child = std::move(child);
  availability_.TryAgain();
  if (availability_.state() != Availability::State::kWorks) {
    program.timer = loop_.After(options_.proof, [this, &program] {
      const std::unique_ptr<Timer> fired = std::move(program.timer);
      availability_.Recover();
    });
  }
  Feed();
}

void LinesPool::StartLater(Program& program) {
  const absl::Duration pause = program.pauses.Next(loop_.clock().SinceBoot(), loop_.random());
  program.timer = loop_.After(pause, [this, &program] {
    const std::unique_ptr<Timer> fired = std::move(program.timer);
    StartChild(program);
  });
}

void LinesPool::Stop(std::function<void()> stopped) {
  stopping_ = true;
  stopped_ = std::move(stopped);
  for (Program& program : programs_) program.timer.reset();
  silence_.reset();
  waiting_.Requeue();
  CloseIdle();
  CheckStopped();
}

void LinesPool::CloseIdle() {
  for (const Program& program : programs_) {
    if (program.child != nullptr && program.child->open() == 0) program.child->Close();
  }
}

void LinesPool::CheckStopped() {
  const bool none = std::all_of(programs_.begin(), programs_.end(),
                                [](const Program& program) { return program.child == nullptr; });
  if (none && stopped_) std::exchange(stopped_, nullptr)();
}

std::size_t LinesPool::open() const {
  std::size_t open = 0;
  for (const Program& program : programs_)
    open += program.child == nullptr ? 0 : program.child->open();
  return open;
}

std::optional<OldestJob> LinesPool::Oldest() const {
  std::optional<OldestJob> oldest;
  for (const Program& program : programs_) {
    if (program.child == nullptr) continue;
    const std::optional<OldestJob> its = program.child->Oldest();
    if (its && (!oldest || its->running > oldest->running)) oldest.emplace(*its);
  }
  return oldest;
}

std::vector<Job> LinesPool::EndAll() {
  std::vector<Job> unsettled;
  silence_.reset();
  for (Job& job : waiting_.TakeAll()) unsettled.push_back(std::move(job));
  for (Program& program : programs_) {
    program.timer.reset();
    if (program.child == nullptr) continue;
    program.child->Terminate("ended with the worker");
    for (Job& job : program.child->TakeOpen()) unsettled.push_back(std::move(job));
  }
  // All have received SIGTERM; each destructor now waits for its own child.
  for (Program& program : programs_) program.child.reset();
  return unsettled;
}

}  // namespace retryq::cli
