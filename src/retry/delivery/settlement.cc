#include "retryq/settlement.h"

#include <utility>

#include "retry/delivery/error_text.h"

namespace retryq {

Settlement::Settlement(std::shared_ptr<Executor> executor, std::function<void(Outcome)> settle,
                       std::shared_ptr<const std::atomic<bool>> abandoned,
                       std::shared_ptr<std::atomic<bool>> begun)
    : executor_(std::move(executor)),
      settle_(std::move(settle)),
      abandoned_(std::move(abandoned)),
      begun_(std::move(begun)) {}

Settlement::Settlement(Settlement&&) noexcept = default;

Settlement& Settlement::operator=(Settlement&& other) noexcept {
  // Swaps with a temporary, which settles the delivery of this object as dropped.
  Settlement taken(std::move(other));
  executor_.swap(taken.executor_);
  settle_.swap(taken.settle_);
  abandoned_.swap(taken.abandoned_);
  begun_.swap(taken.begun_);
  return *this;
}

// executor_ is null once the delivery is settled.
Settlement::~Settlement() {
  if (executor_ == nullptr) return;
  std::move(*this).Settle(DroppedSettlement());
}

void Settlement::Settle(Outcome outcome) && {
  if (executor_ == nullptr) return;
  const std::shared_ptr<Executor> executor = std::move(executor_);
  executor->Post([settle = std::move(settle_), outcome = std::move(outcome)] { settle(outcome); });
}

}  // namespace retryq
