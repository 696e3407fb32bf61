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
#include "retryq/clock.h"
#include "retryq/delivery.h"
#include "retryq/retrier.h"

namespace retryq {

// Counts that messages bring can be anything. None is above this here, which every header holds and
// to which one can still be added without wrapping.
inline constexpr std::uint64_t kMostCounted = std::numeric_limits<std::int64_t>::max();

// At most kMostCounted.
inline std::uint64_t SaturatingSum(std::uint64_t a, std::uint64_t b) {
  return a >= kMostCounted || b >= kMostCounted - a ? kMostCounted : a + b;
}

// The deliveries before this one that nobody settled, as far as they count.
struct Redeliveries {
  std::uint64_t count = 0;
  // Whether the broker keeps the count, or forgets it and knows of one only.
  bool broker_counts = false;
  // How many of them ended as the handler exceeded the consumer timeout, as far as that is known.
  std::uint64_t timed_out = 0;
};

// As the error that they count as.
absl::Status WhyUnsettled(const Redeliveries& redeliveries);

// A message that came back too soon. The arguments of its delay queue forbid that, and the broker
// says nothing of a policy or operator policy that wins over them: `message-ttl` lets messages out
// early, `max-length` pushes them out at the head (F29 in doc/rabbitmq_facts.md). Who looks at them
// in a quorum queue puts them back, which exceeds its delivery limit at some time.
struct EarlyReturn {
  std::string delay_queue;
  std::string reason;                            // of its death
  absl::Duration early = absl::ZeroDuration();   // than its delay queue was to let it go
  absl::Duration left = absl::ZeroDuration();    // of the whole delay; zero: see below
  absl::Duration stayed = absl::ZeroDuration();  // in its delay queue
  bool reported = false;                         // to the observer
};

// All that is known of a delivery when it arrives.
struct DeliveryFacts {
  // What the headers of retrying state of its failures so far (see RetryHeaders). They count only
  // where `x-retry-queue` is the consumer's queue or a former name of it, or the retry is shared,
  // so that a message that failed elsewhere starts anew here; except for what has no
  // `x-retry-queue`: the `x-retry-id` of a replayed message, and the delay of one that was
  // published with a delay and is still on its way through several delay queues; and for the
  // failures here that other queues have brought back (`x-retry-elsewhere`, and rejections in
  // `x-death` where the consumer rejects). Anyone can send
  // such headers: what is of a wrong type, negative or longer than AMQP allows is taken as absent.
  // `failures` is not less than what RetryOptions::earlier_counts names, in a message that retryq
  // has not copied before. Redeliveries are not in it, but the first of those that count can be its
  // `first_failure`. The views point into the message.
  Delivery::History history;

  // `history.failures` holds some that other queues have brought back: the consumer has given the
  // message up before, or another queue's has copied it since. Then the limits of the options are
  // to hold before the handler is called.
  bool came_back = false;
  // Of `history.failures`, those that the message's own headers go on stating in this queue.
  std::uint64_t stated_failures = 0;

  // None where something is left of its delay: no worker has handled it yet.
  Redeliveries redeliveries;

  // What is left of its delay, in whole milliseconds; zero if it is due.
  absl::Duration left = absl::ZeroDuration();

  // It came out of its delay queue too soon. What is then left is its `history.remaining`, too.
  std::optional<EarlyReturn> early = std::nullopt;

  // A quorum queue has delivered it so often that it may soon drop it: from RabbitMQ 4 on it does
  // so after 20 deliveries in vain, whichever worker died, and with all that was prefetched (F33).
  bool near_delivery_limit = false;

  // The message has just come out of a delay queue into which the consumer of another queue had put
  // it: a named work exchange has led it here too, and this queue has had it already. Never with
  // RetrierOptions::share_retries: then `history` is that of the other queue.
  bool others_retry = false;

  // amqp::Message::left_out.
  std::uint64_t left_out = 0;

  // What the queue shows of how it counts: whether it has delivered the message before, and
  // `x-delivery-count` and `x-acquired-count`.
  bool redelivered = false;
  // None of a queue that is known not to count.
  std::optional<std::int64_t> delivery_count = std::nullopt;
  std::optional<std::int64_t> acquired_count = std::nullopt;

  // When that was read. Only where a decision on it depends on the time: most messages need no look
  // at the clock.
  absl::Time read_at = {};
};

// Reads a delivery to a consumer with these options, in one walk over its headers. `timed_out`:
// what the consumer remembers of its timeouts; forgets those that are counted now. `counts`: false
// where the queue is known not to count deliveries.
DeliveryFacts ReadFacts(const amqp::Message& message, const RetrierOptions& options,
                        const Clock& clock, TimedOut& timed_out, bool counts = true);

// How often the message has failed in other queues than the consumer's, as its copies are to bring
// back: `x-retry-elsewhere`, encoded. Empty: never.
std::string FailuresElsewhere(const amqp::Message& message, const RetrierOptions& options);

// What is left of the delay of a message that has come out of a delay queue, in whole milliseconds;
// zero if it is due.
//
// That is not more than the clock says, so that time spent in the backlog of a work queue counts,
// and not more than was to be left when it went into that queue, so that clocks of workers that
// disagree can make a message early or late by their difference and keep none on its way for ever.
absl::Duration RemainingDelay(const Delivery::History& history, absl::Time now);

// Nothing if it is in time, which for one of several delay queues is before the message is due, or
// has not come out of a delay queue.
//
// Nobody knows whether a queue was early, or the clock of the worker that published is ahead of
// this one. What the clock says is left is waited for, but where that cannot be, as by this clock
// the message was published in the future, or where it is more than a second and less than a
// twentieth of the delay. So workers whose clocks differ make a message late by their difference at
// most, and by its delay at most. What is put up with is not reported either.
std::optional<EarlyReturn> FindEarlyReturn(const Delivery::History& history,
                                           const amqp::Message& message, absl::Time now);

// For the observer, with the remedy.
std::string WhyEarly(const EarlyReturn& early);

// One entry of `x-death`: a queue that has dead-lettered the message, and why. RabbitMQ merges all
// such events of one queue and reason into one entry.
struct Death {
  std::string queue;
  std::string exchange;    // that it had been published to
  std::string reason;      // "expired", "rejected", "maxlen", "delivery_limit"
  std::int64_t count = 0;  // how often; 0 where the entry does not say
};

// The entries of `x-death`, the newest first. Anyone can send such a header: what is none of its
// shape is passed over.
std::vector<Death> ReadDeaths(const amqp::Message& message);

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_DELIVERY_FACTS_H_
