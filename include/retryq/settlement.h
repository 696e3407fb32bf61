#ifndef RETRYQ_SETTLEMENT_H_
#define RETRYQ_SETTLEMENT_H_

#include <atomic>
#include <functional>
#include <memory>

#include "retryq/executor.h"
#include "retryq/export.h"
#include "retryq/outcome.h"

namespace retryq {

// The right and the duty to say what became of one delivery: given to an asynchronous handler with
// the delivery. Move-only. Dropped unsettled it retries, with an error that says so: losing it
// never loses a message.
//
// Thread-safe in that any one thread may settle or drop it, at any time, even after the consumer or
// the loop is gone (then nothing happens: the broker requeues the message).
class RETRYQ_EXPORT Settlement {
 public:
  // `settle` is called once on the executor's loop. Made by Retrier; for tests of handlers it can
  // be made by anyone.
  // `abandoned` says when the outcome will be ignored; null: never. `begun` is what `SetBegun`
  // sets.
  Settlement(std::shared_ptr<Executor> executor, std::function<void(Outcome)> settle,
             std::shared_ptr<const std::atomic<bool>> abandoned = nullptr,
             std::shared_ptr<std::atomic<bool>> begun = nullptr);

  Settlement(Settlement&&) noexcept;
  Settlement& operator=(Settlement&&) noexcept;
  ~Settlement();

  // Says the outcome; the settlement is used up. May be called inside the handler.
  void Settle(Outcome outcome) &&;

  // Whether the outcome will be ignored: see Delivery::abandoned. Thread-safe.
  bool abandoned() const {
    return abandoned_ != nullptr && abandoned_->load(std::memory_order_relaxed);
  }

  // For a handler that lets messages wait before it works on them: whether the work has begun. It
  // has from the call of the handler on unless this says otherwise. A message that has only waited
  // when RabbitMQ 4.3 or newer takes it back after the consumer timeout does not count as failed.
  void SetBegun(bool begun) const {
    if (begun_ != nullptr) begun_->store(begun, std::memory_order_relaxed);
  }

 private:
  std::shared_ptr<Executor> executor_;
  std::function<void(Outcome)> settle_;
  std::shared_ptr<const std::atomic<bool>> abandoned_;
  std::shared_ptr<std::atomic<bool>> begun_;
};

}  // namespace retryq

#endif  // RETRYQ_SETTLEMENT_H_
