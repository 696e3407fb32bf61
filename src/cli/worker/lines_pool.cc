#include "cli/worker/lines_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "cli/worker/child_process.h"
#include "cli/worker/outcome_of_child.h"
#include "retryq/outcome.h"

namespace retryq::cli {

LinesPool::LinesPool(EventLoop& loop, Options options, Callbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      slots_(options_.children) {}

LinesPool::~LinesPool() { EndAll(); }

void LinesPool::Start() {
  for (Slot& slot : slots_) StartChild(slot);
}

void LinesPool::Handle(Delivery delivery, Settlement settlement) {
  if (stopping_) {
    std::move(settlement).Settle(Outcome::Requeue());
    return;
  }
  waiting_.push_back({.delivery = std::move(delivery), .settlement = std::move(settlement)});
  Feed();
}

void LinesPool::Feed() {
  while (!waiting_.empty()) {
    LinesChild* const child = WithRoom();
    if (child == nullptr) return;
    LinesJob job = std::move(waiting_.front());
    waiting_.pop_front();
    child->Give(std::move(job));
  }
}

// The one that has the fewest.
LinesChild* LinesPool::WithRoom() {
  LinesChild* best = nullptr;
  for (const Slot& slot : slots_) {
    LinesChild* const child = slot.child.get();
    if (child == nullptr || !child->takes_more() || child->open() >= options_.in_flight) continue;
    if (best == nullptr || child->open() < best->open()) best = child;
    if (best->open() == 0) break;
  }
  return best;
}

void LinesPool::OnAnswered(LinesChild& child) {
  for (Slot& slot : slots_) {
    if (slot.child.get() == &child) slot.in_vain = 0;
  }
  SetUnavailable(std::nullopt);
  if (stopping_) {
    CloseIdle();
  } else {
    Feed();
  }
}

void LinesPool::OnEnded(LinesChild& child, LinesChild::End end) {
  const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                 [&](const Slot& each) { return each.child.get() == &child; });
  const bool answered = child.has_answered();
  slot->child.reset();
  if (end.first_is_to_blame) {
    std::move(end.unanswered.front().settlement).Settle(absl::UnknownError(end.why));
    end.unanswered.pop_front();
  }
  if (stopping_) {
    for (LinesJob& job : end.unanswered) std::move(job.settlement).Settle(Outcome::Requeue());
    CheckStopped();
    return;
  }
  waiting_.insert(waiting_.begin(), std::make_move_iterator(end.unanswered.begin()),
                  std::make_move_iterator(end.unanswered.end()));
  callbacks_.child_ended(end.why);
  if (end.not_run) {
    SetUnavailable(end.why);
    StartLater(*slot, options_.recheck);
  } else if (answered) {
    StartChild(*slot);
  } else {
    const absl::Duration pause =
        options_.first_pause * (std::int64_t{1} << std::min(slot->in_vain++, 20U));
    StartLater(*slot, std::min(pause, options_.longest_pause));
  }
  Feed();
}

void LinesPool::StartChild(Slot& slot) {
  LinesChild::Owner& owner = *this;
  auto child = std::make_unique<LinesChild>(loop_, options_.child, owner);
  if (const int error = child->Start()) {
    SetUnavailable(WhyNotRun({.end = ChildResult::End::kNotStarted, .code = error}));
    StartLater(slot, options_.recheck);
    return;
  }
  slot.child = std::move(child);
  // One that cannot be run says so soon.
  if (unavailable_) {
    slot.restart = loop_.After(options_.recheck, [this, &slot] {
      const std::unique_ptr<Timer> fired = std::move(slot.restart);
      if (slot.child != nullptr) SetUnavailable(std::nullopt);
    });
  }
  Feed();
}

void LinesPool::StartLater(Slot& slot, absl::Duration pause) {
  slot.restart = loop_.After(pause, [this, &slot] {
    const std::unique_ptr<Timer> fired = std::move(slot.restart);
    StartChild(slot);
  });
}

void LinesPool::SetUnavailable(std::optional<std::string> why_not) {
  if (unavailable_ == why_not.has_value()) return;
  unavailable_ = why_not.has_value();
  callbacks_.availability(std::move(why_not));
}

void LinesPool::Stop(std::function<void()> stopped) {
  stopping_ = true;
  stopped_ = std::move(stopped);
  for (Slot& slot : slots_) slot.restart.reset();
  for (LinesJob& job : waiting_) std::move(job.settlement).Settle(Outcome::Requeue());
  waiting_.clear();
  CloseIdle();
  CheckStopped();
}

void LinesPool::CloseIdle() {
  for (const Slot& slot : slots_) {
    if (slot.child != nullptr && slot.child->open() == 0) slot.child->Close();
  }
}

void LinesPool::CheckStopped() {
  const bool none = std::all_of(slots_.begin(), slots_.end(),
                                [](const Slot& slot) { return slot.child == nullptr; });
  if (none && stopped_) std::exchange(stopped_, nullptr)();
}

std::size_t LinesPool::open() const {
  std::size_t open = 0;
  for (const Slot& slot : slots_) open += slot.child == nullptr ? 0 : slot.child->open();
  return open;
}

std::vector<LinesJob> LinesPool::EndAll() {
  std::vector<LinesJob> unsettled;
  for (LinesJob& job : waiting_) unsettled.push_back(std::move(job));
  waiting_.clear();
  for (Slot& slot : slots_) {
    slot.restart.reset();
    if (slot.child == nullptr) continue;
    slot.child->Terminate("ended with the worker");
    for (LinesJob& job : slot.child->TakeOpen()) unsettled.push_back(std::move(job));
  }
  // All at once, and then each waits for its own.
  for (Slot& slot : slots_) slot.child.reset();
  return unsettled;
}

}  // namespace retryq::cli
