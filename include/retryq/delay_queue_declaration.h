#ifndef RETRYQ_DELAY_QUEUE_DECLARATION_H_
#define RETRYQ_DELAY_QUEUE_DECLARATION_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "retryq/broker.h"
#include "retryq/delay_queue_options.h"
#include "retryq/export.h"
#include "retryq/retry_options.h"

namespace retryq {

// Where a delay queue lets its messages go.
struct DelayTarget {
  // The work exchange. "" is the default exchange.
  std::string dead_letter_exchange = {};

  // Beside the queue of a named work exchange the one for copies that must return through the
  // default exchange: `dead_letter_exchange` is "" then.
  bool direct = false;

  // The work queue whose failed messages wait there. Only the name of a quorum queue depends on it,
  // and only where `DelayQueueOptions::share` is false; empty is the name of a shared queue.
  std::string work_queue = {};
};

// What a client declares for the queue of this delay, which is whole milliseconds above zero: the
// queue, and the fanout exchange of the same name, bound to it. For tools that make delay queues
// beforehand: with `options.declare` false it is the queue that such a client expects to find,
// without x-expires. Quorum queues that rotate: the first of the four. Thread-safe.
RETRYQ_EXPORT DeclareParams DelayQueueDeclaration(absl::Duration delay, const DelayTarget& target,
                                                  const DelayQueueOptions& options);

// The TTLs of all queues that a client whose consumers have this one policy may use, whatever
// delays chance and handlers choose: from the shortest to the longest, at most `max_delay_queues`.
RETRYQ_EXPORT std::vector<absl::Duration> DelayQueueTtls(const RetryOptions& policy,
                                                         const DelayQueueOptions& options);

}  // namespace retryq

#endif  // RETRYQ_DELAY_QUEUE_DECLARATION_H_
