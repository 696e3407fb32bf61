#ifndef RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_LOOP_CALLS_H_
#define RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_LOOP_CALLS_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "retryq/executor.h"

namespace examples {

// A status that shares nothing with this one, as copies do: to be given to another thread.
inline absl::Status Unshared(const absl::Status& status) {
  return absl::Status(status.code(), status.message());
}

// Calls from other threads into an object that lives on the loop's: those that come too late,
// when it is gone, are dropped. A member of that object.
class LoopCalls {
 public:
  explicit LoopCalls(std::shared_ptr<retryq::Executor> loop) : loop_(std::move(loop)) {}

  // Thread-safe. Calls in a later turn of the loop, in the order of posting.
  void Post(std::function<void()> call) const {
    loop_->Post([alive = std::weak_ptr(alive_), call = std::move(call)] {
      if (!alive.expired()) call();
    });
  }

 private:
  const std::shared_ptr<retryq::Executor> loop_;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_LOOP_CALLS_H_
