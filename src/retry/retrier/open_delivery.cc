#include "retry/retrier/open_delivery.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "loop/pauses.h"
#include "retry/delay_queues/route_declaration.h"
#include "retry/policy/saturating_sum.h"

namespace retryq {
namespace {

// Bytes by which RabbitMQ lets a frame exceed what was agreed, since some clients do not count its
// head and its end (F53 in doc/rabbitmq_facts.md). A message that such a client has published can
// be parked only as large as it came.
constexpr std::size_t kTakenBeyond = 8;

// Whether it is where the copy was to go that is refused, whatever the copy is.
bool IsForbidden(std::uint16_t code) { return code == 403 || code == 404 || code == 405; }

constexpr absl::Duration kFirstHold = absl::Seconds(1);
constexpr absl::Duration kLongestHold = absl::Minutes(1);

// A smaller body is copied in less time than its owner is taken and left.
constexpr std::size_t kLeastShared = 512;

}  // namespace

OpenDelivery::OpenDelivery(RetrierContext& context, std::function<void()> closed)
    : context_(context), closed_(std::move(closed)) {}

void OpenDelivery::Begin(Delivery delivery) {
  id_.clear();
  handling_.reset();
  holds_ = 0;
  Acquit();
  delivery_.emplace(std::move(delivery));
  ++context_.open;
}

void OpenDelivery::Deliver() {
  const HeldClock::Hold now(context_.shared.clock());
  called_at_ = context_.shared.clock().SinceBoot();
  Event event{.kind = EventKind::kDelivered, .time = {}};
  const std::optional<absl::Time> due = delivery_->history().not_before;
  if (due && !delivery_->redelivered()) {
    event.lateness = std::max(absl::ZeroDuration(), context_.shared.clock().Now() - *due);
  }
  Report(event);
}

void OpenDelivery::Settle(const Outcome& outcome, std::optional<absl::Duration> handling) {
  const HeldClock::Hold now(context_.shared.clock());
  const Environment& environment = context_.shared.environment();
  if (environment.observer != nullptr) {
    handling_ = handling.value_or(environment.clock->SinceBoot() - called_at_);
  }
  {
    const SharedState::CallOut predicates(context_.shared, SharedState::Place::kAmid);
    context_.policy.Decide(outcome, delivery_->history(), environment.clock->Now(),
                           *environment.random, &decision_);
  }
  Conclude();
}

void OpenDelivery::Conclude(RetryPolicy::Decision decision) {
  decision_ = std::move(decision);
  Conclude();
}

void OpenDelivery::Conclude() {
  using Kind = RetryPolicy::Decision::Kind;
  if (decision_.kind == Kind::kAck) {
    Ack(EventKind::kHandled);
    return;
  }
  if (decision_.kind == Kind::kRequeue) {
    GiveBack();
    return;
  }
  Event failed{.kind = EventKind::kFailed, .time = {}, .error = decision_.error};
  Report(failed);
  switch (decision_.kind) {
    case Kind::kAck:
    case Kind::kRequeue:
      break;
    case Kind::kRetry:
      hop_ = context_.shared.delay_steps().First(decision_.delay);
      Send(Sending::kCopy);
      break;
    case Kind::kPark:
      Send(Sending::kParked);
      break;
    case Kind::kReject:
      Reject(EventKind::kRejected);
      break;
    case Kind::kDiscard:
      Ack(EventKind::kDiscarded);
      break;
  }
}

// A copy, behind the others, is the only way back that a broker before 4.3 does not count (F41 in
// doc/rabbitmq_facts.md). Where none can be published now the message goes back by itself.
void OpenDelivery::GiveBack() {
  const bool by_copy =
      context_.shared.ready() && !context_.shared.publisher().blocked() &&
      context_.counted_returns.WouldCount(context_.shared.broker().server_version());
  if (by_copy) {
    Send(Sending::kGivenBack);
  } else {
    Reject(EventKind::kRequeued);
  }
}

void OpenDelivery::Move() {
  decision_.Clear();
  // For a copy that must be parked instead.
  decision_.error = "the broker delivers it again and again, and nobody settles it";
  decision_.first_failure = delivery_->first_failure().value_or(context_.shared.clock().Now());
  Send(Sending::kMoved);
}

void OpenDelivery::Forward(absl::Duration remaining) {
  left_ = remaining;
  hop_ = context_.shared.delay_steps().First(remaining);
  decision_.Clear();
  // For a copy that must be parked instead.
  decision_.error = "it could not be sent on for the rest of its delay";
  decision_.first_failure = delivery_->first_failure().value_or(context_.shared.clock().Now());
  Send(Sending::kForwarded);
}

void OpenDelivery::Wait(absl::Duration remaining, std::function<void()> due) {
  timer_ = context_.shared.environment().timers->After(remaining, [this, due = std::move(due)] {
    const std::unique_ptr<Timer> fired = std::move(timer_);
    due();
  });
}

// A delivery that came through the named work exchange finds back through it. Any other would be
// led elsewhere, and goes straight to its queue; and so does one that is not finished with this
// delay queue, as others have no part in its hops. By which way it came only the broker knows: what
// its headers state about that could come from anyone who may publish to the queue, but not to the
// exchange.
bool OpenDelivery::ReturnsThroughWorkExchange() const {
  const std::string& work_exchange = context_.options.work_exchange;
  return sending_ == Sending::kCopy && hop_.left == absl::ZeroDuration() &&
         !work_exchange.empty() && delivery_->message()->exchange == work_exchange;
}

std::optional<DelayRoute> OpenDelivery::Route() const {
  if (!IsDelayed()) return std::nullopt;
  const RetrierOptions& options = context_.options;
  const std::string_view owner =
      HasOwnDelayQueues(context_.shared.options()) ? options.queue : std::string_view();
  if (ReturnsThroughWorkExchange()) {
    return DelayRoute{
        .ttl = hop_.ttl, .dead_letter_exchange = options.work_exchange, .owner = owner};
  }
  return DelayRoute{.ttl = hop_.ttl,
                    .dead_letter_exchange = "",
                    .direct = !options.work_exchange.empty(),
                    .owner = owner};
}

absl::Duration OpenDelivery::SafeFrom() const {
  // A work queue is not of our making, and was there before the delivery.
  if (IsDirect()) return -absl::InfiniteDuration();
  return context_.parking_lot.safe_from();
}

Annotation OpenDelivery::Annotate() const {
  if (IsDirect() || sending_ == Sending::kForwarded) {
    const Delivery::History& history = delivery_->history();
    const bool forwarded = sending_ == Sending::kForwarded;
    return {.failures = history.failures,
            .first_failure = history.first_failure,
            .not_before = history.not_before,
            .delay = history.delay,
            .remaining = forwarded ? hop_.left : history.remaining.value_or(absl::ZeroDuration()),
            .error = history.last_error,
            .id = id_};
  }
  Annotation annotation{.failures = SaturatingSum(delivery_->attempt(), 1),
                        .first_failure = decision_.first_failure,
                        .error = decision_.error,
                        .id = id_};
  if (sending_ == Sending::kCopy) {
    annotation.delay = decision_.delay;
    annotation.remaining = hop_.left;
    annotation.not_before = context_.shared.clock().Now() + decision_.delay;
  } else {
    annotation.parked = context_.shared.clock().Now();
  }
  return annotation;
}

bool OpenDelivery::Fill(PublishParams* params) {
  const std::size_t limit = context_.shared.broker().max_header_size();
  Copy& copy = context_.copy;
  if (sending_ == Sending::kUnchanged) {
    if (!copy.BuildUnchanged(*delivery_->message(), limit + kTakenBeyond)) return false;
  } else if (!copy.Build(*delivery_, Annotate(), limit)) {
    return false;
  }
  if (sending_ == Sending::kParked || sending_ == Sending::kUnchanged) {
    params->routing_key = context_.parking_lot.queue();
  } else if (ReturnsThroughWorkExchange()) {
    params->routing_key = delivery_->message()->routing_key;
  } else {
    params->routing_key = context_.options.queue;
  }
  params->properties = copy.properties();
  WillDrop(delivery_->message().get());
  params->body = delivery_->body();
  if (params->body.size() >= kLeastShared) params->body_owner = delivery_->message();
  return true;
}

void OpenDelivery::Send(Sending what) {
  sending_ = what;
  if (id_.empty()) {
    id_ = delivery_->id();
    if (id_.empty()) AssignNewRetryId(*context_.shared.environment().random, &id_);
  }
  context_.shared.publisher().Send(*this);
}

void OpenDelivery::OnSent(const SendResult& result) {
  if (sending_ == Sending::kGivenBack && result.kind != SendResult::Kind::kSent) {
    Reject(EventKind::kRequeued);
  } else if (IsDelayed() || IsDirect()) {
    OnCopySent(result);
  } else {
    OnParkedSent(result);
  }
}

void OpenDelivery::OnCopySent(const SendResult& result) {
  switch (result.kind) {
    case SendResult::Kind::kSent:
      AckCopied(sending_ == Sending::kMoved       ? EventKind::kMoved
                : sending_ == Sending::kGivenBack ? EventKind::kRequeued
                : sending_ == Sending::kForwarded ? EventKind::kForwarded
                                                  : EventKind::kRetried,
                result);
      return;
    case SendResult::Kind::kTooLarge:
      decision_.reason = absl::StrCat(
          "its headers leave no room for those of retrying; parked unchanged "
          "after: ",
          decision_.error);
      Send(Sending::kUnchanged);
      return;
    case SendResult::Kind::kRefused:
      if (IsForbidden(result.code)) break;  // not the message's fault
      decision_.reason = absl::StrCat("the broker refuses its copy (", std::string(result.text),
                                      "); parked after: ", decision_.error);
      Send(Sending::kParked);
      return;
    case SendResult::Kind::kReturned:
      break;  // never with a delay; a copy that was to be moved waits for its queue
  }
  Hold(result.text);
}

void OpenDelivery::OnParkedSent(const SendResult& result) {
  switch (result.kind) {
    case SendResult::Kind::kSent:
      AckCopied(EventKind::kParked, result);
      return;
    case SendResult::Kind::kReturned:
      OnParkedQueueGone();
      return;
    case SendResult::Kind::kTooLarge:
      if (sending_ == Sending::kParked) {
        Send(Sending::kUnchanged);
      } else {
        Hold(
            "its headers are larger than the connection's frame_max allows; "
            "raise frame_max");
      }
      return;
    case SendResult::Kind::kRefused:
      Hold(result.text);
      return;
  }
}

void OpenDelivery::OnParkedQueueGone() {
  context_.parking_lot.Ensure([self = lifeline_.ptr(), tag = delivery_->message()->delivery_tag](
                                  const absl::Status& there) {
    if (!self) return;
    OpenDelivery& open = *self.get();
    if (!open.delivery_.has_value() || open.delivery_->message()->delivery_tag != tag) return;
    if (there.ok()) {
      open.Send(open.sending_);
    } else {
      open.Hold(there.ToString());
    }
  });
}

// Nowhere to go now: it stays unacked, is reported, and tried again.
void OpenDelivery::Hold(std::string_view why) {
  Event held{.kind = EventKind::kHeld, .time = {}, .error = why};
  Report(held);
  const absl::Duration pause =
      Pauses::After(++holds_, kFirstHold, kLongestHold, *context_.shared.environment().random);
  timer_ = context_.shared.environment().timers->After(pause, [this] {
    const std::unique_ptr<Timer> fired = std::move(timer_);
    Send(sending_);
  });
}

void OpenDelivery::AckCopied(EventKind kind, const SendResult& result) {
  const HeldClock::Hold now(context_.shared.clock(), result.at);
  Event event{.kind = kind, .time = {}};
  event.delay_queue = result.delay_queue;
  event.confirmed_after = result.confirmed_after;
  if (kind == EventKind::kRetried) event.delay = decision_.delay;
  if (kind == EventKind::kForwarded) event.delay = left_;
  Ack(event);
}

void OpenDelivery::Ack(EventKind kind) {
  Event event{.kind = kind, .time = {}};
  Ack(event);
}

void OpenDelivery::Ack(Event& event) {
  context_.shared.broker().Ack(delivery_->message()->delivery_tag);
  Close(event);
}

void OpenDelivery::Reject(EventKind kind) {
  context_.shared.broker().Reject(delivery_->message()->delivery_tag,
                                  /*requeue=*/kind == EventKind::kRequeued);
  Event event{.kind = kind, .time = {}};
  Close(event);
}

void OpenDelivery::Close(Event& event) {
  --context_.open;
  event.error = decision_.reason;
  Report(event);
  delivery_.reset();
  closed_();
}

void OpenDelivery::Report(Event& event) const {
  if (context_.shared.environment().observer == nullptr) return;
  event.queue = context_.options.queue;
  event.attempt = delivery_->attempt();
  event.id = id_.empty() ? delivery_->id() : std::string_view(id_);
  const bool says_handling = event.kind == EventKind::kHandled ||
                             event.kind == EventKind::kFailed || event.kind == EventKind::kRequeued;
  if (says_handling) event.handling = handling_;
  event.in_flight = context_.open;
  event.delivery = &*delivery_;
  context_.shared.Report(event);
}

}  // namespace retryq
