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
#include "retry/delay_queues/lease_clock.h"
#include "retry/delay_queues/route_declaration.h"
#include "retryq/broker/timers.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// Permits one publish to a delay queue, right after it is returned.
struct Lease {
  std::shared_ptr<const std::string> name;  // of the queue, and of the exchange to publish to
  std::uint64_t entry = 0;                  // id of the cache entry …
  std::uint64_t generation = 0;             // … and of its unbroken series of renewals
  // Time since boot from which messages confirmed in the queue also survive a crash of the broker:
  // a quorum queue that was declared just before a crash comes back empty.
  absl::Duration safe_from = -absl::InfiniteDuration();
};

// The state of one delay queue in this client: its lease, the declares under way, and the callers
// that wait for it. Decides which action is due; DelayQueues carries it out.
class DelayQueueEntry {
 public:
  using Waiter = std::function<void(absl::StatusOr<Lease>)>;

  // `epoch` is used for quorum queues only.
  DelayQueueEntry(std::uint64_t id, DelayRouteKey key, NameFamily family,
                  const DelayQueueOptions& options, const Epoch& epoch);
  DelayQueueEntry(const DelayQueueEntry&) = delete;
  DelayQueueEntry& operator=(const DelayQueueEntry&) = delete;

  std::uint64_t id() const { return id_; }
  const DelayRouteKey& key() const { return key_; }
  NameFamily family() const { return family_; }
  const std::string& name() const { return *name_; }
  // Whether the queue can be declared under another name. False if only existing queues may be
  // used.
  bool CanBeRenamed() const { return family_ == NameFamily::kPlain && options_.declare; }
  DeclareParams declaration() const;

  // The states of the queue. They follow from its lease and the time, and from whether a declare is
  // under way:
  //
  //   kUnleased ── declare ──▶ kDeclaring ── granted ──▶ kForming ── usable ──▶ kLeased
  //       ▲                     │  ▲   ▲                                        │ │ ▲
  //       ├───── refused ───────┘  │   │ window over                    declare │ │ │ renewed,
  //       │                        │   └──────────────── kRenewing ◀────────────┘ │ │ refused
  //       │                declare │                         └────────────────────┼─┘
  //       └── its end ──────── kExpiring ◀───── window or epoch over ─────────────┘
  //
  // A classic queue is never in kForming. `Break` changes the state to kUnleased, or to kDeclaring
  // while a declare is under way.
  enum class State {
    kUnleased,   // nothing may be published, and confirms no longer count
    kDeclaring,  // nothing may be published until a declare is answered
    kForming,    // the lease is granted, but not usable yet: LeaseClock::kForming
    kLeased,     // messages may be published
    kRenewing,   // messages may be published, and a declare is under way
    kExpiring,   // nothing may be published; the queue still exists, with its messages
  };
  State StateAt(absl::Duration now) const;

  bool Allows(absl::Duration now) const { return clock_.Allows(now); }
  // Whether publishing requires a declare, and no declare is under way.
  bool NeedsDeclare(absl::Duration now) const {
    const State state = StateAt(now);
    return state == State::kUnleased || state == State::kExpiring;
  }
  bool Covers(std::uint64_t generation, absl::Duration now) const {
    return clock_.Covers(generation, now);
  }
  std::uint64_t generation() const { return clock_.generation(); }
  bool granted() const { return clock_.granted(); }
  // Whether there is a lease that has not ended.
  bool ExistsAt(absl::Duration now) const { return clock_.granted() && now < clock_.end(); }
  // Whether the queue's epoch is over, so that another queue must be used.
  bool Over(absl::Duration now) const { return now >= clock_.over_at(); }

  // Returns the lease for a publish that is made now. `Allows` must be true.
  Lease Give(absl::Duration now);

  // Whether a declare is under way. There is never more than one at a time.
  bool declaring() const { return sent_at_.has_value(); }
  void Sent(absl::Duration now) { sent_at_ = now; }
  LeaseClock::Answer Answered(absl::Duration now, const DeclareOk& answer);
  void Refused(absl::Duration now);
  // Consecutive refusals.
  std::uint32_t refusals() const { return refusals_; }

  // Switches to the next name of the same family, because a queue with other arguments has the
  // present name. Returns false if there is no next name.
  bool TakeNextSlot();

  // The queue was found to be gone: earlier publishes to it no longer count.
  void Break() { clock_.Break(); }

  // Whether a publish now should renew the lease.
  bool RenewalDue(absl::Duration now) const;

  enum class Due {
    kNothing,
    kAnswer,   // a caller waits, and may publish
    kDeclare,  // a caller waits, or messages may wait in the queue
    kRename,   // the answer takes too long for the callers that wait
    kRotate,   // a caller waits, and the epoch is over
    kLapse,    // the lease is over
  };
  Due DueAt(absl::Duration now) const;
  // When to call `DueAt` next. Infinite: after the next change.
  absl::Duration NextDue(absl::Duration now) const;

  std::deque<Waiter> waiters;
  std::unique_ptr<Timer> timer;
  absl::Duration timer_due = absl::InfiniteDuration();

  // Why the hashed name is used, until that is reported when its lease is granted.
  std::string renamed_because;
  // Id of the entry that was made because this entry's answer took too long; 0 if none.
  std::uint64_t stand_in = 0;

 private:
  // While the queue may contain messages, its lease is renewed even without publishes.
  bool MayHoldMessages() const;
  absl::Duration renewal_from() const;
  // How long the callers have been waiting for the declare under way.
  absl::Duration patience_end() const;

  const std::uint64_t id_;
  const DelayRouteKey key_;
  const NameFamily family_;
  const DelayQueueOptions& options_;
  const std::int64_t epoch_;
  int slots_taken_ = 0;  // number of the family's names that were tried before
  std::shared_ptr<const std::string> name_;

  LeaseClock clock_;
  std::optional<absl::Duration> sent_at_;
  absl::Duration last_given_ = -absl::InfiniteDuration();
  bool messages_waiting_ = false;  // according to the last answer
  std::uint32_t refusals_ = 0;
  absl::Duration retry_from_ = -absl::InfiniteDuration();
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUE_ENTRY_H_
