#ifndef RETRYQ_OBSERVER_H_
#define RETRYQ_OBSERVER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "retryq/export.h"

namespace retryq {

class Delivery;

// What happened. The names in quotes are those of the JSON log.
enum class EventKind {
  kConnected,      // "connected": publishing and declaring work; `error` warns of a version of the
                   // broker that may keep messages (4.3.0 to 4.3.2, quorum delay queues)
  kDisconnected,   // "disconnected": `error` says why; connecting again goes on
  kBlocked,        // "blocked": the broker takes no publishes (resource alarm)
  kUnblocked,      // "unblocked"
  kConsuming,      // "consuming": the broker accepted the consumer of `queue`
  kInterrupted,    // "interrupted": no deliveries from `queue` for now; `error`
                   // says why
  kDeclared,       // "declared": `delay_queue` exists, its lease is ours
  kRenewed,        // "renewed": its lease begins anew
  kRenamed,        // "renamed": `delay_queue` is used instead; `error` says why
  kLapsed,         // "lapsed": its lease is over; the broker drops the queue, now or later
  kLeaseBroken,    // "lease_broken": the queue or its exchange was gone under a
                   // valid lease
  kOverridden,     // "overridden": a message came out of `delay_queue` too soon, as a
                   // policy overrides the queue's arguments; at most once a minute
  kDeclareFailed,  // "declare_failed": refused; tried again with growing pauses
  kDelivered,      // "delivered": a message is here for the handler, which is called now or as soon
                   // as a thread is free
  kHandled,        // "acked": the handler succeeded, the message is done
  kFailed,         // "failed": the handler failed; what follows is its own event
  kRetried,        // "retried": the copy is confirmed in `delay_queue`, the original
                   // acked
  kParked,         // "parked": the copy is confirmed in the parked queue, the original
                   // acked
  kRejected,       // "rejected": to the queue's own dead-letter exchange, if it has
                   // one
  kDiscarded,      // "discarded": acked and gone, as told
  kSnoozed,        // "snoozed": the handler wants the message later, which is not a failure: the
                   // copy is confirmed in `delay_queue`, the original acked; `error` has the reason
  kRequeued,       // "requeued": given back to the queue unhandled, as told or on a graceful stop
  kMoved,          // "moved": redelivered so often that the broker would soon take it for poison; a
                   // copy of it is behind the others in the same queue, counted anew
  kForwarded,      // "forwarded": back before its delay was over, as that takes more than one
                   // delay queue: a copy is confirmed in the next one, `delay_queue`; `delay` is
                   // what was left. No handler was called
  kSkipped,        // "skipped": a retry of another queue's consumer, acked unseen
  kReturned,       // "returned": a copy came back unroutable; published again
  kUnconfirmed,    // "unconfirmed": nack, time-out or lost channel; published
                   // again
  kHeld,           // "held": neither copy nor park was possible; kept unacked, tried
                   // again
  kPublished,      // "published": a message of Client::Publish is confirmed
  kBreakerOpened,  // "breaker_opened": so many calls of the handler have failed that consuming
                   // pauses for `delay`; `error` is the last error
  kBreakerProbing,  // "breaker_probing": one message at a time is tried; `error` is why it opened
  kBreakerClosed,   // "breaker_closed": consuming goes on as before
};

// "declared", "retried", …: the name in the JSON log. Static storage.
RETRYQ_EXPORT std::string_view EventName(EventKind kind);

// How much an event matters to a reader of the log.
enum class Severity {
  kDebug,    // happens all the time while all is well
  kInfo,     // what becomes of messages that fail, and of the connection
  kWarning,  // a message is given up, or something was missing for a while; no message is at risk
  kError,    // an operator must act: `error` says how
};

RETRYQ_EXPORT Severity SeverityOf(EventKind kind);

// "debug", "info", "warning" or "error". Static storage.
RETRYQ_EXPORT std::string_view SeverityName(Severity severity);

// One decision or change. Only the fields that fit the kind are set; the views are valid during the
// whole call, whatever it destroys.
struct Event {
  EventKind kind;
  absl::Time time;
  std::string_view queue = {};                          // the work queue, or the parked queue
  std::optional<std::uint64_t> attempt = std::nullopt;  // failures before this call
  std::optional<absl::Duration> delay = std::nullopt;
  std::string_view delay_queue = {};
  std::string_view id = {};  // x-retry-id, else the message-id
  // In what a server says, all that a terminal would act on is escaped (\u{1B}). What a handler or
  // a message says, here and in the fields above, stands as it came.
  std::string_view error = {};

  // kUnconfirmed: one word for what came in place of a confirm that counts: "nacked", "timeout",
  // "late", "closed" (the channel) or "lost" (the connection).
  std::string_view cause = {};
  // kDelivered, of a message that has waited: how much later than it was due, by this machine's
  // clock and that of the worker that sent it. The wait in the work queue is part of it.
  std::optional<absl::Duration> lateness = std::nullopt;
  // kHandled, kFailed, kSnoozed and kRequeued, after a call of the handler: from the call to its
  // outcome, or what `Outcome::Took` says.
  std::optional<absl::Duration> handling = std::nullopt;
  // Where a copy was confirmed (kRetried, kSnoozed, kParked, kMoved, kForwarded, kPublished): from
  // its publish to the confirm, without the time in which the broker took no publishes.
  std::optional<absl::Duration> confirmed_after = std::nullopt;
  // Of events about `queue` and its messages: its deliveries that are open after this, with the
  // handler or waiting for a confirm.
  std::optional<std::size_t> in_flight = std::nullopt;
  // kDeclared, kRenewed, kRenamed, kLapsed and kLeaseBroken: how many delay queues this client has
  // a lease on.
  std::optional<std::size_t> delay_queues = std::nullopt;

  // The message, where the event is about one. Valid during the call; copy it to keep it.
  const Delivery* delivery = nullptr;
};

// Is told of everything. Not owned by what calls it, and must outlive that. Called on the loop's
// thread; must not block or throw. It may call anything, and may destroy the client and its
// consumers, from inside: what it publishes is sent in the next turn of the loop.
class RETRYQ_EXPORT Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnEvent(const Event& event) = 0;
};

}  // namespace retryq

#endif  // RETRYQ_OBSERVER_H_
