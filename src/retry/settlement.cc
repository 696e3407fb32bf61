#include "retryq/settlement.h"

#include <utility>

namespace retryq {

Settlement::Settlement(std::shared_ptr<Executor> executor, std::function<void(Outcome)> settle)
    : executor_(std::move(executor)), settle_(std::move(settle)) {}

Settlement::Settlement(Settlement&&) noexcept = default;

Settlement& Settlement::operator=(Settlement&& other) noexcept {
  // Through a third one, which drops what this one held.
  Settlement taken(std::move(other));
  executor_.swap(taken.executor_);
  settle_.swap(taken.settle_);
  return *this;
}

// An executor is held exactly as long as nothing is settled.
Settlement::~Settlement() {
  if (executor_ == nullptr) return;
  std::move(*this).Settle(
      absl::UnknownError("the handler dropped its settlement without saying "
                         "what became of the message"));
}

void Settlement::Settle(Outcome outcome) && {
  if (executor_ == nullptr) return;
  const std::shared_ptr<Executor> executor = std::move(executor_);
  executor->Post([settle = std::move(settle_), outcome = std::move(outcome)] { settle(outcome); });
}

}  // namespace retryq
