#include "retry/delay_queues/delay_queue_entry.h"

#include <algorithm>
#include <utility>

#include "loop/pauses.h"

namespace retryq {
namespace {

// How long callers wait for a declare before another name is tried: the queue's node may be down,
// or its process stuck.
constexpr absl::Duration kMaxDeclareTime = absl::Seconds(5);

// Pauses between renewals that are refused: 1 s, 2 s, 4 s, 8 s, 8 s, ….
constexpr absl::Duration kFirstRefusedPause = absl::Seconds(1);
constexpr absl::Duration kLongestRefusedPause = absl::Seconds(8);

}  // namespace

DelayQueueEntry::DelayQueueEntry(std::uint64_t id, DelayRouteKey key, NameFamily family,
                                 const DelayQueueOptions& options, const Epoch& epoch)
    : id_(id),
      key_(std::move(key)),
      family_(family),
      options_(options),
      epoch_(epoch.number),
      name_(std::make_shared<const std::string>(declaration().queue.name)),
      clock_(key_.route().ttl, options, epoch) {}

DeclareParams DelayQueueEntry::declaration() const {
  const auto slot = static_cast<int>((epoch_ + slots_taken_) % QuorumSlot::kSlots);
  return DelayQueueDeclaration(key_.route(), options_, family_, {.epoch = epoch_, .slot = slot});
}

bool DelayQueueEntry::TakeNextSlot() {
  const int slots =
      options_.declare && options_.queue_type == QueueType::kQuorum ? QuorumSlot::kSlots : 1;
  if (slots_taken_ + 1 >= slots) return false;
  ++slots_taken_;
  name_ = std::make_shared<const std::string>(declaration().queue.name);
  return true;
}

Lease DelayQueueEntry::Give(absl::Duration now) {
  last_given_ = now;
  return {.name = name_,
          .entry = id_,
          .generation = clock_.generation(),
          .safe_from = clock_.safe_from()};
}

LeaseClock::Answer DelayQueueEntry::Answered(absl::Duration now, const DeclareOk& answer) {
  const absl::Duration sent_at = *std::exchange(sent_at_, std::nullopt);
  messages_waiting_ = answer.message_count > 0;
  refusals_ = 0;
  retry_from_ = -absl::InfiniteDuration();
  return clock_.Answered(sent_at, now);
}

void DelayQueueEntry::Refused(absl::Duration now) {
  sent_at_.reset();
  ++refusals_;
  retry_from_ = now + Pauses::WholeAfter(refusals_, kFirstRefusedPause, kLongestRefusedPause);
}

// Publishes and declares use different channels, so the answer to a declare may not include a
// message that was published shortly before it.
bool DelayQueueEntry::MayHoldMessages() const {
  return messages_waiting_ || last_given_ >= clock_.renewed_at() - options_.margin / 4;
}

absl::Duration DelayQueueEntry::renewal_from() const {
  return std::max(clock_.renewal_due(), retry_from_);
}

absl::Duration DelayQueueEntry::patience_end() const {
  return CanBeRenamed() && !waiters.empty() ? *sent_at_ + kMaxDeclareTime
                                            : absl::InfiniteDuration();
}

bool DelayQueueEntry::RenewalDue(absl::Duration now) const {
  return !declaring() && now >= renewal_from();
}

DelayQueueEntry::State DelayQueueEntry::StateAt(absl::Duration now) const {
  if (clock_.Allows(now)) return declaring() ? State::kRenewing : State::kLeased;
  if (clock_.Forming(now)) return State::kForming;
  if (declaring()) return State::kDeclaring;
  return ExistsAt(now) ? State::kExpiring : State::kUnleased;
}

DelayQueueEntry::Due DelayQueueEntry::DueAt(absl::Duration now) const {
  if (waiters.empty()) {
    if (declaring()) return Due::kNothing;
    if (now >= clock_.end()) return Due::kLapse;
    return MayHoldMessages() && RenewalDue(now) ? Due::kDeclare : Due::kNothing;
  }
  const State state = StateAt(now);
  if (state == State::kLeased || state == State::kRenewing) return Due::kAnswer;
  if (Over(now)) return Due::kRotate;
  if (state == State::kForming) return Due::kNothing;
  if (state == State::kDeclaring) return now >= patience_end() ? Due::kRename : Due::kNothing;
  return Due::kDeclare;
}

absl::Duration DelayQueueEntry::NextDue(absl::Duration now) const {
  if (!waiters.empty() && Allows(now)) return now;
  if (!waiters.empty() && clock_.Forming(now)) {
    return std::min(clock_.usable_from(), clock_.over_at());
  }
  if (declaring()) {
    return waiters.empty() ? patience_end() : std::min(patience_end(), clock_.over_at());
  }
  if (!waiters.empty()) return now;
  return now < renewal_from() ? std::min(renewal_from(), clock_.end()) : clock_.end();
}

}  // namespace retryq
