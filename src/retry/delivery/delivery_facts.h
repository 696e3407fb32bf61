#ifndef RETRYQ_SRC_RETRY_DELIVERY_DELIVERY_FACTS_H_
#define RETRYQ_SRC_RETRY_DELIVERY_DELIVERY_FACTS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retry/delivery/timed_out.h"
#include "retryq/amqp/message.h"
#include "retryq/broker/clock.h"
#include "retryq/broker/retrier.h"
#include "retryq/delivery.h"

namespace retryq {

// The upper limit of counts, because messages may state any count. It fits into every header, and
// adding one to it does not overflow.
inline constexpr std::uint64_t kMostCounted = std::numeric_limits<std::int64_t>::max();

// Returns the sum, or kMostCounted if that is less.
inline std::uint64_t SaturatingSum(std::uint64_t a, std::uint64_t b) {
  return a >= kMostCounted || b >= kMostCounted - a ? kMostCounted : a + b;
}

// The earlier deliveries of the message that were not settled and that count.
struct Redeliveries {
  std::uint64_t count = 0;
  // Whether the broker keeps the count. Else it only reports that there was at least one.
  bool broker_counts = false;
  // The known number of them that exceeded the consumer timeout.
  std::uint64_t timed_out = 0;
};

// Returns the error of a handler that would have the same effect as these redeliveries.
absl::Status WhyUnsettled(const Redeliveries& redeliveries);

// A message that left its delay queue too soon. The arguments of the queue forbid that, but a
// policy or an operator policy may override them, which the broker does not report: `message-ttl`
// expires messages early, `max-length` drops them from the head (F29 in doc/rabbitmq_facts.md).
// Reading messages in a quorum queue requeues them, which can exceed its delivery limit.
struct EarlyReturn {
  std::string delay_queue;
  std::string reason;                            // of its dead-lettering
  absl::Duration early = absl::ZeroDuration();   // how much too soon
  absl::Duration left = absl::ZeroDuration();    // still to be waited for; zero: nothing
  absl::Duration stayed = absl::ZeroDuration();  // time in its delay queue
  bool reported = false;                         // whether it is reported
  bool is_possible = true;                       // false: only a difference of clocks explains it
};

// Everything that is known about a delivery when it arrives.
struct DeliveryFacts {
  // What the message's `x-retry-…` headers state about its failures so far (see RetryHeaders). They
  // count if `x-retry-queue` is the consumer's queue or a former name of it, or if retries are
  // shared: a message that failed elsewhere starts from zero here. Exceptions that have no
  // `x-retry-queue` and also count: the `x-retry-id` of a replayed message, and the delay of a
  // message that was published with a delay and still needs more delay queues. Failures here that
  // other queues have brought back count too (`x-retry-elsewhere`, and rejections in `x-death` if
  // the consumer rejects).
  //
  // Anyone can send these headers: values of a wrong type, negative values, and values longer than
  // AMQP allows are ignored. For a message that retryq has not copied before, `failures` is at
  // least the count that RetryOptions::earlier_counts names. `failures` does not include
  // redeliveries, but `first_failure` can be that of the first redelivery that counts. The views
  // point into the message.
  Delivery::History history;

  // `history.failures` includes failures that other queues have brought back: the consumer has
  // given up the message before, or the consumer of another queue has copied it since. In this case
  // the limits of the options apply before the handler is called.
  bool came_back = false;
  // The part of `history.failures` that the message's headers will also state when it is delivered
  // from this queue again.
  std::uint64_t stated_failures = 0;

  // Zero if part of its delay is left, because then no worker has handled it yet.
  Redeliveries redeliveries;

  // The rest of its delay, in whole milliseconds; zero if it is due.
  absl::Duration left = absl::ZeroDuration();

  // Set if it left its delay queue too soon. `history.remaining` is then the rest of its delay too.
  std::optional<EarlyReturn> early = std::nullopt;

  // A quorum queue has delivered it so often that it may soon drop it. From RabbitMQ 4 on, queues
  // do so after 20 failed deliveries, whichever worker died, including messages that were only
  // prefetched (F33).
  bool near_delivery_limit = false;

  // The message comes from a delay queue into which the consumer of another queue has published it:
  // a named work exchange has also routed it to this queue, which has already delivered the
  // original. Never set with RetrierOptions::share_retries: then `history` is that of the other
  // queue.
  bool others_retry = false;

  // amqp::Message::left_out.
  std::uint64_t left_out = 0;

  // Whether the queue has delivered the message before.
  bool redelivered = false;
  // `x-delivery-count` and `x-acquired-count`; not set if the queue is known not to count.
  std::optional<std::int64_t> delivery_count = std::nullopt;
  std::optional<std::int64_t> acquired_count = std::nullopt;

  // When the facts were read. Set only if a decision depends on the time: for most messages, the
  // clock is not read.
  absl::Time read_at = {};
};

// Whether facts must be read, or decisions made, before the handler is called. If not, the message
// arrives for the first time, directly from its publisher: its history is its exchange and its
// routing key.
inline bool HasHistory(const amqp::Message& message) {
  return message.properties.headers.has_value() || message.redelivered || message.left_out > 0;
}

// Reads a delivery to a consumer with these options, in one walk over its headers. `timed_out` has
// the consumer's timeouts; those that are counted now are removed from it. `counts` is false if the
// queue is known not to count deliveries.
DeliveryFacts ReadFacts(const amqp::Message& message, const RetrierOptions& options,
                        const Clock& clock, TimedOut& timed_out, bool counts = true);

// Returns the encoded header `x-retry-elsewhere` for the next copy: how often the message has
// failed in queues other than the consumer's. Empty if never.
std::string FailuresElsewhere(const amqp::Message& message, const RetrierOptions& options);

// Returns the rest of the delay of a message that has left a delay queue, in whole milliseconds;
// zero if it is due.
//
// The rest is limited by the clock, so that time spent in the backlog of a work queue counts. It is
// also limited by the rest that was stated when the message entered that queue. So if the clocks of
// workers differ, a message can be early or late by the difference, but is never delayed forever.
absl::Duration RemainingDelay(const Delivery::History& history, absl::Time now);

// Returns how much too soon the message left its delay queue; nullopt if it left in time, or does
// not come from a delay queue. If the message needs several delay queues, the time in each of them
// is checked separately.
//
// The queue may have been early, or the publishing worker's clock ahead of this one; that cannot be
// told apart. The consumer waits for the rest of the delay by this clock, except in two cases: by
// this clock the message was published in the future, so the rest is wrong; or the rest is more
// than a second and at most a twentieth of the delay. So if the clocks of workers differ, a message
// is late by at most the difference, and by at most its delay. An early return that is within these
// tolerances is not reported either.
std::optional<EarlyReturn> FindEarlyReturn(const Delivery::History& history,
                                           const amqp::Message& message, absl::Time now);

// Returns the explanation for the observer, with the remedy.
std::string WhyEarly(const EarlyReturn& early);

// An entry of `x-death`: a queue that has dead-lettered the message, and why. RabbitMQ merges all
// dead-letterings by one queue for one reason into one entry.
struct Death {
  std::string queue;
  std::string exchange;    // to which it was published
  std::string reason;      // "expired", "rejected", "maxlen", "delivery_limit"
  std::int64_t count = 0;  // 0 if the entry does not state it
};

// Returns the entries of `x-death`, the newest first. Anyone can send this header: entries of a
// different form are skipped.
std::vector<Death> ReadDeaths(const amqp::Message& message);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_DELIVERY_FACTS_H_
