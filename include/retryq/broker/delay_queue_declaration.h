#ifndef RETRYQ_BROKER_DELAY_QUEUE_DECLARATION_H_
#define RETRYQ_BROKER_DELAY_QUEUE_DECLARATION_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "retryq/broker/broker.h"
#include "retryq/delay_queue_options.h"
#include "retryq/export.h"
#include "retryq/retry_options.h"

namespace retryq {

// Where the messages of a delay queue are dead-lettered.
struct DelayTarget {
  // The work exchange. "" is the default exchange.
  std::string dead_letter_exchange = {};

  // True: the second delay queue of a client with a named work exchange, for copies that must
  // return through the default exchange. `dead_letter_exchange` is "" then.
  bool direct = false;

  // The work queue whose failed messages wait in the delay queue. Affects only the name of a quorum
  // queue, and only if `DelayQueueOptions::share` is false; empty: the name of a shared queue.
  std::string work_queue = {};
};

// The declaration that a client makes for the queue of this delay (whole milliseconds above zero):
// the queue, and the fanout exchange of the same name, bound to it. For tools that create delay
// queues in advance: if `options.declare` is false, it is the queue that the client expects to
// exist, without x-expires. For quorum queues that rotate, returns the first of the four.
// Thread-safe.
RETRYQ_EXPORT DeclareParams DelayQueueDeclaration(absl::Duration delay, const DelayTarget& target,
                                                  const DelayQueueOptions& options);

// The TTLs of all queues that a client may use if its consumers have this one policy, whatever
// delays jitter and handlers choose: in ascending order, at most `max_delay_queues`.
RETRYQ_EXPORT std::vector<absl::Duration> DelayQueueTtls(const RetryOptions& policy,
                                                         const DelayQueueOptions& options);

}  // namespace retryq

#endif  // RETRYQ_BROKER_DELAY_QUEUE_DECLARATION_H_
