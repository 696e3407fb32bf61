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

// The kind of an event. The names in quotes are those of the JSON log.
enum class EventKind {
  kConnected,       // "connected": publishing and declaring are possible; `error` warns of a broker
                    // version that may keep messages (4.3.0 to 4.3.2, quorum delay queues)
  kDisconnected,    // "disconnected": `error` has the reason; the client tries to reconnect
  kBlocked,         // "blocked": the broker accepts no publishes (resource alarm)
  kUnblocked,       // "unblocked"
  kConsuming,       // "consuming": the broker accepted the consumer of `queue`
  kInterrupted,     // "interrupted": no deliveries from `queue` for now; `error` has the reason
  kDeclared,        // "declared": `delay_queue` exists, and this client has a lease on it
  kRenewed,         // "renewed": the lease of `delay_queue` starts again
  kRenamed,         // "renamed": `delay_queue`, under another name, is used instead; `error` has
                    // the reason
  kLapsed,          // "lapsed": the lease of `delay_queue` is over; the broker deletes the queue,
                    // now or later
  kLeaseBroken,     // "lease_broken": the queue or its exchange was gone during a valid lease
  kOverridden,      // "overridden": a message left `delay_queue` too soon, because a policy
                    // overrides the queue's arguments; at most once a minute
  kDeclareFailed,   // "declare_failed": the declare was refused; it is tried again with growing
                    // pauses
  kDelivered,       // "delivered": a message arrived; the handler is called now or as soon as a
                    // thread is free
  kHandled,         // "acked": the handler succeeded, the message is acked
  kFailed,          // "failed": the handler failed; another event reports what happens to the
                    // message
  kRetried,         // "retried": the copy is confirmed in `delay_queue`, the original is acked
  kParked,          // "parked": the copy is confirmed in the parked queue, the original is acked
  kRejected,        // "rejected": the message goes to the queue's own dead-letter exchange, if it
                    // has one
  kDiscarded,       // "discarded": the message is acked and dropped, as configured or decided by
                    // the handler
  kSnoozed,         // "snoozed": the handler wants the message later, which is not a failure: the
                    // copy is confirmed in `delay_queue`, the original is acked; `error` has the
                    // reason
  kRequeued,        // "requeued": the message is requeued unhandled, by the handler's decision or
                    // in a graceful stop
  kMoved,           // "moved": the message was redelivered so often that it would soon reach the
                    // broker's delivery limit; a copy, which is counted anew, is at the end of the
                    // same queue
  kForwarded,       // "forwarded": the message returned before its delay was over, because the
                    // delay takes more than one delay queue: a copy is confirmed in the next one,
                    // `delay_queue`; `delay` is the rest. No handler was called
  kSkipped,         // "skipped": a retry for another queue's consumer, acked without calling the
                    // handler
  kReturned,        // "returned": a copy was returned as unroutable; it is published again
  kUnconfirmed,     // "unconfirmed": nack, time-out or lost channel; the copy is published again
  kHeld,            // "held": the message could be neither copied nor parked; it stays unacked and
                    // is tried again
  kPublished,       // "published": a message of Client::Publish is confirmed
  kBreakerOpened,   // "breaker_opened": so many calls of the handler have failed that consuming
                    // pauses for `delay`; `error` is the last error
  kBreakerProbing,  // "breaker_probing": one message at a time is tried; `error` is why the breaker
                    // opened
  kBreakerClosed,   // "breaker_closed": consuming continues as before
};

// "declared", "retried", …: the name in the JSON log. Static storage.
RETRYQ_EXPORT std::string_view EventName(EventKind kind);

// How much an event matters to a reader of the log.
enum class Severity {
  kDebug,    // frequent while everything works
  kInfo,     // what happens to failed messages, and to the connection
  kWarning,  // a message is given up, or something was missing for a while; no message is at risk
  kError,    // an operator must act: `error` has the remedy
};

RETRYQ_EXPORT Severity SeverityOf(EventKind kind);

// "debug", "info", "warning" or "error". Static storage.
RETRYQ_EXPORT std::string_view SeverityName(Severity severity);

// One decision or change. Only the fields that apply to the kind are set; the views are valid
// during the whole call, even if the observer destroys the client.
struct Event {
  EventKind kind;
  absl::Time time;
  std::string_view queue = {};                          // the work queue, or the parked queue
  std::optional<std::uint64_t> attempt = std::nullopt;  // failures before this call
  std::optional<absl::Duration> delay = std::nullopt;
  std::string_view delay_queue = {};
  std::string_view id = {};  // x-retry-id, else the message-id
  // In text from a server, characters that control a terminal are escaped (\u{1B}). Text from a
  // handler or a message, here and in the fields above, is not changed.
  std::string_view error = {};

  // kUnconfirmed: the cause, in one word: "nacked", "timeout", "late", "closed" (the channel) or
  // "lost" (the connection).
  std::string_view cause = {};
  // kDelivered, if the message has waited: how late it arrived, by this machine's clock and that of
  // the worker that sent it. Includes the wait in the work queue.
  std::optional<absl::Duration> lateness = std::nullopt;
  // kHandled, kFailed, kSnoozed and kRequeued, after a call of the handler: the time from the call
  // to its outcome, or the time given to `Outcome::Took`.
  std::optional<absl::Duration> handling = std::nullopt;
  // kRetried, kSnoozed, kParked, kMoved, kForwarded and kPublished, if a copy was confirmed: the
  // time from its publish to the confirm, without the time in which the broker accepted no
  // publishes.
  std::optional<absl::Duration> confirmed_after = std::nullopt;
  // Events about `queue` and its messages: number of its deliveries that are open after this event,
  // with the handler or waiting for a confirm.
  std::optional<std::size_t> in_flight = std::nullopt;
  // kDeclared, kRenewed, kRenamed, kLapsed and kLeaseBroken: number of delay queues on which this
  // client has a lease.
  std::optional<std::size_t> delay_queues = std::nullopt;

  // The message, if the event is about one. Valid during the call; copy it to keep it.
  const Delivery* delivery = nullptr;
};

// Receives all events. The client does not own it; it must outlive the client. Called on the loop's
// thread; must not block or throw. It may call anything, and may destroy the client and its
// consumers, inside the call; messages that it publishes are sent in the next turn of the loop.
class RETRYQ_EXPORT Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnEvent(const Event& event) = 0;
};

}  // namespace retryq

#endif  // RETRYQ_OBSERVER_H_
