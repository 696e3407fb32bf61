#ifndef RETRYQ_SRC_RETRY_RETRIER_RETRIER_IMPL_H_
#define RETRYQ_SRC_RETRY_RETRIER_RETRIER_IMPL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "loop/runner_thread.h"
#include "retry/delivery/delivery_facts.h"
#include "retry/delivery/timed_out.h"
#include "retry/policy/decide.h"
#include "retry/retrier/open_delivery.h"
#include "retry/retrier/shared_state.h"
#include "retryq/broker/retrier.h"

namespace retryq {

// Returns kInvalidArgument naming every wrong field, separated by "; ". A delay queue must be able
// to hold the longest delay.
absl::Status Validate(const RetrierOptions& options, const DelayQueueOptions& delay_queues);

// Returns the options with their empty fields replaced by defaults.
RetrierOptions WithDefaults(RetrierOptions options);

// A delivery that was posted to another thread. Either that thread takes and handles it, or the
// retrier first takes it back because its channel is gone. Thread-safe.
class HandedOver {
 public:
  explicit HandedOver(Delivery delivery) : delivery_(std::move(delivery)) {}

  // Returns nullopt if the delivery has already been taken.
  std::optional<Delivery> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(delivery_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<Delivery> delivery_;  // guarded by mutex_
};

// Keeps the open deliveries and passes the outcomes of handlers to them.
class Retrier::Impl final {
 public:
  Impl(std::shared_ptr<SharedState> shared, RetrierOptions options);
  ~Impl();
  // Destroys the retrier; used instead of the destructor. During a call of the observer, the
  // retrier is destroyed after that call, and makes no calls until then.
  static void Retire(std::unique_ptr<Impl> retrier);

  void CheckThread(const char* function) const {
    retryq::CheckThread(*shared_->environment().executor, function);
  }
  void Prepare(std::function<void(absl::Status)> done);
  DeliveryHandler Wrap(Handler handler);
  DeliveryHandler Wrap(Handler handler, std::shared_ptr<Executor> threads);
  DeliveryHandler Wrap(AsyncHandler handler);
  std::size_t open() const { return context_.open; }
  std::size_t handling() const { return context_.handling; }
  void Abandon(const absl::Status& why);
  void WhenIdle(std::function<void()> idle);

  // The functions below are for the consumer, which may stop the flow of deliveries.

  // See SubscriptionListener. Returns true, and fills `copy` in, if `message` is to be parked.
  bool PassOn(const amqp::MessagePtr& message, PublishParams* copy);

  // While returns are paused, no copy is published to the work queue itself: the broker could still
  // deliver it to a consumer that is being cancelled, and count that as a failure (F61 in
  // doc/rabbitmq_facts.md). `ResumeReturns` reports the requeued messages to the observer.
  void PauseReturns() { context_.returns_paused = true; }
  void ResumeReturns();

  // See RetrierContext::OnCall.
  void Watch(RetrierContext::OnCall on_call) { context_.on_call = std::move(on_call); }

  // While handling is stopped, no handler is called, and deliveries are requeued. Cancel the
  // consumer first; otherwise the broker delivers these messages again at once.
  void StopHandling();
  void ResumeHandling() { context_.handling_stopped = false; }

  // Requeues the deliveries that were posted to another thread and whose handler has not been
  // called, and reports each to the observer.
  void RequeueUnbegun();

 private:
  // Identifies one delivery by its place and by how often the place had been used before. An
  // outcome that comes after `Abandon` therefore finds no delivery.
  struct Id {
    std::uint32_t place;
    std::uint32_t use;
  };

  // For one delivery at a time. Its memory is reused.
  struct Place {
    bool is_taken() const {
      return delivery != nullptr && delivery->state() != OpenDelivery::State::kFree;
    }
    bool is_handling() const { return Is(OpenDelivery::State::kHandling); }
    bool is_returning() const { return Is(OpenDelivery::State::kReturning); }
    bool Is(OpenDelivery::State state) const {
      return delivery != nullptr && delivery->state() == state;
    }

