#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUES_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "loop/pauses.h"
#include "retry/delay_queues/delay_queue_entry.h"
#include "retry/delay_queues/delay_queue_remedies.h"
#include "retry/delay_queues/delay_queue_route.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/retrier.h"
#include "retryq/delay_queue_options.h"

namespace retryq {

// The cache of declared delay queues and their leases. Declares queues when they are first used,
// renews them while they are used, and forgets them when the broker deletes them. It guarantees: a
// message that is published under `CurrentLease` or `Acquire`, and confirmed while `Covers` is
// true, expires before its queue does.
//
// Classic queues are kept by declaring them again. Quorum queues are replaced at the end of their
// epoch. See LeaseClock.
//
// A queue that cannot be used under its plain name (the broker refuses its arguments or does not
// find its node, its declare takes over 5 s, a publish is nacked) is declared under the hashed
// name, which is then used for the life of this object. Reports kDeclared, kRenewed, kRenamed,
// kLapsed, kLeaseBroken and kDeclareFailed to the environment's observer.
//
// If `options.declare` is false, nothing is declared: the cache only checks that the queue and its
// exchange exist, under the plain name.
//
// Every callback may call anything here, and may destroy the object.
class DelayQueues {
 public:
  // All arguments must outlive the object. The options must be valid.
  DelayQueues(Broker& broker, Environment environment, DelayQueueOptions options)
      : broker_(broker), environment_(std::move(environment)), options_(std::move(options)) {}
  DelayQueues(const DelayQueues&) = delete;
  DelayQueues& operator=(const DelayQueues&) = delete;

  // Returns the lease if the cache has a valid one, which is the case for almost every copy; else a
  // lease without a name. `now` is the time since boot. Publish at once or not at all. Does not
  // allocate. Starts a renewal in the background after half of the window.
  Lease CurrentLease(const DelayRoute& route, absl::Duration now);

  // Returns the lease, after declaring the queue if necessary. All callers that wait for one queue
  // share its declares. `done` is called later, never inside this call, and the lease is valid at
  // that moment. Errors: the broker's answer (kPermissionDenied, kUnavailable if the connection is
  // lost, …), with the queue's name and the remedy; the caller decides when to try again.
  void Acquire(const DelayRoute& route, std::function<void(absl::StatusOr<Lease>)> done);

  // How long callers must not call `Acquire` for this queue, because the broker has refused it, or
  // closed the connection while it was declared. The time grows with each refusal, and applies to
  // all messages for the queue, so that many messages cause no more declares than one. Zero: call
  // it now.
  absl::Duration RefusedFor(const DelayRoute& route) const;
  // Call it at a stop, when there is no time to wait: `Acquire` may be called once more for each
  // refused queue.
  void RetryNow();

  // Whether a confirm that arrives now counts for a message published under `lease`: the lease was
  // renewed without a gap, and at least half of its margin is left.
  bool Covers(const Lease& lease) const { return Covers(lease, Now()); }
  // The same for a confirm that arrived at `now`, since boot.
  bool Covers(const Lease& lease, absl::Duration now) const;

  // Call it when a copy published under `lease` was returned, or its exchange did not exist. If the
  // lease was still valid, the queue was deleted, which is reported as kLeaseBroken. The queue is
  // declared again at its next use, and the lease covers no earlier publish any more.
  void Broken(const Lease& lease, std::string_view why);

  // Call it when the broker nacks a publish under a valid lease. If the queue's length is limited,
  // the queue is assumed to be full, and stays in use; returns an explanation for people. Otherwise
  // its node is assumed to have a problem, and the hashed name is used from now on; returns
  // nullopt. Other messages published under the lease stay covered.
  std::optional<std::string> Nacked(const Lease& lease);

  // Call it when the broker answers, but does not send confirms for this route: from now on only
  // the hashed name is used.
  void Avoid(const DelayRoute& route);

  // Forgets all leases, because the connection was lost, or a channel error made them uncertain.
  // Answers waiting `Acquire`s with `why` before it returns. Answers to earlier declares are
  // ignored.
  void DropAll(const absl::Status& why);

  // Number of entries with a lease or a declare under way.
  std::size_t size() const { return entries_.size(); }

 private:
  using Entry = DelayQueueEntry;
  template <typename T>
  using RouteMap = absl::flat_hash_map<DelayRouteKey, T, DelayRouteKey::Hash, DelayRouteKey::Equal>;

  absl::Duration Now() const { return environment_.clock->SinceBoot(); }
  Entry* Find(std::uint64_t id) const;
  // Returns the entry in use for this route; null if there is none.
  Entry* FindCurrent(const DelayRoute& route);
  bool IsCurrent(const Entry& entry) { return FindCurrent(entry.key().route()) == &entry; }
  void SetCurrent(Entry& entry);
  Entry& MakeCurrent(const DelayRoute& route, NameFamily family);
  Entry& UsableEntry(const DelayRoute& route);
  void Erase(Entry& entry);

  Lease NewLease(Entry& entry, absl::Duration now);
  void Declare(Entry& entry);
  void LookFor(const Entry& entry, Broker::DeclareCallback answered);
  void RenewUnused(Entry& entry);
  void OnAnswer(std::uint64_t id, const absl::StatusOr<DeclareOk>& answer);
  void OnDeclared(Entry& entry, const DeclareOk& answer);
  void OnRefused(Entry& entry, const absl::Status& refusal);
  void OnGranted(Entry& entry);
  void Rename(Entry& entry, RenameCause cause, std::string_view detail = {});
  void Rotate(Entry& over);
  void Remember(const Entry& renamed);
  bool StillWanted(Entry& late);
  void KeepWhileItExists(Entry& entry);

  void NoteRefusal(const DelayRouteKey& route);

  void Schedule(Entry& entry);
  void OnTimer(std::uint64_t id);
  void AnswerWaiters(Entry& entry);
  void FailWaiters(const std::deque<Entry::Waiter>& waiters, const absl::Status& why);
  // Number of entries with a lease.
  std::size_t leased() const;
  void Report(EventKind kind, const Entry& entry, std::string_view error = {}) const;

  Broker& broker_;
  const Environment environment_;
  const DelayQueueOptions options_;

  // By id. Later entries have higher ids.
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Entry>> entries_;
  std::uint64_t last_id_ = 0;
  // Entries that are no longer current, because their route was renamed, stay until their leases
  // end: messages published under them are still covered.
  RouteMap<Entry*> current_;
  // The current entry that was found last. It is checked first, because most copies use the same
  // route as the copy before. Null if it may have changed since.
  Entry* last_found_ = nullptr;
  absl::flat_hash_set<DelayRouteKey, DelayRouteKey::Hash, DelayRouteKey::Equal> renamed_;

  // Refusals of a route, now or lately.
  struct Refusals {
    Pauses pauses{absl::Milliseconds(100), absl::Seconds(30)};  // between refused declares
    absl::Duration until;                                       // since boot
  };
  RouteMap<Refusals> refusals_;

  const Lifeline<DelayQueues> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUES_H_
