#ifndef RETRYQ_SETTLEMENT_H_
#define RETRYQ_SETTLEMENT_H_

#include <atomic>
#include <functional>
#include <memory>

#include "retryq/broker/executor.h"
#include "retryq/export.h"
#include "retryq/outcome.h"

namespace retryq {

// The handle that an asynchronous handler gets with a delivery and uses exactly once to settle it.
// Move-only. If it is dropped unsettled, the message is retried, with an error that reports this:
// losing the handle never loses a message.
//
// May be settled or dropped on any thread, but by one thread only, at any time. After the consumer
// or the loop was destroyed this has no effect: the broker requeues the message.
class RETRYQ_EXPORT Settlement {
 public:
  // `settle` is called once on the executor's loop. Retrier makes settlements; tests of handlers
  // may make their own. `abandoned` becomes true when the outcome will be ignored; null: never.
  // `SetBegun` writes to `begun`.
  Settlement(std::shared_ptr<Executor> executor, std::function<void(Outcome)> settle,
             std::shared_ptr<const std::atomic<bool>> abandoned = nullptr,
             std::shared_ptr<std::atomic<bool>> begun = nullptr);

  Settlement(Settlement&&) noexcept;
  Settlement& operator=(Settlement&&) noexcept;
  ~Settlement();

  // Settles the delivery with this outcome; the settlement cannot be used again. May be called
  // inside the handler.
  void Settle(Outcome outcome) &&;

  // The compiler rejects a settlement that is a variable, and prints what to write instead.
  template <bool kIsTemporary = false>
  void Settle(const Outcome& outcome) &;

  // Whether the outcome will be ignored: see Delivery::abandoned. Thread-safe.
  bool abandoned() const {
    return abandoned_ != nullptr && abandoned_->load(std::memory_order_relaxed);
  }

  // The executor that receives the outcome: the loop's. Null once the delivery is settled.
  const std::shared_ptr<Executor>& executor() const { return executor_; }

  // For a handler that queues messages before it works on them: sets whether the work has begun.
  // Without a call, it begins when the handler is called. If RabbitMQ 4.3 or newer requeues a
  // message after the consumer timeout and its work had not begun, the message does not count as
  // failed.
  void SetBegun(bool begun) const {
    if (begun_ != nullptr) begun_->store(begun, std::memory_order_relaxed);
  }

 private:
  std::shared_ptr<Executor> executor_;
  std::function<void(Outcome)> settle_;
  std::shared_ptr<const std::atomic<bool>> abandoned_;
  std::shared_ptr<std::atomic<bool>> begun_;
};

template <bool kIsTemporary>
void Settlement::Settle(const Outcome& /*outcome*/) & {
  static_assert(kIsTemporary, "write std::move(settlement).Settle(outcome): it is used up");
}

}  // namespace retryq

#endif  // RETRYQ_SETTLEMENT_H_
