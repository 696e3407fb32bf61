#ifndef RETRYQ_SRC_RETRY_HUB_H_
#define RETRYQ_SRC_RETRY_HUB_H_

#include <string>
#include <vector>

#include "retry/delay_queues.h"
#include "retry/delay_steps.h"
#include "retry/held_clock.h"
#include "retry/publisher.h"
#include "retry/target_checks.h"
#include "retryq/broker.h"
#include "retryq/retrier.h"

namespace retryq {

// What all retriers of one broker share: the delay queues, the publisher, and
// the news of the connection, passed on to whoever else wants them.
class Hub final : public Retrier::Shared, private BrokerListener {
 public:
  Hub(Broker& broker, Environment environment, DelayQueueOptions options);
  ~Hub() override;

  Broker& broker() { return broker_; }
  // Its clock is one for the loop's thread, and can be held.
  const Environment& environment() const { return environment_; }
  HeldClock& clock() { return clock_; }
  // For other threads.
  const Clock& thread_clock() const { return thread_clock_; }
  DelayQueues& delay_queues() { return delay_queues_; }
  Publisher& publisher() { return publisher_; }
  DelaySteps& delay_steps() { return delay_steps_; }
  TargetChecks& target_checks() { return target_checks_; }
  const DelayQueueOptions& options() const { return options_; }

  // Whether publishing and declaring work right now.
  bool ready() const { return ready_; }

  // Not owned. May be removed inside any of its calls.
  void AddListener(BrokerListener* listener);
  void RemoveListener(BrokerListener* listener);

  // Tells the observer, if there is one, and fills in the time before.
  void Report(Event& event) const;
  void Report(Event&& event) const { Report(event); }

 private:
  void OnReady() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;

  template <typename Call>
  void Tell(Call call);

  Broker& broker_;
  const Clock& thread_clock_;
  HeldClock clock_;
  const Environment environment_;
  const DelayQueueOptions options_;
  DelayQueues delay_queues_;
  Publisher publisher_;
  DelaySteps delay_steps_;
  TargetChecks target_checks_;
  bool ready_ = false;
  std::vector<BrokerListener*> listeners_;  // nullptr: removed while told
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_HUB_H_
