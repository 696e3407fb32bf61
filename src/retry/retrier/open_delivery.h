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
#include "retry/client/alive.h"
#include "retry/client/shared_state.h"
#include "retry/delivery/redeliveries.h"
#include "retry/policy/delay_steps.h"
#include "retry/policy/retry_policy.h"
#include "retry/publisher/copy.h"
#include "retry/publisher/parking_lot.h"
#include "retry/publisher/publisher.h"
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
  Copy copy;             // scratch: a copy is sent before the next one is built
  std::size_t open = 0;  // deliveries
};

// One delivery, from its handler's call to the one Ack or Reject that ends it:
//
//   handled ──▶ ok ──────────────────────────────────────────▶ acked
//      │ ├────▶ retry ──▶ copy to the delay queue, confirmed ─▶ acked
//      │ │          └ the copy is too large, or the broker refuses it
//      │ ├────▶ park ───▶ copy to the parked queue, confirmed ▶ acked
//      │ │          └ that is refused as well: held, and tried again
//      │ ├────▶ reject, discard ────────────────────────────▶ settled
//      │ └────▶ requeue ────────────────────────────────────▶ settled, by basic.nack
//      │            └ the broker would count it: copy to its own queue, confirmed ▶ acked
//
// or without any handler's call, where the broker has delivered it too often, or where its delay
// takes more than one delay queue; what is decided without one (`Conclude`) goes the ways above:
//
//   move ─────▶ copy to its own queue, confirmed ────────────▶ acked
//   forward ──▶ copy to the next delay queue, confirmed ─────▶ acked
//                 └ refused: parked, as above
//   wait ─────▶ what is left of its delay is too little for a queue; then it is handled
//
// Reused from delivery to delivery. Its confirm comes so late that no cache holds it any more: it
// begins with a line of the caches, and what a confirm needs is in few of them.
class alignas(64) OpenDelivery final : private PendingPublish {
 public:
  // `closed` is called when it is settled; it may begin the next one.
  OpenDelivery(RetrierContext& context, std::function<void()> closed);

  // Takes a delivery; it must not have one.
  void Begin(Delivery delivery);

  const Delivery& delivery() const { return *delivery_; }

  // The handler is about to be called.
  void Deliver();

  // What the handler said, and how long it took where anybody wants to know. Once per `Begin`.
  void Settle(const Outcome& outcome, std::optional<absl::Duration> handling);

  // Instead: what was decided without a call of the handler.
  void Conclude(RetryPolicy::Decision decision);

  // Instead: puts a copy behind the others in its queue, which counts its deliveries anew. What the
  // message remembers of its failures stays.
  void Move();

  // Instead: puts a copy into the next delay queue for what is left of its delay, above zero and in
  // whole milliseconds. No attempt is counted.
  void Forward(absl::Duration remaining);

  // Calls `due` after that time, unless destroyed before. Which it may be inside.
  void Wait(absl::Duration remaining, std::function<void()> due);

 private:
  enum class Sending { kCopy, kMoved, kGivenBack, kForwarded, kParked, kUnchanged };

  // PendingPublish.
  std::optional<DelayRoute> Route() const override;
  absl::Duration SafeFrom() const override;
  bool Fill(PublishParams* params) override;
  void OnSent(const SendResult& result) override;
  std::string_view Origin() const override { return context_.options.queue; }
  std::string_view Id() const override { return delivery_->id(); }

  void Conclude();
  // Puts the message back into its queue, so that it does not count as failed.
  void GiveBack();
  void Send(Sending what);
  void OnCopySent(const SendResult& result);
  void OnParkedSent(const SendResult& result);
  void OnParkedQueueGone();
  void Hold(std::string_view why);
  void AckCopied(EventKind kind, const SendResult& result);
  void Ack(EventKind kind);
  void Ack(Event& event);
  void Reject(EventKind kind);
  // Says what was decided as the event's reason.
  void Close(Event& event);
  // Whether the copy goes to the work queue itself.
  bool IsDirect() const { return sending_ == Sending::kMoved || sending_ == Sending::kGivenBack; }
  bool IsDelayed() const { return sending_ == Sending::kCopy || sending_ == Sending::kForwarded; }
  bool ReturnsThroughWorkExchange() const;
  Annotation Annotate() const;
  // Fills in what is known of the delivery before.
  void Report(Event& event) const;

  RetrierContext& context_;

  // What a confirm needs.
  Sending sending_ = Sending::kCopy;
  std::uint32_t holds_ = 0;
  const std::function<void()> closed_;
  std::optional<Delivery> delivery_;
  RetryPolicy::Decision decision_;
  std::string id_;  // of the copies

  std::optional<absl::Duration> handling_;
  absl::Duration called_at_ = absl::ZeroDuration();  // since boot, where an observer wants to know
  Hop hop_ = {};                                     // where the copy goes, if it is delayed
  absl::Duration left_;                              // kForwarded: of the whole delay
  std::unique_ptr<Timer> timer_;                     // of a hold, or a wait
  Lifeline<OpenDelivery> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_RETRIER_OPEN_DELIVERY_H_