    std::unique_ptr<OpenDelivery> delivery;
    std::uint32_t use = 0;
    std::shared_ptr<HandedOver> handed_over = nullptr;   // to another thread
    std::shared_ptr<std::atomic<bool>> begun = nullptr;  // with an asynchronous handler
    absl::Status thrown = {};      // by a handler that has not settled, or dropped its settlement
    absl::Duration taken_at = {};  // since boot; set if this client must count timeouts
  };

  // A call of the handler on the loop's thread. The handler may destroy the retrier, or make it
  // abandon its deliveries: the delivery of the call stays until the call returns. Nested calls end
  // in reverse order.
  class Running {
   public:
    Running(const AlivePtr<Impl>& retrier, Id id)
        : retrier_(retrier),
          place_(id.place),
          delivery_(*retrier->places_[id.place]->delivery),
          outer_(std::exchange(retrier->running_, this)) {}
    ~Running() {
      if (retrier_) retrier_->running_ = outer_;
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    const Delivery& delivery() const { return delivery_.delivery(); }

   private:
    friend class Impl;
    const AlivePtr<Impl>& retrier_;
    const std::uint32_t place_;
    const OpenDelivery& delivery_;
    std::unique_ptr<OpenDelivery> abandoned_;
    Running* const outer_;
  };

  // Calls the handler for a delivery.
  using Call = absl::AnyInvocable<void(const AlivePtr<Impl>& self, Id id)>;

  // The state of a wrapped handler. The call may destroy the retrier and the function that made the
  // call, so the caller keeps a reference to this.
  struct Wrapped {
    AlivePtr<Impl> retrier;
    mutable Call call;
  };

  DeliveryHandler Deliver(Call call);
  static void Deliver(const std::shared_ptr<const Wrapped>& wrapped, amqp::MessagePtr&& message);
  void DeliverWithHistory(const std::shared_ptr<const Wrapped>& wrapped,
                          amqp::MessagePtr&& message);
  Step Decide(const DeliveryFacts& facts) const;
  Id Take(amqp::MessagePtr&& message, const Delivery::History& history, bool is_counted);
  void Skip(amqp::MessagePtr message, const Delivery::History& history);
  static void CallHandlerOf(const Wrapped& wrapped, Id id);
  void ReportIfEarly(const Delivery& delivery, const DeliveryFacts& facts);
  bool CountsTimeouts(const amqp::Message& message) {
    if (message.delivery_tag.generation != generation_) OnNewChannel(message);
    return counts_timeouts_;
  }
  void OnNewChannel(const amqp::Message& message);
  std::shared_ptr<std::atomic<bool>> BeginAsync(Place& place) const;
  void RememberTimeouts();
  void AskWhetherCounts(std::function<void()> done);
  void LookForWorkExchange(std::function<void(const absl::Status&)> done);
  void Settle(Id id, const Outcome& outcome, std::optional<absl::Duration> handling = std::nullopt);
  void Destroy(std::uint32_t place);
  void Release(std::uint32_t place);
  void NotifyIfIdle();

  const std::shared_ptr<SharedState> shared_;
  const RetrierOptions options_;
  std::shared_ptr<Delivery::Source> source_;  // of current deliveries
  RetrierContext context_;

  std::vector<std::unique_ptr<Place>> places_;  // a Place does not move when more arrive
  std::vector<std::uint32_t> free_;
  Running* running_ = nullptr;  // the innermost call
  // Since 4.3 the broker does not count consumer timeouts.
  TimedOut timed_out_;
  std::uint64_t generation_ = 0;  // of the channel that `counts_timeouts_` refers to
  bool counts_timeouts_ = false;
  int questions_left_ = 2;  // of those to the broker whether the queue counts deliveries
  absl::Duration report_early_from_ = -absl::InfiniteDuration();
  std::function<void()> idle_;
  std::unique_ptr<Timer> idle_timer_;
  std::unique_ptr<OpenDelivery> passing_on_;  // fills a copy; free between calls
  std::optional<Lifeline<Impl>> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_RETRIER_IMPL_H_
