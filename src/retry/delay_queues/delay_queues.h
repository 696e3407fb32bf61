#ifndef RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUES_H_
#define RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retry/delay_queues/delay_queue_route.h"
#include "retryq/broker.h"
#include "retryq/delay_queue_options.h"
#include "retryq/retrier.h"

namespace retryq {

// A right to publish into one delay queue, good for the moment it is given.
struct Lease {
  std::shared_ptr<const std::string> name;  // of the exchange to publish to, and of the queue
  std::uint64_t entry = 0;                  // which cache entry …
  std::uint64_t generation = 0;             // … and which unbroken series of renewals of it
  // From when on, by the boot clock, what is confirmed in the queue is safe from a crash of the
  // broker too: a quorum queue that was made just before one comes back empty.
  absl::Duration safe_from = -absl::InfiniteDuration();
};

// The lease-aware cache of declared delay queues: declares them lazily, renews
// them while they are used, forgets them when the broker does. Its rule:
// whatever is published under `CurrentLease`/`Acquire` and confirmed while `Covers` is true expires
// before its queue does.
//
// Classic queues are kept by declaring them again, quorum queues are left behind at the end of
// their epoch: see ClassicLease and QuorumLease.
//
// A queue that cannot be had under its plain name (the broker refuses its arguments or does not
// find its node, its declare takes over 5 s, a publish is nacked) is declared under the hashed one,
// and stays there for the life of this object. Reports kDeclared, kRenewed, kRenamed, kLapsed,
// kLeaseBroken and kDeclareFailed to the environment's observer.
//
// Where `options.declare` is false nothing is declared: the queue and its exchange are only looked
// for, and have no other name.
//
// Every callback may call anything here, and may destroy the object.
class DelayQueues {
 public:
  // All must outlive it. Valid options only.
  DelayQueues(Broker& broker, Environment environment, DelayQueueOptions options);
  // Waiting `Acquire`s are never answered.
  ~DelayQueues();
  DelayQueues(const DelayQueues&) = delete;
  DelayQueues& operator=(const DelayQueues&) = delete;

  // The lease if one is at hand: the way of almost every copy. No allocation. Publish at once or
  // not at all. Starts a renewal in the background where half of the window has gone by. Null name:
  // none at hand.
  Lease CurrentLease(const DelayRoute& route);

  // The same, declaring first where necessary (single-flight: all who wait for one queue
  // share its declares). `done` is called later, never from inside; the lease is good at that
  // moment. Errors: whatever the broker answered (kPermissionDenied, kUnavailable when the
  // connection goes, …), with the queue's name and the remedy; the caller tries again when it
  // likes.
  void Acquire(const DelayRoute& route, std::function<void(absl::StatusOr<Lease>)> done);

  // How long not to ask for this queue, as the broker has refused it, or has closed the connection
  // while it was declared. That grows from one time to the next, for all who want the queue: so the
  // broker is asked as seldom for many messages as for one. Zero: not at all.
  absl::Duration RefusedFor(const DelayRoute& route) const;
  // There is no time to wait, as at a stop: each queue may be asked for once more at once.
  void Hurry();

  // Whether a confirm that arrives now, of something published under `lease`, counts:
  // the lease was renewed without a gap, and half of its margin is left at least.
  bool Covers(const Lease& lease) const;
  // The same for one that came at this time since boot.
  bool Covers(const Lease& lease, absl::Duration now) const;

  // A copy published under a lease came back, or its exchange was not there: if the lease still
  // covers, that is the event lease_broken (the queue was deleted). The entry is declared anew
  // at its next use, and nothing published under the lease is covered any more.
  void Broken(const Lease& lease, std::string_view why);

  // The broker nacked a publish under a valid lease. Where the queue's length is limited it is
  // taken to be full, and stays in use; else its node is in trouble, and the next use is of the
  // hashed name. What else was published under the lease stays covered. Answers that it is full,
  // for people, or nothing.
  std::optional<std::string> Nacked(const Lease& lease);

  // The broker answers, but confirms for this route stay out: from now on only the hashed name is
  // used, where it is not already.
  void Avoid(const DelayRoute& route);

  // Forgets every lease: the connection went, or a channel error left us in doubt. Waiting
  // `Acquire`s are answered with `why`, before this returns. Answers to declares sent before are
  // ignored.
  void DropAll(const absl::Status& why);

  // Entries with a lease or declares under way.
  std::size_t size() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELAY_QUEUES_DELAY_QUEUES_H_
