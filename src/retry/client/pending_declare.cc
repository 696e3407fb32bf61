#include "retry/client/pending_declare.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "retry/client/declare_work_queue.h"

namespace retryq {
namespace {

// Number of lost connections after which the declaration is assumed to be the cause.
constexpr std::uint32_t kMostLostDeclares = 3;

}  // namespace

PendingDeclare::PendingDeclare(std::shared_ptr<SharedState> shared, WorkQueue work_queue,
                               const DeclareOptions& options, Done done)
    : PendingCall(std::move(shared), options.deadline, std::move(done)),
      work_queue_(std::move(work_queue)),
      is_missing_(options.only_if_missing ? std::make_shared<bool>(false) : nullptr) {}

std::string PendingDeclare::Unanswered(const std::string& when) const {
  return absl::StrCat("the declare of queue '", work_queue_.name, "' was not answered", when);
}

void PendingDeclare::Try() {
  state_ = State::kTrying;
  DeclareWorkQueue(shared_->broker(), work_queue_, is_missing_,
                   [self = lifeline_.ptr()](const absl::Status& answer) {
                     if (self) self->OnAnswer(answer);
                   });
}

void PendingDeclare::OnAnswer(const absl::Status& answer) {
  if (state_ != State::kTrying) return;
  if (!absl::IsUnavailable(answer)) return Finish(answer);
  if (problem_.empty()) problem_ = std::string(answer.message());
  // Brokers before 4.3 close the connection for an unknown type, later ones the channel.
  if (absl::StrContains(problem_, "unknown exchange type")) {
    return Finish(absl::InvalidArgumentError(
        absl::StrCat(problem_, "; remedy: correct it, or enable the plugin that has it")));
  }
  if (!shared_->ready() && ++losses_ >= kMostLostDeclares) {
    return Finish(absl::UnavailableError(absl::StrCat("the connection was lost each of ", losses_,
                                                      " times that queue '", work_queue_.name,
                                                      "' was declared: ", problem_)));
  }
  TryAgainAfterPause();
}

}  // namespace retryq
