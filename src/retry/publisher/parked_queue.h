#ifndef RETRYQ_SRC_RETRY_PUBLISHER_PARKED_QUEUE_H_
#define RETRYQ_SRC_RETRY_PUBLISHER_PARKED_QUEUE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/clock.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// The durable queue that keeps messages whose retries have ended.
class ParkedQueue {
 public:
  // `broker` and `clock` must outlive the object. A missing queue is declared with `type`; without
  // a type it is not declared, and `Ensure` answers kNotFound.
  ParkedQueue(Broker& broker, const Clock& clock, std::string queue, std::optional<QueueType> type);

  const std::string& queue() const { return queue_; }

  // Checks that the queue exists, and declares it if it is missing. A queue that another program
  // has declared may have any arguments, except that the answer is kFailedPrecondition for a queue
  // that does not keep messages: a stream, auto-delete, transient or exclusive. The first three are
  // noticed only with the permission to configure the queue, which is tested once. Calls during a
  // check share its answer. `done` is never called inside this call.
  void Ensure(std::function<void(absl::Status)> done);

  // The time since boot from which messages that are confirmed in the queue survive a crash of the
  // broker. Another worker may have declared a quorum queue just before this object found it, and a
  // new quorum queue may be empty after a crash.
  absl::Duration safe_from() const { return safe_from_; }

 private:
  void Look();
  void Compare();
  // Converts the broker's answer to the status of this queue.
  using ToStatus = absl::Status (*)(const absl::Status& answer, const std::string& queue);
  void Declare(ToStatus to_status);
  void OnMissing();
  void Answer(const absl::Status& status);

  Broker& broker_;
  const Clock& clock_;
  const std::string queue_;
  const std::optional<QueueType> type_;
  bool fits_ = false;  // if this can be known
  // The next check declares the queue at once: looking for a queue with a long name may cost the
  // connection (F75 in doc/rabbitmq_facts_operations.md).
  bool is_missing_ = false;
  absl::Duration safe_from_ = -absl::InfiniteDuration();
  std::vector<std::function<void(absl::Status)>> waiting_;
  Lifeline<ParkedQueue> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_PUBLISHER_PARKED_QUEUE_H_
