#include "retry/client/pending_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "loop/call_after.h"
#include "loop/pauses.h"

namespace retryq {
namespace {

// Pauses between attempts that the broker could not answer.
constexpr absl::Duration kFirstPauseOfCall = absl::Milliseconds(100);
constexpr absl::Duration kLongestPauseOfCall = absl::Seconds(10);

}  // namespace

PendingCall::PendingCall(std::shared_ptr<SharedState> shared, absl::Duration deadline, Done done)
    : shared_(std::move(shared)), done_(std::move(done)), listener_(shared_->AddListener(this)) {
  deadline_ = shared_->environment().timers->After(deadline, [this] {
    Finish(absl::UnavailableError(
        absl::StrCat(Unanswered(absl::StrCat(" in time", Problem())), kSlowBrokerRemedy)));
  });
}

std::string PendingCall::Problem() const {
  if (shared_->ready()) return problem_.empty() ? "" : absl::StrCat(": ", problem_);
  const std::string& why = problem_.empty() ? shared_->lost_because() : problem_;
  return absl::StrCat(": there is no connection to the broker", why.empty() ? "" : ": ", why);
}

void PendingCall::GiveUp(absl::StatusCode code, std::string_view what) {
  Finish(absl::Status(code, Unanswered(absl::StrCat(" before ", std::string(what)))));
}

void PendingCall::OnReady() {
  if (state_ == State::kWaiting && again_ == nullptr) Try();
}

void PendingCall::OnLost(const absl::Status& why) {
  problem_ = std::string(why.message());
  if (!absl::IsUnavailable(why)) Finish(why);
}

void PendingCall::TryAgainAfterPause() {
  state_ = State::kWaiting;
  const Environment& environment = shared_->environment();
  CallAfter(*environment.timers,
            Pauses::After(++failures_, kFirstPauseOfCall, kLongestPauseOfCall, *environment.random),
            again_, [this] { Start(); });
}

void PendingCall::Finish(absl::Status status) {
  if (std::exchange(state_, State::kDone) == State::kDone) return;
  const SharedState::CallOut calling(*shared_);
  Done done = std::exchange(done_, nullptr);
  std::move(done)(std::move(status));
}

}  // namespace retryq
