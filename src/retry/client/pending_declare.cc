#include "retry/client/pending_declare.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "loop/pauses.h"
#include "retry/client/declare_work_queue.h"

namespace retryq {
namespace {

// Pauses between declares that were not answered.
constexpr absl::Duration kFirstDeclareAgain = absl::Milliseconds(100);
constexpr absl::Duration kLongestDeclareAgain = absl::Seconds(10);

// Number of lost connections after which the declaration is assumed to be the cause.
constexpr std::uint32_t kMostLostDeclares = 3;

}  // namespace

PendingDeclare::PendingDeclare(std::shared_ptr<SharedState> shared, WorkQueue work_queue,
                               const DeclareOptions& options, Done done)
    : shared_(std::move(shared)),
      work_queue_(std::move(work_queue)),
      only_if_missing_(options.only_if_missing),
      done_(std::move(done)) {
  deadline_ = shared_->environment().timers->After(options.deadline, [this] {
    const std::string& why =
        shared_->ready() || !problem_.empty() ? problem_ : shared_->lost_because();
    Finish(absl::UnavailableError(absl::StrCat("the declare of queue '", work_queue_.name,
                                               "' was not answered in time",
                                               why.empty() ? "" : ": ", why, kSlowBrokerRemedy)));
  });
  listener_ = shared_->AddListener(this);
}

PendingDeclare::~PendingDeclare() { shared_->RemoveListener(listener_); }

void PendingDeclare::Start() {
  if (shared_->ready()) OnReady();
}

void PendingDeclare::GiveUp(absl::StatusCode code, const char* what) {
  Finish(absl::Status(code, absl::StrCat("the declare of queue '", work_queue_.name,
                                         "' was not answered before ", what)));
}

void PendingDeclare::OnReady() {
  if (state_ == State::kWaiting && again_ == nullptr) Declare();
}

void PendingDeclare::OnLost(const absl::Status& why) {
  problem_ = std::string(why.message());
  if (!absl::IsUnavailable(why)) Finish(why);
}

void PendingDeclare::Declare() {
  state_ = State::kDeclaring;
  DeclareWorkQueue(shared_->broker(), work_queue_, only_if_missing_,
                   [self = lifeline_.ptr()](const absl::Status& answer) {
                     if (self) self->OnAnswer(answer);
                   });
}

void PendingDeclare::OnAnswer(const absl::Status& answer) {
  if (state_ != State::kDeclaring) return;
  if (!absl::IsUnavailable(answer)) return Finish(answer);
  state_ = State::kWaiting;
  if (problem_.empty()) problem_ = std::string(answer.message());
  // Brokers before 4.3 close the connection for an unknown type, later ones the channel.
  if (absl::StrContains(problem_, "unknown exchange type")) {
    return Finish(absl::InvalidArgumentError(
        absl::StrCat(problem_, "; remedy: correct it, or enable the plugin that has it")));
  }
  ++failures_;
  if (!shared_->ready() && ++losses_ >= kMostLostDeclares) {
    return Finish(absl::UnavailableError(absl::StrCat("the connection was lost each of ", losses_,
                                                      " times that queue '", work_queue_.name,
                                                      "' was declared: ", problem_)));
  }
  const Environment& environment = shared_->environment();
  again_ = environment.timers->After(
      Pauses::After(failures_, kFirstDeclareAgain, kLongestDeclareAgain, *environment.random),
      [this] {
        const std::unique_ptr<Timer> fired = std::move(again_);
        Start();
      });
}

void PendingDeclare::Finish(absl::Status status) {
  if (std::exchange(state_, State::kDone) == State::kDone) return;
  const SharedState::CallOut calling(*shared_);
  Done done = std::exchange(done_, nullptr);
  std::move(done)(std::move(status));
}

}  // namespace retryq
