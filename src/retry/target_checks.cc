#include "retry/target_checks.h"

#include <utility>

namespace retryq {

void TargetChecks::Look(const Target& target, Answer answer) {
  const absl::Duration now = clock_.SinceBoot();
  Known& known = known_[target];
  if (now < known.until) return answer(absl::OkStatus());
  known.waiting.push_back(std::move(answer));
  if (known.waiting.size() > 1) return;
  if (known_.size() > kMostKept) DropOld(now);

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
  for (auto& [target, known] : known_) known.until = -absl::InfiniteDuration();
  DropOld(clock_.SinceBoot());
}

void TargetChecks::OnAnswer(const Target& target, const absl::Status& there) {
  const auto found = known_.find(target);
  const std::vector<Answer> waiting = std::move(found->second.waiting);
  if (there.ok()) {
    found->second.waiting.clear();
    found->second.until = clock_.SinceBoot() + kTrusted;
  } else {
    known_.erase(found);
  }
  for (const Answer& answer : waiting) answer(there);
}

void TargetChecks::DropOld(absl::Duration now) {
  std::erase_if(known_, [now](const auto& entry) {
    return entry.second.until <= now && entry.second.waiting.empty();
  });
}

}  // namespace retryq
