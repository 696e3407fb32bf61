#include "cli/worker/command_pool.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/worker/child_environment.h"
#include "cli/worker/outcome_of_child.h"
#include "retryq/clock.h"

namespace retryq::cli {

CommandPool::CommandPool(EventLoop& loop, ChildRunner& children,
                         std::unique_ptr<WorkerPool> threads, Options options,
                         Availability::OnState on_state)
    : loop_(loop),
      children_(children),
      options_(std::move(options)),
      availability_(std::move(on_state)),
      pauses_(options_.first_pause, options_.longest_pause),
      threads_(std::move(threads)) {}

CommandPool::~CommandPool() { children_.EndAll(); }

void CommandPool::Handle(Delivery delivery, Settlement settlement) {
  if (stopping_) {
    std::move(settlement).Settle(Outcome::Requeue());
    return;
  }
  settlement.SetBegun(IsStuckOn(delivery));
  waiting_.Add({.delivery = std::move(delivery), .settlement = std::move(settlement)});
  Feed();
}

// Returns whether a command is still running for an earlier delivery of this message. If so, the
// new delivery counts as begun even while it waits for its own command.
bool CommandPool::IsStuckOn(const Delivery& delivery) const {
  return std::any_of(running_.begin(), running_.end(), [&](const Job& job) {
    if (!job.delivery.abandoned() || job.delivery.body() != delivery.body()) return false;
    return job.delivery.id().empty() || job.delivery.id() == delivery.id();
  });
}

void CommandPool::Feed() {
  while (HasRoom()) {
    std::optional<Job> job = waiting_.Next();
    if (!job) return;
    Run(*std::move(job));
  }
}

// After the command has failed, it is tried with one message at a time.
bool CommandPool::HasRoom() const {
  switch (availability_.state()) {
    case Availability::State::kWorks:
      return running_.size() < options_.jobs;
    case Availability::State::kTried:
      return running_.empty();
    case Availability::State::kFails:
      return false;
  }
  return false;
}

void CommandPool::Run(Job job) {
  job.settlement.SetBegun(true);
  job.begun = loop_.clock().SinceBoot();
  const Running running = running_.insert(running_.end(), std::move(job));
  // The result is posted to the loop, where this object may be destroyed by then.
  threads_->Submit([this, running, delivery = running->delivery, executor = loop_.executor(),
                    alive = std::weak_ptr(alive_)] {
    const absl::Duration begun = loop_.clock().SinceBoot();
    ChildResult result = RunCommand(delivery);
    const absl::Duration took = loop_.clock().SinceBoot() - begun;
    executor->Post([this, alive, running, result = std::move(result), took] {
      if (!alive.expired()) OnEnded(running, result, took);
    });
  });
}

ChildResult CommandPool::RunCommand(const Delivery& delivery) const {
  const std::vector<std::string> environment =
      ChildEnvironment({.delivery = delivery,
                        .id = delivery.id(),
                        .failures = delivery.attempt(),
                        .last_error = delivery.last_error(),
                        .max_attempts = options_.max_attempts});
  return children_.Run({.command = options_.command,
                        .environment = environment,
                        .input = delivery.body(),
                        .timeout = options_.timeout});
}

void CommandPool::OnEnded(Running running, const ChildResult& result, absl::Duration took) {
  Job job = std::move(*running);
  running_.erase(running);
  const std::optional<std::string> why_not = WhyNotRun(result);
  const bool started = result.end != ChildResult::End::kNotStarted;
  if (!why_not && result.end != ChildResult::End::kCancelled) {
    pauses_.Succeeded(loop_.clock().SinceBoot());
    try_again_.reset();
    availability_.Worked();
  }
  if (!why_not || (started && availability_.TakeProof())) {
    std::move(job.settlement).Settle(OutcomeOf(result, options_.timeout).Took(took));
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
  return OldestJob{running_.front().delivery, loop_.clock().SinceBoot() - running_.front().begun};
}

std::vector<Job> CommandPool::EndAll() {
  children_.EndAll();
  threads_.reset();
  alive_.reset();
  try_again_.reset();
  std::vector<Job> unsettled;
  for (Job& job : running_) unsettled.push_back(std::move(job));
  running_.clear();
  for (Job& job : waiting_.TakeAll()) unsettled.push_back(std::move(job));
  return unsettled;
}

}  // namespace retryq::cli
