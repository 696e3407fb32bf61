#ifndef RETRYQ_SRC_RETRY_PUBLISHER_PARKING_LOT_H_
#define RETRYQ_SRC_RETRY_PUBLISHER_PARKING_LOT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "retryq/broker.h"
#include "retryq/clock.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// The durable queue in which messages wait that have been given up.
class ParkingLot {
 public:
  // Broker and clock must outlive it. `type` is for a queue that is missing; without one such a
  // queue is not declared, and `Ensure` answers kNotFound.
  ParkingLot(Broker& broker, const Clock& clock, std::string queue, std::optional<QueueType> type);

  const std::string& queue() const { return queue_; }

  // Makes sure that it exists: looks for it, and declares it if it is missing. One that another
  // program has declared may have any arguments; kFailedPrecondition is returned for one that keeps
  // no messages: a stream, auto-delete, transient or exclusive. The first three need the right to
  // configure it to be noticed, which is tried once. All who ask meanwhile share the answer, which
  // never comes from inside.
  void Ensure(std::function<void(absl::Status)> done);

  // From when on, since boot, a crash of the broker leaves it there with what is confirmed in it:
  // a quorum queue that was found may have been made that moment, by another worker.
  absl::Duration safe_from() const { return safe_from_; }

 private:
  amqp::Table Arguments() const;
  void Look();
  void Compare();
  // What the broker's answer means for this queue.
  using Judge = absl::Status (*)(const absl::Status& answer, const std::string& queue);
  void Declare(Judge judge);
  void OnMissing();
  void Answer(const absl::Status& status);

  Broker& broker_;
  const Clock& clock_;
  const std::string queue_;
  const std::optional<QueueType> type_;
  bool fits_ = false;  // as far as can be known
  absl::Duration safe_from_ = -absl::InfiniteDuration();
  std::vector<std::function<void(absl::Status)>> waiting_;
  Lifeline<ParkingLot> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_PUBLISHER_PARKING_LOT_H_
