#ifndef RETRYQ_CLI_DOCTOR_THROW_AWAY_QUEUE_H_
#define RETRYQ_CLI_DOCTOR_THROW_AWAY_QUEUE_H_

#include "absl/time/time.h"
#include "cli/connect/broker_session.h"
#include "retryq/broker.h"
#include "retryq/delay_queue_declaration.h"
#include "retryq/delay_queue_name.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {

// A temporary delay queue for checks of a broker. It is like all others, except that its TTL of
// nearly ten years is not used by others and that it expires after `lease`. The destructor deletes
// the queue and its exchange.
class ThrowAwayQueue {
 public:
  // Does not declare it yet. `session` must outlive it. No message goes to `target`.
  ThrowAwayQueue(BrokerSession& session, const DelayQueueOptions& options,
                 const DelayTarget& target, absl::Duration lease);
  ~ThrowAwayQueue();
  ThrowAwayQueue(const ThrowAwayQueue&) = delete;
  ThrowAwayQueue& operator=(const ThrowAwayQueue&) = delete;

  const QueueDeclaration& queue() const { return params_.queue; }
  const ExchangeDeclaration& exchange() const { return *params_.exchange; }

  // Declares the queue, the first time or again.
  absl::Status Declare();
  // Returns kNotFound if it does not exist. (This use renews its lease.)
  absl::Status Look();

 private:
  BrokerSession& session_;
  DeclareParams params_;
  bool declared_ = false;
};

// The declarations for a check of permissions. Names and target are those of a temporary delay
// queue, but the queue is always classic, which is cheap for the broker.
DeclareParams ThrowAwayForRights(const DelayQueueOptions& options, const DelayTarget& target,
                                 absl::Duration lease);

// Returns whether this is the name of a temporary queue.
bool IsThrowAway(const DelayQueueName& name);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_THROW_AWAY_QUEUE_H_
