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
#include "retry/publisher/parking_lot.h"
#include "retry/publisher/publisher.h"
#include "retry/retrier/gated_retrier.h"
#include "retry/retrier/shared_state.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"
#include "retryq/retrier.h"

namespace retryq {

// What all open deliveries of one retrier share.
struct RetrierContext {
  SharedState& shared;
  const RetrierOptions& options;
  const RetryPolicy policy;
  ParkingLot parking_lot;
  CountedReturns counted_returns;
  Copy copy;  // scratch: a copy is sent before the next one is built
  // See GatedRetrier.
  GatedRetrier::OnCall on_call = nullptr;
  bool gate_closed = false;
  bool returns_held = false;
  std::uint64_t closings = 0;  // of the gate, so far
  std::size_t open = 0;        // deliveries
  std::size_t handling = 0;    // of those, with the handler
};

// One delivery, from its arrival to the one Ack or Reject that ends it: carries out the steps that
// RetryPolicy decides on. Its states:
//
//   kFree       ── Begin ─────────────────────────────────────────────────▶ kDeciding
//   kDeciding   ── kHandle ───────────────────────────────────────────────▶ kHandling
//               ── kWait ─────────────────────────────────────────────────▶ kWaiting
//               ── kForward, kMove, kRetry, kSnooze, kPark,
//                  kGiveBack by a copy ───────────────────────────────────▶ kPublishing
//               ── kAck, kDiscard, kReject, kGiveBack by basic.nack ──────▶ kFree
//               ── kMove or kGiveBack by a copy, and returns are held ────▶ kReturning
//   kReturning  ── returns are held no more, or after a pause ────────────▶ kDeciding
//               ── kPark of a body that was left out, and passed on ──────▶ kFree
//               ── the same, and it was not passed on ────────────────────▶ kReturning
//   kWaiting    ── the rest of its delay is over ─────────────────────────▶ kHandling
//               ── the same, and the gate is closed, or a pause is over ──▶ kDeciding
//   kHandling   ── Settle, with the handler's outcome ────────────────────▶ kDeciding
//   kPublishing ── confirmed, and acked ──────────────────────────────────▶ kFree
//               ── refused, or its headers have no room: parked instead ──▶ kPublishing
//               ── returned: the parked queue is gone ────────────────────▶ kDeclaring
//               ── refused wherever it goes ──────────────────────────────▶ kHeld
//   kDeclaring  ── the parked queue is there again ───────────────────────▶ kPublishing
//               ── it cannot be declared ─────────────────────────────────▶ kHeld
//   kHeld       ── after a pause ─────────────────────────────────────────▶ kPublishing
//
// Each of them is entered in `Enter`, nowhere else. `Abandon` leads to kFree from everywhere, and
// the observer is not told. It is told last, after what it is told of has been done.
//
// Reused from delivery to delivery.
class OpenDelivery final : private PendingPublish {
 public:
  enum class State {
    kFree,        // has no delivery
    kDeciding,    // its next step is decided on, and carried out at once
    kWaiting,     // for the rest of its delay
    kHandling,    // with the handler, or on the way to it
    kReturning,   // is copied to its own queue once the flow of deliveries has ended
    kPublishing,  // a copy is on its way: `copy_kind_`
    kDeclaring,   // its parked queue is missing, and is declared; then it is published again
    kHeld,        // its copy can be published nowhere: after a pause it is tried again
  };

  // `released` is called when it is kFree again, last of all.
  OpenDelivery(RetrierContext& context, std::function<void()> released);

  State state() const { return state_; }
  const Delivery& delivery() const { return *delivery_; }

  // Takes a delivery. From kFree. `is_counted`: its headers state all of its failures.
  void Begin(Delivery delivery, bool is_counted);

  // For a delivery whose body is left out: what to publish of it to the parked queue, without the
  // body. The views are valid until a delivery of this retrier publishes a copy. From kDeciding.
  bool FillParked(Step step, PublishParams* params);

  // Carries out a step that is neither kHandle, kWait nor kSkip. From kDeciding.
  void CarryOut(Step step);

