#include "retry/parking_lot.h"

#include <utility>

namespace retryq {

ParkingLot::ParkingLot(Broker& broker, std::string queue)
    : broker_(broker), queue_(std::move(queue)) {}

void ParkingLot::Ensure(std::function<void(absl::Status)> done) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() == 1) Ask(/*passive=*/true);
}

void ParkingLot::Ask(bool passive) {
  DeclareParams params{.queue = {.name = queue_, .passive = passive}};
  // The type is always said: a vhost's default could make it a quorum queue,
  // whose delivery limit discards what is looked at too often.
  if (!passive) params.queue.arguments.Set("x-queue-type", "classic");
  broker_.Declare(std::move(params),
                  [self = lifeline_.ptr(), passive](const absl::StatusOr<DeclareOk>& answer) {
                    if (!self) return;
                    if (passive && absl::IsNotFound(answer.status())) {
                      self->Ask(/*passive=*/false);
                    } else {
                      self->Answer(answer.status());
                    }
                  });
}

void ParkingLot::Answer(const absl::Status& status) {
  for (const auto& done : std::exchange(waiting_, {})) done(status);
}

}  // namespace retryq
