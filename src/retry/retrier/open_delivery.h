#ifndef RETRYQ_SRC_RETRY_RETRIER_OPEN_DELIVERY_H_
#define RETRYQ_SRC_RETRY_RETRIER_OPEN_DELIVERY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "retry/delivery/counted_returns.h"
#include "retry/policy/decide.h"
#include "retry/policy/delay_steps.h"
#include "retry/publisher/copy.h"
#include "retry/publisher/parked_queue.h"
#include "retry/publisher/publisher.h"
#include "retry/retrier/shared_state.h"
#include "retryq/amqp/message.h"
#include "retryq/breaker.h"
#include "retryq/broker/retrier.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"

namespace retryq {

// State that all open deliveries of one retrier share.
struct RetrierContext {
  SharedState& shared;
  const RetrierOptions& options;
  const RetryPolicy policy;
  ParkedQueue parked_queue;
  CountedReturns counted_returns;
  Copy copy;  // scratch space: each copy is sent before the next is built
  // Called with the result and the error of each call of the handler, except of calls that began
  // before handling was last stopped. It is called while a delivery is processed: it must not call
  // the user's code, and must not destroy the retrier.
  using OnCall = std::function<void(CallResult result, std::string_view error)>;
  OnCall on_call = nullptr;
  bool handling_stopped = false;
  bool returns_paused = false;
  std::uint64_t stops = 0;   // how often handling was stopped
  std::size_t open = 0;      // open deliveries
  std::size_t handling = 0;  // open deliveries that are with the handler
};

// One delivery, from its arrival to the Ack or Reject that ends it. Carries out the steps that
// RetryPolicy decides on. Its states:
//
//   kFree       ── Begin ─────────────────────────────────────────────────▶ kDeciding
//   kDeciding   ── kHandle ───────────────────────────────────────────────▶ kHandling
//               ── kWait ─────────────────────────────────────────────────▶ kWaiting
//               ── kForward, kMove, kRetry, kSnooze, kPark,
//                  kRequeue by a copy ───────────────────────────────────▶ kPublishing
//               ── kAck, kDiscard, kReject, kRequeue by basic.nack ──────▶ kFree
//               ── kMove or kRequeue by a copy, while returns are paused ─▶ kReturning
//               ── kPark of a body left out, whose copy is parked ────────▶ kFree
//               ── kPark of a body left out, which cannot be parked ──────▶ kReturning
//   kReturning  ── returns are resumed, or its pause is over ─────────────▶ kDeciding
//   kWaiting    ── the rest of its delay is over ─────────────────────────▶ kHandling
//               ── that, and handling is stopped; or its pause is over ───▶ kDeciding
//   kHandling   ── Settle, with the handler's outcome ────────────────────▶ kDeciding
//   kPublishing ── confirmed, and acked ──────────────────────────────────▶ kFree
//               ── refused, or its headers are too large: it is parked ───▶ kPublishing
//               ── returned: the parked queue is gone ────────────────────▶ kDeclaring
//               ── refused by every destination ──────────────────────────▶ kHeld
//   kDeclaring  ── the parked queue has been declared again ──────────────▶ kPublishing
//               ── the parked queue cannot be declared ───────────────────▶ kHeld
//   kHeld       ── its pause is over ─────────────────────────────────────▶ kPublishing
//
// Only `Enter` changes the state. `Abandon` leads to kFree from every state, without an event.
// Other events are reported to the observer after the changes that they report.
//
// The object is reused for later deliveries.
class OpenDelivery final : private PendingPublish {
 public:
  enum class State {
    kFree,        // the object has no delivery
    kDeciding,    // the next step is being decided on
    kWaiting,     // the delivery waits for the rest of its delay
    kHandling,    // the handler is running, or about to be called
    kReturning,   // will be copied to its own queue when the flow of deliveries has ended
    kPublishing,  // a copy is being published, as `step_` says
    kDeclaring,   // its missing parked queue is being declared; then it is published again
    kHeld,        // no destination takes its copy; it is published again after a pause
  };

  // `released` is called last, when the object is kFree again.
  OpenDelivery(RetrierContext& context, std::function<void()> released);

  State state() const { return state_; }
  const Delivery& delivery() const { return *delivery_; }

  // Takes a delivery. `is_counted`: the headers of the delivery contain all of its failures. From
  // kFree.
  void Begin(amqp::MessagePtr&& message, const std::shared_ptr<Delivery::Source>& source,
             const Delivery::History& history, bool is_counted);

  // For a delivery whose body was not read: fills in the copy for the parked queue, without the
  // body. The views are valid until a delivery of this retrier publishes a copy. From kDeciding.
  bool FillParked(Step step, PublishParams* params);

  // Carries out any step except kHandle, kWait and kSkip. From kDeciding.
  void CarryOut(Step step);