  // kWait: calls `due` after that time, unless destroyed before. Which it may be inside. From
  // kDeciding.
  void Wait(absl::Duration remaining, std::function<void()> due);

  // kForward: carries it out after its pause. From kDeciding.
  void Forward(Step step);

  // kHandle: the handler is about to be called. From kDeciding and kWaiting.
  void BeginHandling();

  // What the handler returned, and how long it took where anybody wants to know: decides on the
  // next step and carries it out. From kHandling.
  void Settle(const Outcome& outcome, std::optional<absl::Duration> handling);

  // Gives it back to its queue in place of a call of the handler. From kDeciding and kWaiting.
  void GiveBackUnhandled();

  // Goes on with what was held. From kReturning.
  void Return();

  // The channel is gone. To be destroyed next.
  void Abandon() { Enter(State::kFree); }

 private:
  // What the copy is, and where it goes.
  enum class CopyKind {
    kRetried,          // to a delay queue
    kSnoozed,          // the same
    kForwarded,        // to a delay queue, for the rest of its delay
    kMoved,            // to the end of its own queue
    kGivenBack,        // the same
    kParked,           // to the parked queue
    kParkedUnchanged,  // the same, without headers of retrying
  };

  // PendingPublish.
  std::optional<DelayRoute> Route() const override;
  absl::Duration SafeFrom() const override;
  bool Fill(PublishParams* params) override;
  void OnSent(const SendResult& result) override;
  std::string_view Origin() const override { return context_.options.queue; }
  std::string_view Id() const override { return delivery_->id(); }

  void Enter(State state);
  void CarryOut();
  void CarryOutFailure();
  void GiveBack();
  void KeepUnread();
  void FinishPassedOn(Event& failed);
  void Publish(CopyKind kind);
  // To its own queue; not while returns are held.
  void PublishBack(CopyKind kind);
  void OnCopyRefused(const SendResult& result);
  void OnParkedRefused(const SendResult& result);
  void OnParkedQueueGone();
  void Hold(std::string_view why);
  void AckCopied(const SendResult& result);
  // The end, for the broker.
  void Ack();
  void Reject(bool requeue);
  // And then for the observer; the next delivery may come.
  void Close(EventKind kind);
  void Close(Event& event);

  // Whether the copy goes to the work queue itself.
  bool IsDirect() const {
    return copy_kind_ == CopyKind::kMoved || copy_kind_ == CopyKind::kGivenBack;
  }
  bool IsDelayed() const {
    return copy_kind_ == CopyKind::kRetried || copy_kind_ == CopyKind::kSnoozed ||
           copy_kind_ == CopyKind::kForwarded;
  }
  // Whether the copy is the message as it came: back in its queue, with nothing to be remembered
  // that neither its headers nor its way there state.
  bool IsUnchangedReturn() const;
  absl::Duration Waited() const;
  bool ReturnsThroughWorkExchange() const;
  Annotation Annotate() const;
  bool is_observed() const { return context_.shared.environment().observer != nullptr; }
  // Fills in what is known of the delivery.
  void Describe(Event& event) const;

  RetrierContext& context_;
  const std::function<void()> released_;

  State state_ = State::kFree;
  CopyKind copy_kind_ = CopyKind::kRetried;  // kPublishing, kDeclaring, kHeld
  std::optional<Delivery> delivery_;         // unless kFree
  Step step_;                                // the last one that was decided on
  Hop hop_ = {};                             // where the copy goes, if it is delayed
  std::string id_;                           // of the copies; empty before the first one
  bool is_counted_ = true;
  absl::Duration arrived_at_ = absl::ZeroDuration();  // since boot, where it has an expiration
  std::uint32_t holds_ = 0;                           // so far
  std::unique_ptr<Timer> timer_;                      // kWaiting, kHeld, kReturning
  absl::Duration called_at_ = absl::ZeroDuration();   // since boot, where an observer wants to know
  std::optional<absl::Duration> handling_;            // the same: how long it took
  std::uint64_t closings_ = 0;                        // of the gate, before the call
  Lifeline<OpenDelivery> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_OPEN_DELIVERY_H_
