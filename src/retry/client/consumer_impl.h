#ifndef RETRYQ_SRC_RETRY_CLIENT_CONSUMER_IMPL_H_
#define RETRYQ_SRC_RETRY_CLIENT_CONSUMER_IMPL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "loop/own_process.h"
#include "loop/pauses.h"
#include "loop/worker_pool.h"
#include "retry/retrier/gated_retrier.h"
#include "retry/retrier/shared_state.h"
#include "retryq/breaker.h"
#include "retryq/broker.h"
#include "retryq/consumer.h"
#include "retryq/work_queue.h"

namespace retryq {

// The running consumers of one client, so that it can drain them.
using ConsumerSet = std::set<Consumer::Impl*>;  // in no order that matters

// Brings a subscription and a retrier together: looks for what must be there,
// consumes, hands deliveries to the retrier, and lets both end in order.
class Consumer::Impl final : private SubscriptionListener, private BrokerListener {
 public:
  // `declare`: what to declare if the queue is missing; none: nothing. `fatal` hears of what makes
  // the first start impossible. `give_up` answers what an origin has published and declared.
  Impl(std::shared_ptr<SharedState> shared, std::unique_ptr<GatedRetrier> retrier,
       ConsumeParams params, std::optional<WorkQueue> declare,
       const std::optional<BreakerOptions>& breaker, std::function<void(absl::Status)> fatal,
       std::function<void(const WorkOrigin&)> give_up, std::shared_ptr<ConsumerSet> consumers);
  ~Impl() override;

  // Once. With threads a blocking handler runs on those; kResourceExhausted where there are none.
  absl::Status Start(Handler handler, int threads);
  void Start(AsyncHandler handler);

  void Drain(absl::Duration deadline, std::function<void(bool)> drained);
  void Pause();
  void Resume();

  bool is_of_this_process() const { return process_.is_here(); }

 private:
  void OnReady() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) override {}

  void OnSubscribed() override;
  void OnDelivery(amqp::MessagePtr message) override { deliver_(std::move(message)); }
  bool PassOn(const amqp::MessagePtr& message, PublishParams* copy) override {
    return state_ == State::kConsuming && retrier_->PassOn(message, copy);
  }
  void OnInterrupted(const absl::Status& why) override;

  void Begin(DeliveryHandler deliver);
  void Prepare();
  // Declares the queue if it is missing, and that is wanted.
  void EnsureQueue(std::function<void(const absl::Status&)> done);
  // Declares again what was deleted.
  void RestoreQueue();
  void OnPrepared(const absl::Status& status);
  bool GaveUpAtStart(const absl::Status& why);
  // At most once a minute.
  void SayInterrupted(const absl::Status& why);
  // The flow of deliveries, unless it is paused.
  void StartFlow();
  // Asks the broker to send no more; `ended` is called once it has answered, or the channel is
  // gone.
  void EndFlow(std::function<void()> ended);

  // The circuit breaker: what a call of the handler makes of it, and what it makes of the flow.
  void OnCall(CallResult result, std::string_view error);
  void OnBreakerOpened(std::string_view error);
  void OnBreakerClosed();
  void AwaitPause(absl::Duration left);
  void ProbeIfDue();
  void ReportBreaker(EventKind kind);
  bool breaker_is_open() const { return breaker_ && breaker_->state() == Breaker::State::kOpen; }

  // Closes the channel behind all that is settled.
  void CloseAndEndDrain(bool complete);
  void EndDrain(bool complete);
  void EndDrainAt(absl::Duration since_boot);
  void WatchDrain();

  // The handlers that run are abandoned, and what they wait for is answered. Then they are waited
  // for, as long as the loop can.
  void EndHandlers();

  enum class State { kStarting, kPreparing, kConsuming, kDraining, kClosing, kDone };

  const OwnProcess process_;
  const std::shared_ptr<SharedState> shared_;
  const std::unique_ptr<GatedRetrier> retrier_;
  const ConsumeParams params_;
  const std::optional<WorkQueue> declare_;
  const std::function<void(absl::Status)> fatal_;
  const std::function<void(const WorkOrigin&)> give_up_;
  const std::shared_ptr<ConsumerSet> consumers_;  // outlives the client, if this does

  State state_ = State::kStarting;
  bool paused_ = false;
  bool consumed_once_ = false;
  std::optional<absl::Duration> interruption_said_;  // since boot
  bool broker_failed_ = false;                       // on a message: the last interruption
  bool said_to_consume_ = false;                     // and not interrupted since

  std::optional<Breaker> breaker_;      // nothing: there is none
  std::string breaker_error_;           // why it opened last
  std::uint64_t breaker_openings_ = 0;  // so far
  bool flow_has_ended_ = false;         // since it opened last
  std::unique_ptr<Timer> breaker_pause_;

  SharedState::ListenerId listener_ = 0;
  bool restoring_ = false;  // declares a queue that is gone
  Pauses pauses_;           // of preparing
  std::unique_ptr<Timer> again_;
  DeliveryHandler deliver_;
  std::unique_ptr<Subscription> subscription_;
  std::vector<std::function<void(bool)>> drained_;       // all who wait for that
  absl::Duration drain_end_ = absl::InfiniteDuration();  // since boot
  std::unique_ptr<Timer> drain_timer_;
  std::size_t open_before_ = 0;  // deliveries, at the last look
  int vain_looks_ = 0;           // in a row
  int idle_looks_ = 0;           // while no handler ran
  std::unique_ptr<Timer> drain_watch_;
  Lifeline<Impl> lifeline_{this};
  // Read by the pool's threads.
  const std::shared_ptr<std::atomic<bool>> handle_no_more_ =
      std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<WorkerPool> pool_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_CONSUMER_IMPL_H_
