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

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "loop/own_process.h"
#include "loop/pauses.h"
#include "loop/runner_thread.h"
#include "loop/worker_pool.h"
#include "retry/retrier/retrier_impl.h"
#include "retry/retrier/shared_state.h"
#include "retryq/breaker.h"
#include "retryq/broker/broker.h"
#include "retryq/consumer.h"
#include "retryq/work_queue.h"

namespace retryq {

// The running consumers of one client, so that it can drain them.
using ConsumerSet = std::set<Consumer::Impl*>;  // the order does not matter

// Connects a subscription and a retrier: checks or declares the queue, consumes, passes deliveries
// to the retrier, and ends both in order.
class Consumer::Impl final : private SubscriptionListener, private BrokerListener {
 public:
  // `declare`: what to declare if the queue is missing; nullopt to declare nothing. `fatal` is
  // called with errors that make the first start impossible. `give_up` answers the publishes and
  // declares that handlers of this consumer have made.
  Impl(std::shared_ptr<SharedState> shared, std::unique_ptr<Retrier> retrier, ConsumeParams params,
       std::optional<WorkQueue> declare, const std::optional<BreakerOptions>& breaker,
       std::function<void(absl::Status)> fatal, std::function<void(const WorkOrigin&)> give_up,
       std::shared_ptr<ConsumerSet> consumers);
  ~Impl() override;

  // Call once. With `threads`, a blocking handler runs on that number of threads;
  // kResourceExhausted if they cannot be started.
  absl::Status Start(Handler handler, int threads);
  void Start(AsyncHandler handler);

  void Drain(absl::Duration deadline, absl::AnyInvocable<void(bool) &&> drained);
  void Pause();
  void Resume();
  void OnReady(absl::AnyInvocable<void()> ready);

  // Returns whether the object belongs to this process. Ends the process if the calling thread is
  // the wrong one.
  bool Check(const char* function) const {
    if (!process_.is_here()) return false;
    CheckThread(*shared_->environment().executor, function);
    return true;
  }

 private:
  void OnReady() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool /*blocked*/, std::string_view /*reason*/) override {}

  void OnSubscribed() override;
  void OnDelivery(amqp::MessagePtr message) override { deliver_(std::move(message)); }
  bool PassOn(const amqp::MessagePtr& message, PublishParams* copy) override {
    return state_ == State::kConsuming && retrier_->impl().PassOn(message, copy);
  }
  void OnInterrupted(const absl::Status& why) override;

  void Begin(DeliveryHandler deliver);
  void Prepare();
  // Declares the queue if it is missing and `declare_` is set.
  void EnsureQueue(std::function<void(const absl::Status&)> done);
  // Declares the queue again after it was deleted.
  void RestoreQueue();
  void OnPrepared(const absl::Status& status);
  bool GaveUpAtStart(const absl::Status& why);
  // Reports at most once a minute.
  void ReportInterrupted(const absl::Status& why);
  void CallReady();
  // Starts the flow of deliveries and the calls of the handler, unless the consumer is paused.
  void StartFlow();
  // Cancels the consumer. `ended` is called when the broker has answered, or the channel is gone.
  void EndFlow(std::function<void()> ended);

  // The circuit breaker: its changes after calls of the handler, and their effect on the flow.
  void OnCall(CallResult result, std::string_view error);
  void OnBreakerOpened(std::string_view error);
  void OnBreakerClosed();
  void AwaitPause(absl::Duration left);
  void ProbeIfDue();
  void ReportBreaker(EventKind kind);
  bool breaker_is_open() const { return breaker_ && breaker_->state() == Breaker::State::kOpen; }

  // Closes the channel after all settlements.
  void CloseAndEndDrain(bool complete);
  void EndDrain(bool complete);
  void EndDrainAt(absl::Duration since_boot);
  void WatchDrain();

  // Abandons the running handlers, answers their publishes and declares, and waits for the handlers
  // for the longest time that the loop may be blocked.
  void EndHandlers();

  enum class State { kStarting, kPreparing, kConsuming, kDraining, kClosing, kDone };

  const OwnProcess process_;
  const std::shared_ptr<SharedState> shared_;
  const std::unique_ptr<Retrier> retrier_;
  const ConsumeParams params_;
  const std::optional<WorkQueue> declare_;
  const std::shared_ptr<bool> is_missing_ = std::make_shared<bool>(false);  // the queue
  const std::function<void(absl::Status)> fatal_;
  const std::function<void(const WorkOrigin&)> give_up_;
  const std::shared_ptr<ConsumerSet> consumers_;  // shared, because this may outlive the client

  State state_ = State::kStarting;
  bool paused_ = false;
  bool consumed_once_ = false;
  bool subscribed_ = false;  // the broker has accepted the consumer, and no interruption since
  std::shared_ptr<absl::AnyInvocable<void()>> ready_;
  std::optional<absl::Duration> interruption_said_;  // since boot
  bool broker_failed_ = false;    // the last interruption was caused by a message
  bool said_to_consume_ = false;  // kConsuming was reported, and no interruption since

  std::optional<Breaker> breaker_;      // nullopt if there is no breaker
  std::string breaker_error_;           // the error that opened it last
  std::uint64_t breaker_openings_ = 0;  // number of openings so far
  bool flow_has_ended_ = false;         // since it opened last
  std::unique_ptr<Timer> breaker_pause_;

  SharedState::ListenerId listener_ = 0;
  bool restoring_ = false;  // whether the deleted queue is being declared again
  Pauses pauses_;           // between attempts to prepare
  std::unique_ptr<Timer> again_;
  DeliveryHandler deliver_;
  std::unique_ptr<Subscription> subscription_;
  std::vector<absl::AnyInvocable<void(bool) &&>> drained_;  // callbacks of all calls of Drain
  absl::Duration drain_end_ = absl::InfiniteDuration();     // since boot
  std::unique_ptr<Timer> drain_timer_;
  std::size_t open_before_ = 0;  // deliveries that were open at the last check
  int vain_looks_ = 0;           // consecutive checks without progress
  int idle_looks_ = 0;           // consecutive checks while no handler ran
  std::unique_ptr<Timer> drain_watch_;
  Lifeline<Impl> lifeline_{this};
  // Read by the threads of the pool.
  const std::shared_ptr<std::atomic<bool>> handle_no_more_ =
      std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<WorkerPool> pool_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_CONSUMER_IMPL_H_
