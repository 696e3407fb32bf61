#ifndef RETRYQ_SRC_RETRY_DELIVERY_HANDED_OVER_H_
#define RETRYQ_SRC_RETRY_DELIVERY_HANDED_OVER_H_

#include <mutex>
#include <optional>
#include <utility>

#include "retryq/delivery.h"

namespace retryq {

// A delivery on its way to another thread: either that takes it and handles it, or it is taken back
// before, with its memory, as its channel is gone. Thread-safe.
class HandedOver {
 public:
  explicit HandedOver(Delivery delivery) : delivery_(std::move(delivery)) {}

  // Nothing if it was taken back, or has been taken before.
  std::optional<Delivery> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(delivery_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<Delivery> delivery_;  // guarded by mutex_
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_HANDED_OVER_H_