  // kWait: calls `due` after `remaining`, unless this object is destroyed before; `due` may destroy
  // it. From kDeciding.
  void Wait(absl::Duration remaining, std::function<void()> due);

  // Carries the step out after its pause. From kDeciding.
  void CarryOutAfterPause(Step step);

  // kHandle: call it just before the handler. From kDeciding and kWaiting.
  void BeginHandling();

  // Decides on the next step from the handler's outcome, and carries it out. `handling` is how long
  // the handler took, if that was measured. From kHandling.
  void Settle(const Outcome& outcome, std::optional<absl::Duration> handling);

  // Requeues the delivery instead of calling the handler. From kDeciding and kWaiting.
  void RequeueUnhandled();

  // Carries out the postponed step. From kReturning.
  void Return();

  // The channel is gone; the object is destroyed next.
  void Abandon() { Enter(State::kFree); }

 private:
  // PendingPublish.
  std::optional<DelayRoute> Route() const override;
  absl::Duration SafeFrom() const override;
  bool Fill(PublishParams* params, absl::Time now) override;
  void OnSent(const SendResult& result) override;
  std::string_view Origin() const override { return context_.options.queue; }
  std::string_view Id() const override { return delivery_->id(); }

  void Enter(State state);
  void CarryOut(const Moment& now);
  void CarryOutFailure(const Moment& now);
  void Requeue(const Moment& now);
  void KeepUnread();
  void FinishPassedOn(Event& failed, const Moment& now);
  // Publishes a copy for `step_`.
  void Publish() { Publish(Look()); }
  void Publish(const Moment& now);
  // Publishes a copy to the delivery's own queue, or waits while returns are paused.
  void PublishBack(const Moment& now);
  void OnCopyRefused(const SendResult& result);
  // Publishes the copy to the parked queue instead.
  void Park(bool unchanged);
  void OnParkedRefused(const SendResult& result);
  void OnParkedQueueGone();
  void Hold(std::string_view why);
  void AckCopied(const SendResult& result);
  // Settle the delivery for the broker.
  void Ack();
  void Reject(bool requeue);
  // Report the end to the observer, and free the object for the next delivery.
  // `now`: wall clock, the time of the event.
  void Close(EventKind kind, absl::Time now);
  void Close(Event& event, absl::Time now);

  // Whether the copy is published directly to the work queue.
  bool IsDirect() const {
    return step_.kind == Step::Kind::kMove || step_.kind == Step::Kind::kRequeue;
  }
  bool IsDelayed() const {
    return step_.kind == Step::Kind::kRetry || step_.kind == Step::Kind::kSnooze ||
           step_.kind == Step::Kind::kForward;
  }
  // Whether the copy is unchanged: it returns to its queue, and the headers and the route of the
  // message already contain everything that must be kept.
  bool IsUnchangedReturn() const { return IsDirect() && is_counted_ && KeepsItsRoute(); }
  bool KeepsItsRoute() const;
  absl::Duration Waited() const;
  // These call the tracer. The last two return false if it has abandoned the delivery.
  void BeginTrace();
  bool EndTrace(const Outcome& outcome);
  bool TraceCopy();
  bool ReturnsThroughWorkExchange() const;
  Annotation Annotate(absl::Time now) const;
  // The id of the message and of its copies; empty before the first copy if the message has none.
  std::string_view id() const { return new_id_.empty() ? delivery_->id() : new_id_; }
  void EnsureId();
  Moment Look() const { return context_.shared.clock().Look(); }
  bool is_observed() const { return context_.shared.environment().observer != nullptr; }
  // Returns an event about the delivery as it is now, whose time `ReportAt` sets.
  Event Describe(EventKind kind, std::string_view error = {}) const;

  RetrierContext& context_;
  const std::function<void()> released_;

  State state_ = State::kFree;
  std::optional<Delivery> delivery_;  // empty only in kFree
  Step step_;                         // the last decision, kPark if its copy is refused
  bool parks_unchanged_ = false;      // kPark: the copy has no `x-retry-…` headers
  Hop hop_ = {};                      // the delay queue of the copy, if it is delayed
  std::string trace_headers_;         // of the copy, encoded; empty without a tracer
  std::string new_id_;                // of the copies of a message without an id, once there is one
  bool is_counted_ = true;
  absl::Duration arrived_at_ = absl::ZeroDuration();  // since boot, if it has an expiration
  std::uint32_t holds_ = 0;                           // how often it has been held
  std::unique_ptr<Timer> timer_;                      // in kWaiting, kHeld and kReturning
  absl::Duration called_at_ = absl::ZeroDuration();   // since boot, if there is an observer
  std::optional<absl::Duration> handling_;            // how long the handler took
  std::uint64_t stops_ = 0;  // how often handling was stopped before this call
  Lifeline<OpenDelivery> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_OPEN_DELIVERY_H_
