#include "retry/publisher/parking_lot.h"

#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/broker_version.h"
#include "retry/delay_queues/delay_queue_remedies.h"
#include "retry/delay_queues/quorum_lease.h"
#include "retry/publisher/exclusive_queue.h"

namespace retryq {

namespace {

// `right`: the permission that the refused operation needs.
absl::Status ExplainedAnswer(const absl::Status& refusal, const char* right) {
  if (absl::IsPermissionDenied(refusal)) {
    return absl::PermissionDeniedError(
        absl::StrCat(refusal.message(), "; remedy: grant the user '", right,
                     "' on the queue (rabbitmqctl set_permissions)"));
  }
  if (absl::IsResourceExhausted(refusal)) {
    return absl::FailedPreconditionError(
        absl::StrCat(refusal.message(), "; remedy: ", RemedyForLimit()));
  }
  return ExplainIfExclusive(refusal);
}

// Returns why a queue does not keep messages, if the broker named that as the reason why the
// declare does not fit the existing queue: "inequivalent arg 'durable' for queue …". Returns "" for
// any other reason.
std::string WhyUnfit(const absl::Status& refusal) {
  if (!absl::IsFailedPrecondition(refusal)) return "";
  const absl::string_view text = refusal.message();
  if (absl::StrContains(text, "'durable'")) return "is not durable: a restart deletes it";
  if (absl::StrContains(text, "'auto_delete'")) return "is auto-delete: it goes with a consumer";
  if (absl::StrContains(text, "'x-queue-type'") && absl::StrContains(text, "'stream'")) {
    return "is a stream, which messages cannot be replayed from";
  }
  return "";
}

}  // namespace

ParkingLot::ParkingLot(Broker& broker, const Clock& clock, std::string queue,
                       std::optional<QueueType> type)
    : broker_(broker), clock_(clock), queue_(std::move(queue)), type_(type) {}

void ParkingLot::Ensure(std::function<void(absl::Status)> done) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() == 1) Look();
}

// The type is always set, because the vhost's default could make it a quorum queue. Its delivery
// limit discards messages that are looked at too often. From version 4 on there is a limit unless
// the declare lifts it; before, there is no limit, and no argument to lift one.
amqp::Table ParkingLot::Arguments() const {
  if (type_ == QueueType::kClassic) return {{"x-queue-type", "classic"}};
  amqp::Table arguments = {{"x-queue-type", "quorum"}};
  if (BrokerVersion::Parse(broker_.server_version()).HasDefaultDeliveryLimit())
    arguments.Set("x-delivery-limit", std::int64_t{-1});
  return arguments;
}

void ParkingLot::Look() {
  broker_.Declare({.queue = {.name = queue_, .passive = true}},
                  [self = lifeline_.ptr()](const absl::StatusOr<DeclareOk>& answer) {
                    if (!self) return;
                    if (absl::IsNotFound(answer.status())) return self->OnMissing();
                    if (!answer.ok() || self->fits_ || !self->type_) {
                      // From 4.3 on, a passive declare needs a permission (F48 in
                      // doc/rabbitmq_facts.md).
                      return self->Answer(ExplainedAnswer(answer.status(), "read"));
                    }
                    self->Compare();
                  });
}

// Another program may have declared the queue in any way. A declare with the right arguments makes
// the broker name the first difference. Most differences do not matter. Without the permission to
// configure the queue, differences remain unknown.
void ParkingLot::Compare() {
  Declare([](const absl::Status& refusal, const std::string& queue) {
    const std::string unfit = WhyUnfit(refusal);
    if (unfit.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("the parked queue '", queue, "' ", unfit, " (", refusal.message(),
                     "); remedy: delete it and let this client declare it, or name another one"));
  });
}

void ParkingLot::Declare(Judge judge) {
  broker_.Declare({.queue = {.name = queue_, .arguments = Arguments()}},
                  [self = lifeline_.ptr(), judge](const absl::StatusOr<DeclareOk>& answer) {
                    if (!self) return;
                    const absl::Status status = judge(answer.status(), self->queue_);
                    self->fits_ = status.ok() && !absl::IsUnavailable(answer.status());
                    self->Answer(status);
                  });
}

void ParkingLot::OnMissing() {
  if (type_) {
    return Declare([](const absl::Status& refusal, const std::string& /*queue*/) {
      return ExplainedAnswer(refusal, "configure");
    });
  }
  Answer(absl::NotFoundError(absl::StrCat(
      "the parked queue '", queue_,
      "' is not there, and nothing is declared; remedy: have it declared, durable, or let "
      "this client declare")));
}

void ParkingLot::Answer(const absl::Status& status) {
  if (status.ok() && type_ == QueueType::kQuorum) {
    safe_from_ = clock_.SinceBoot() + QuorumLease::kSettling;
  }
  for (const auto& done : std::exchange(waiting_, {})) done(status);
}

}  // namespace retryq
