#include "retry/retrier/target_checks.h"

#include <utility>

namespace retryq {

void TargetChecks::Look(const Target& target, Answer answer) {
  const absl::Duration now = clock_.SinceBoot();
  DropOld(now);
  Known& known = known_[target];
  if (now < known.until) return answer(absl::OkStatus());
  known.waiting.push_back(std::move(answer));
  if (known.waiting.size() > 1) return;

  auto on_answer = [self = lifeline_.ptr(), target](const absl::Status& there) {
    if (self) self->OnAnswer(target, there);
  };
  if (!target.exchange.empty()) {
    broker_.CheckExchange(target.exchange, std::move(on_answer));
    return;
  }
  broker_.Declare({.queue = {.name = target.queue, .passive = true}},
                  [on_answer = std::move(on_answer)](const absl::StatusOr<DeclareOk>& there) {
                    on_answer(there.status());
                  });
}

void TargetChecks::Forget() {
  trusted_.clear();
  for (auto& [target, known] : known_) known.until = -absl::InfiniteDuration();
  std::erase_if(known_, [](const auto& entry) { return entry.second.waiting.empty(); });
}

void TargetChecks::OnAnswer(const Target& target, const absl::Status& there) {
  const auto found = known_.find(target);
  const std::vector<Answer> waiting = std::move(found->second.waiting);
  if (there.ok()) {
    found->second.waiting.clear();
    found->second.until = clock_.SinceBoot() + kTrusted;
    trusted_.emplace_back(target, found->second.until);
  } else {
    known_.erase(found);
  }
  for (const Answer& answer : waiting) answer(there);
}

void TargetChecks::DropOld(absl::Duration now) {
  while (!trusted_.empty() && (trusted_.front().second <= now || trusted_.size() > kMostTrusted)) {
    const auto& [target, until] = trusted_.front();
    const auto found = known_.find(target);
    // Keep the target if it is being checked again, or has been found since.
    if (found != known_.end() && found->second.until == until && found->second.waiting.empty()) {
      known_.erase(found);
    }
    trusted_.pop_front();
  }
}

}  // namespace retryq
