#include "retry/parking_lot.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "retry/delay_queue_remedies.h"
#include "retry/quorum_lease.h"

namespace retryq {

namespace {

// Whether "4.0.5" is of version 4 or later; what is no version is not.
bool IsVersion4(const std::string& version) { return std::atoi(version.c_str()) >= 4; }

absl::Status WithRemedyForLimit(const absl::Status& refusal) {
  if (!absl::IsResourceExhausted(refusal)) return refusal;
  return absl::FailedPreconditionError(
      absl::StrCat(refusal.message(), "; remedy: ", RemedyForLimit()));
}

}  // namespace

ParkingLot::ParkingLot(Broker& broker, const Clock& clock, std::string queue,
                       std::optional<QueueType> type)
    : broker_(broker), clock_(clock), queue_(std::move(queue)), type_(type) {}

void ParkingLot::Ensure(std::function<void(absl::Status)> done) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() == 1) Ask(/*passive=*/true);
}

// The type is always said: a vhost's default could make it a quorum queue, whose delivery limit
// discards what is looked at too often. Version 4 has such a limit unless told otherwise; before,
// there is none, and no way to say so.
amqp::Table ParkingLot::Arguments() const {
  if (type_ == QueueType::kClassic) return {{"x-queue-type", "classic"}};
  amqp::Table arguments = {{"x-queue-type", "quorum"}};
  if (IsVersion4(broker_.server_version())) arguments.Set("x-delivery-limit", std::int64_t{-1});
  return arguments;
}

void ParkingLot::Ask(bool passive) {
  DeclareParams params{.queue = {.name = queue_, .passive = passive}};
  if (!passive) params.queue.arguments = Arguments();
  broker_.Declare(std::move(params),
                  [self = lifeline_.ptr(), passive](const absl::StatusOr<DeclareOk>& answer) {
                    if (!self) return;
                    if (passive && absl::IsNotFound(answer.status())) {
                      self->OnMissing();
                    } else {
                      self->Answer(WithRemedyForLimit(answer.status()));
                    }
                  });
}

void ParkingLot::OnMissing() {
  if (type_) return Ask(/*passive=*/false);
  Answer(absl::NotFoundError(absl::StrCat(
      "the parked queue '", queue_,
      "' is not there, and nothing is declared; remedy: have somebody declare it, durable, or let "
      "this client declare")));
}

void ParkingLot::Answer(const absl::Status& status) {
  if (status.ok() && type_ == QueueType::kQuorum) {
    safe_from_ = clock_.SinceBoot() + QuorumLease::kSettling;
  }
  for (const auto& done : std::exchange(waiting_, {})) done(status);
}

}  // namespace retryq
