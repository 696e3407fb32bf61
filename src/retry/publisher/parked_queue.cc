#include "retry/publisher/parked_queue.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/broker_version.h"
#include "base/remedy.h"
#include "retry/delay_queues/delay_queue_remedies.h"
#include "retry/delay_queues/lease_clock.h"
#include "retry/publisher/parked_queue_rules.h"

namespace retryq {

namespace {

// `right`: the permission that the refused operation needs.
absl::Status ExplainedAnswer(const absl::Status& refusal, const char* right) {
  if (absl::IsPermissionDenied(refusal)) {
    return WithRemedy(refusal, GrantRemedy(absl::StrCat("'", right, "' on the queue")));
  }
  if (absl::IsResourceExhausted(refusal)) {
    return absl::FailedPreconditionError(
        absl::StrCat(refusal.message(), "; remedy: ", RemedyForLimit()));
  }
  return ExplainIfExclusive(refusal);
}

// Returns why the existing queue does not keep messages, if the broker named that as the reason why
// a declare does not fit it: "inequivalent arg 'durable' for queue …". Returns "" for any other
// reason.
std::string WhyUnfit(const absl::Status& refusal) {
  if (!absl::IsFailedPrecondition(refusal)) return "";
  const absl::string_view text = refusal.message();
  const QueueProperties queue = {
      .is_stream = absl::StrContains(text, "'x-queue-type'") && absl::StrContains(text, "'stream'"),
      .is_durable = !absl::StrContains(text, "'durable'"),
      .is_auto_delete = absl::StrContains(text, "'auto_delete'")};
  return std::string(WhyUnfitToPark(queue));
}

}  // namespace

ParkedQueue::ParkedQueue(Broker& broker, const Clock& clock, std::string queue,
                         std::optional<QueueType> type)
    : broker_(broker), clock_(clock), queue_(std::move(queue)), type_(type) {}

void ParkedQueue::Ensure(std::function<void(absl::Status)> done) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  is_missing_ ? OnMissing() : Look();
}

void ParkedQueue::Look() {
  broker_.Declare({.queue = {.name = queue_, .passive = true}},
                  [self = lifeline_.ptr()](const absl::StatusOr<DeclareOk>& answer) {
                    if (!self) return;
                    if (absl::IsNotFound(answer.status())) return self->OnMissing();
                    if (!answer.ok() || self->fits_ || !self->type_) {
                      return self->Answer(ExplainedAnswer(answer.status(), "read"));
                    }
                    self->Compare();
                  });
}

// Another program may have declared the queue with any arguments. A declare with the right
// arguments makes the broker name the first difference. Most differences have no effect on parking.
// Without the permission to configure the queue, differences remain unknown.
void ParkedQueue::Compare() {
  Declare([](const absl::Status& refusal, const std::string& queue) {
    const std::string unfit = WhyUnfit(refusal);
    if (unfit.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("the parked queue '", queue, "' ", unfit, " (", refusal.message(),
                     "); remedy: delete it and let this client declare it, or name another one"));
  });
}

void ParkedQueue::Declare(ToStatus to_status) {
  const auto version = BrokerVersion::Parse(broker_.server_version());
  broker_.Declare({.queue = {.name = queue_, .arguments = ParkedQueueArguments(*type_, version)}},
                  [self = lifeline_.ptr(), to_status](const absl::StatusOr<DeclareOk>& answer) {
                    if (!self) return;
                    if (!absl::IsUnavailable(answer.status())) self->is_missing_ = false;
                    const absl::Status status = to_status(answer.status(), self->queue_);
                    self->fits_ = status.ok() && !absl::IsUnavailable(answer.status());
                    self->Answer(status);
                  });
}

void ParkedQueue::OnMissing() {
  is_missing_ = type_.has_value();
  if (type_) {
    return Declare([](const absl::Status& refusal, const std::string& /*queue*/) {
      return ExplainedAnswer(refusal, "configure");
    });
  }
  Answer(absl::NotFoundError(absl::StrCat(
      "the parked queue '", queue_,
      "' does not exist, and this client declares nothing; remedy: declare it as durable, or let "
      "this client declare")));
}

void ParkedQueue::Answer(const absl::Status& status) {
  if (status.ok() && type_ == QueueType::kQuorum) {
    safe_from_ = clock_.SinceBoot() + LeaseClock::kSettling;
  }
  for (const auto& done : std::exchange(waiting_, {})) done(status);
}

}  // namespace retryq
