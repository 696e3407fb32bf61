#ifndef RETRYQ_CLI_DOCTOR_THROW_AWAY_QUEUE_H_
#define RETRYQ_CLI_DOCTOR_THROW_AWAY_QUEUE_H_

#include "absl/time/time.h"
#include "cli/connect/broker_session.h"
#include "retryq/broker.h"
#include "retryq/delay_queue_declaration.h"
#include "retryq/delay_queue_name.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {

// A delay queue that a broker is asked questions with: one like all others, but that nobody else
// uses its TTL, of nearly ten years, and that it expires after `lease`. Deleted with its owner,
// and its exchange, too.
class ThrowAwayQueue {
 public:
  // Declares nothing yet. `session` must outlive it. No message goes to `target`.
  ThrowAwayQueue(BrokerSession& session, const DelayQueueOptions& options,
                 const DelayTarget& target, absl::Duration lease);
  ~ThrowAwayQueue();
  ThrowAwayQueue(const ThrowAwayQueue&) = delete;
  ThrowAwayQueue& operator=(const ThrowAwayQueue&) = delete;

  const QueueDeclaration& queue() const { return params_.queue; }
  const ExchangeDeclaration& exchange() const { return *params_.exchange; }

  // Declares the queue, the first time or again.
  absl::Status Declare();
  // Whether it is there: kNotFound if it is not. (That is use: it renews the lease.)
  absl::Status Look();

 private:
  BrokerSession& session_;
  DeclareParams params_;
  bool declared_ = false;
};

// What rights are tried out with: its name and where its messages go are those of such a queue, but
// it is classic, whatever `options` say, as that costs a broker next to nothing.
DeclareParams ThrowAwayForRights(const DelayQueueOptions& options, const DelayTarget& target,
                                 absl::Duration lease);

// Whether a queue of this name is one of these.
bool IsThrowAway(const DelayQueueName& name);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_THROW_AWAY_QUEUE_H_
