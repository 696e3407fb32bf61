#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_ENTRY_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_ENTRY_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retry/delay_queues/delay_queue_route.h"
#include "retry/delay_queues/delay_queues.h"
#include "retry/delay_queues/lease_clock.h"
#include "retry/delay_queues/quorum_lease.h"
#include "retry/delay_queues/route_declaration.h"
#include "retryq/delay_queue_options.h"
#include "retryq/timers.h"

namespace retryq {

// One delay queue as one client knows it: its lease, the declares under way,
// and who waits for them. Says what is to be done; DelayQueues does it.
class DelayQueueEntry {
 public:
  using Waiter = std::function<void(absl::StatusOr<Lease>)>;

  // `epoch` counts for quorum queues only.
  DelayQueueEntry(std::uint64_t id, DelayRouteKey key, NameFamily family,
                  const DelayQueueOptions& options, const Epoch& epoch);
  DelayQueueEntry(const DelayQueueEntry&) = delete;
  DelayQueueEntry& operator=(const DelayQueueEntry&) = delete;

  std::uint64_t id() const { return id_; }
  const DelayRouteKey& key() const { return key_; }
  NameFamily family() const { return family_; }
  const std::string& name() const { return *name_; }
  // Whether there is another name for it: not where only what exists may be used.
  bool CanBeRenamed() const { return family_ == NameFamily::kPlain && options_.declare; }
  DeclareParams declaration() const;

  // What it can be used for. That follows from its lease, whose times go by, and from whether a
  // declare is under way:
  //
  //   kUnleased ── declare ──▶ kDeclaring ── granted ──▶ kForming ── usable ──▶ kLeased
  //       ▲                     │  ▲   ▲                                        │ │ ▲
  //       ├───── refused ───────┘  │   │ window over                    declare │ │ │ renewed,
  //       │                        │   └──────────────── kRenewing ◀────────────┘ │ │ refused
  //       │                declare │                         └────────────────────┼─┘
  //       └── its end ──────── kExpiring ◀───── window or epoch over ─────────────┘
  //
  // A classic queue is never in kForming. `Break` leads back to kUnleased, or to kDeclaring where
  // a declare is under way.
  enum class State {
    kUnleased,   // nothing may be published, and nothing published in it can still count
    kDeclaring,  // nothing may be published until a declare is answered
    kForming,    // granted, but its queue must not be used yet: QuorumLease::kForming
    kLeased,     // messages may be published
    kRenewing,   // messages may be published, and a declare is under way
    kExpiring,   // nothing may be published; its queue is still there, with what waits in it
  };
  State StateAt(absl::Duration now) const;

  bool Allows(absl::Duration now) const { return clock_->Allows(now); }
  // Whether it takes a declare to publish, and none is under way.
  bool NeedsDeclare(absl::Duration now) const {
    const State state = StateAt(now);
    return state == State::kUnleased || state == State::kExpiring;
  }
  bool Covers(std::uint64_t generation, absl::Duration now) const {
    return clock_->Covers(generation, now);
  }
  std::uint64_t generation() const { return clock_->generation(); }
  bool granted() const { return clock_->granted(); }
  // Whether there is a lease to know of.
  bool LivesAt(absl::Duration now) const { return clock_->granted() && now < clock_->end(); }
  // Whether the queue's epoch is over, and another one must serve.
  bool Over(absl::Duration now) const { return now >= clock_->over_at(); }

  // A right to publish now, which `Allows` must allow.
  Lease Give(absl::Duration now);

  // Declares are on their way; never two at a time.
  bool declaring() const { return sent_at_.has_value(); }
  void Sent(absl::Duration now) { sent_at_ = now; }
  LeaseClock::Answer Answered(absl::Duration now, const DeclareOk& answer);
  void Refused(absl::Duration now);
  // In a row.
  std::uint32_t refusals() const { return refusals_; }

  // Goes on to another name of the same family, where a queue of other arguments holds this one.
  // False where there is none.
  bool TakeNextSlot();

  // The queue was found gone. Whatever was published under it no longer counts.
  void Break() { clock_->Break(); }

  // Whether the lease should be renewed now that a message is to be published.
  bool RenewalDue(absl::Duration now) const;

  enum class Due {
    kNothing,
    kAnswer,   // a caller waits, and may publish
    kDeclare,  // a caller waits, or messages may wait in the queue
    kRename,   // the answer takes too long for those who wait
    kRotate,   // a caller waits, and the epoch is over
    kLapse,    // the lease is over
  };
  Due DueAt(absl::Duration now) const;
  // When to ask that again; infinite: after the next change.
  absl::Duration NextDue(absl::Duration now) const;

  std::deque<Waiter> waiters;
  std::unique_ptr<Timer> timer;
  absl::Duration timer_due = absl::InfiniteDuration();

  // Why it goes by the hashed name, to be said once it is granted; empty if said, or plain.
  std::string renamed_because;
  // The entry that was made because this one's answer took too long; 0 if none.
  std::uint64_t stand_in = 0;

 private:
  // Renewal goes on without publishes while the queue holds messages.
  bool MayHoldMessages() const;
  absl::Duration renewal_from() const;
  // Until when those who wait put up with the declare under way.
  absl::Duration patience_end() const;

  const std::uint64_t id_;
  const DelayRouteKey key_;
  const NameFamily family_;
  const DelayQueueOptions& options_;
  const std::int64_t epoch_;
  int slots_taken_ = 0;  // of the family's, one after the other
  std::shared_ptr<const std::string> name_;

  const std::unique_ptr<LeaseClock> clock_;
  std::optional<absl::Duration> sent_at_;
  absl::Duration last_given_ = -absl::InfiniteDuration();
  bool messages_waiting_ = false;  // as the last answer said
  std::uint32_t refusals_ = 0;
  absl::Duration retry_from_ = -absl::InfiniteDuration();
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_ENTRY_H_
