#include "retry/retrier/open_delivery.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/broker_version.h"
#include "base/header_names.h"
#include "loop/call_after.h"
#include "loop/pauses.h"
#include "retry/delay_queues/route_declaration.h"

namespace retryq {
namespace {

// RabbitMQ accepts frames that exceed the negotiated size by this number of bytes, because some
// clients do not count the frame's header and end (F53 in doc/rabbitmq_facts.md). A message from
// such a client can be parked only in its original size.
constexpr std::size_t kTakenBeyond = 8;

// Returns whether the destination is refused, not the message.
bool IsForbidden(std::uint16_t code) { return code == 403 || code == 404 || code == 405; }

constexpr absl::Duration kFirstHold = absl::Seconds(1);
constexpr absl::Duration kLongestHold = absl::Minutes(1);

// How long a message that cannot be parked unread stays unacked, if the broker refused its copy or
// counts its return: less than RabbitMQ's default consumer timeout of 30 minutes.
constexpr absl::Duration kLongestUnread = absl::Minutes(20);
// Half of RabbitMQ's default delivery limit.
constexpr std::int64_t kMostCountedReturns = 10;

std::int64_t DeliveryCount(const amqp::Message& message) {
  const auto& headers = message.properties.headers;
  return headers ? headers->FindInt64(kDeliveryCountHeader).value_or(0) : 0;
}

// Below this size, copying the body is cheaper than sharing it.
constexpr std::size_t kLeastShared = 512;

// The event that ends a delivery with this step.
EventKind EventOf(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::kHandle:
    case Step::Kind::kWait:
    case Step::Kind::kSkip:
      break;  // Retrier::Impl carries out these steps
    case Step::Kind::kForward:
      return EventKind::kForwarded;
    case Step::Kind::kMove:
      return EventKind::kMoved;
    case Step::Kind::kAck:
      return EventKind::kHandled;
    case Step::Kind::kRetry:
      return EventKind::kRetried;
    case Step::Kind::kPark:
      return EventKind::kParked;
    case Step::Kind::kReject:
      return EventKind::kRejected;
    case Step::Kind::kDiscard:
      return EventKind::kDiscarded;
    case Step::Kind::kRequeue:
      return EventKind::kRequeued;
    case Step::Kind::kSnooze:
      return EventKind::kSnoozed;
  }
  return EventKind::kSkipped;
}

CallResult ResultOf(const Step& step) {
  if (step.kind == Step::Kind::kAck) return CallResult::kSucceeded;
  return step.transient ? CallResult::kFailed : CallResult::kNeither;
}

}  // namespace

OpenDelivery::OpenDelivery(RetrierContext& context, std::function<void()> released)
    : context_(context), released_(std::move(released)) {}

void OpenDelivery::Enter(State state) {
  if (state_ == State::kFree) ++context_.open;
  if (state_ == State::kHandling) --context_.handling;
  state_ = state;
  if (state_ == State::kFree) --context_.open;
  if (state_ == State::kHandling) ++context_.handling;
}

void OpenDelivery::Begin(amqp::MessagePtr&& message,
                         const std::shared_ptr<Delivery::Source>& source,
                         const Delivery::History& history, bool is_counted) {
  assert(state_ == State::kFree);
  new_id_.clear();
  handling_.reset();
  parks_unchanged_ = false;
  holds_ = 0;
  ForgetRefusal();
  delivery_.emplace(std::move(message), source, history);
  is_counted_ = is_counted;
  if (delivery_->properties().expiration) arrived_at_ = context_.shared.clock().SinceBoot();
  Enter(State::kDeciding);
}

void OpenDelivery::Wait(absl::Duration remaining, std::function<void()> due) {
  assert(state_ == State::kDeciding);
  Enter(State::kWaiting);
  CallAfter(*context_.shared.environment().timers, remaining, timer_, std::move(due));
}

void OpenDelivery::CarryOutAfterPause(Step step) {
  const absl::Duration pause = step.pause;
  if (pause == absl::ZeroDuration()) return CarryOut(std::move(step));
  step_ = std::move(step);
  Wait(pause, [this] {
    Enter(State::kDeciding);
    CarryOut(Look());
  });
}

void OpenDelivery::BeginHandling() {
  assert(state_ == State::kDeciding || state_ == State::kWaiting);
  Enter(State::kHandling);
  stops_ = context_.stops;
  if (context_.shared.tracer() != nullptr) BeginTrace();
  if (!is_observed()) return;
  const Moment now = context_.shared.clock().Look();
  called_at_ = now.since_boot;
  Event event = Describe(EventKind::kDelivered);
  const std::optional<absl::Time> due = delivery_->history().not_before;
  if (due && !delivery_->redelivered()) {
    event.lateness = std::max(absl::ZeroDuration(), now.now - *due);
  }
  context_.shared.ReportAt(now.now, event);
}

void OpenDelivery::Settle(const Outcome& outcome, std::optional<absl::Duration> handling) {
  assert(state_ == State::kHandling);
  const Environment& environment = context_.shared.environment();
  const Moment now = environment.clock->Look();
  if (is_observed()) handling_ = handling.value_or(now.since_boot - called_at_);
  Enter(State::kDeciding);
  {
    const SharedState::CallOut predicates(context_.shared, SharedState::Place::kAmid);
    context_.policy.Decide(outcome, delivery_->history(), now.now, *environment.random, &step_);
  }
  if (step_.kind == Step::Kind::kRetry && context_.shared.requeues_failures()) {
    step_ = {.kind = Step::Kind::kRequeue};
  }
  if (context_.on_call != nullptr && stops_ == context_.stops) {
    context_.on_call(ResultOf(step_), step_.error);
  }
  if (delivery_->trace() != nullptr && !EndTrace(outcome)) return;
  CarryOut(now);
}

void OpenDelivery::BeginTrace() {
  std::shared_ptr<AttemptTrace> trace;
  context_.shared.CallTracer("Tracer::OnAttempt",
                             [&] { trace = context_.shared.tracer()->OnAttempt(*delivery_); });
  delivery_->set_trace(std::move(trace));
}

bool OpenDelivery::EndTrace(const Outcome& outcome) {
  AttemptEnd end{.decision = EventOf(step_.kind), .outcome = outcome, .error = step_.reason};
  if (step_.kind == Step::Kind::kRetry || step_.kind == Step::Kind::kSnooze)
    end.delay = step_.delay;
  context_.shared.CallTracer("AttemptTrace::End", [&] { delivery_->trace()->End(end); });
  return !delivery_->abandoned();
}

bool OpenDelivery::TraceCopy() {
  const bool comes_unchanged = parks_unchanged_ || IsUnchangedReturn();
  TraceHeaders headers([this, comes_unchanged](std::string_view name) {
    const auto& present = delivery_->properties().headers;
    return comes_unchanged || (!IsTraceHeader(name) && present && present->Find(name));
  });
  context_.shared.CallTracer("Tracer::OnCopy", [&] {
    context_.shared.tracer()->OnCopy(*delivery_, EventOf(step_.kind), headers);
  });
  trace_headers_ = headers.added().Encode().value_or("");
  return !delivery_->abandoned();
}

void OpenDelivery::RequeueUnhandled() {
  if (state_ == State::kWaiting) Enter(State::kDeciding);
  CarryOut({.kind = Step::Kind::kRequeue});
}

void OpenDelivery::Return() {
  assert(state_ == State::kReturning);
  timer_.reset();
  Enter(State::kDeciding);
  CarryOut(Look());
}

void OpenDelivery::CarryOut(Step step) {
  step_ = std::move(step);
  CarryOut(Look());
}

void OpenDelivery::CarryOut(const Moment& now) {
  assert(state_ == State::kDeciding);
  switch (step_.kind) {
    case Step::Kind::kHandle:
    case Step::Kind::kWait:
    case Step::Kind::kSkip:
      assert(false);  // Retrier::Impl carries out these steps
      return;
    case Step::Kind::kAck:
      Ack();
      Close(EventKind::kHandled, now.now);
      return;
    case Step::Kind::kRequeue:
      Requeue(now);
      return;
    case Step::Kind::kForward:
    case Step::Kind::kSnooze:
      Publish(now);
      return;
    case Step::Kind::kMove:
      PublishBack(now);
      return;
    case Step::Kind::kRetry:
    case Step::Kind::kPark:
    case Step::Kind::kReject:
    case Step::Kind::kDiscard:
      CarryOutFailure(now);
      return;
  }
}

void OpenDelivery::CarryOutFailure(const Moment& now) {
  const amqp::Message& message = *delivery_->message();
  const bool has_no_body = step_.kind == Step::Kind::kPark && message.left_out > 0;
  if (has_no_body && !message.passed_on) return KeepUnread();
  Event failed = Describe(EventKind::kFailed, step_.error);
  if (has_no_body) return FinishPassedOn(failed, now);
  const Step::Kind kind = step_.kind;
  if (kind == Step::Kind::kRetry || kind == Step::Kind::kPark) {
    Publish(now);
    context_.shared.ReportAt(now.now, failed);
    return;
  }
  kind == Step::Kind::kReject ? Reject(/*requeue=*/false) : Ack();
  context_.shared.ReportAt(now.now, failed);
  Close(EventOf(kind), now.now);
}

// A broker before 4.3 counts each requeue as a failure (F41 in doc/rabbitmq_facts.md). Publishing a
// copy to the end of the queue avoids that. The copy waits for a connection to publish on. While
// the broker blocks publishing, which can take long, the message is requeued instead.
void OpenDelivery::Requeue(const Moment& now) {
  const bool by_copy = delivery_->message()->left_out == 0 &&
                       !context_.shared.publisher().blocked() &&
                       context_.counted_returns.WouldCount(
                           BrokerVersion::Parse(context_.shared.broker().server_version()));
  if (by_copy) {
    PublishBack(now);
  } else {
    Reject(/*requeue=*/true);
    Close(EventKind::kRequeued, now.now);
  }
}

bool OpenDelivery::FillParked(Step step, PublishParams* params) {
  step_ = std::move(step);
  EnsureId();
  const absl::Time now = context_.shared.clock().Now();
  if (Fill(params, now)) return true;
  parks_unchanged_ = true;
  return Fill(params, now);
}

// The copy of the delivery is already in the parked queue.
void OpenDelivery::FinishPassedOn(Event& failed, const Moment& now) {
  const absl::Duration unsafe = SafeFrom() - now.since_boot;
  if (unsafe > absl::ZeroDuration()) {
    return Wait(unsafe, [this] {
      Enter(State::kDeciding);
      CarryOut(Look());
    });
  }
  Ack();
  context_.shared.ReportAt(now.now, failed);
  Close(EventKind::kParked, now.now);
}

// A message without its body cannot be copied to the parked queue. The delivery stays unacked: it
// keeps its place in the queue, and no consumer gets it. After a pause it is requeued, and parked
// when it is delivered again. A queue that counts returns would drop it at its delivery limit, so
// after some returns it stays unacked.
void OpenDelivery::KeepUnread() {
  const amqp::Message& message = *delivery_->message();
  const bool is_counted =
      context_.counted_returns.counts() != false &&
      !BrokerVersion::Parse(context_.shared.broker().server_version()).CountsFailuresOnly();
  const bool comes_again = !is_counted || DeliveryCount(message) < kMostCountedReturns;
  const absl::Duration pause = is_counted || message.refused ? kLongestUnread : kLongestHold;
  const std::string why = absl::StrCat(
      step_.error,
      message.not_passed_on.empty() ? "" : "; it cannot be parked unread: ", message.not_passed_on,
      ": it stays in its queue, unacked",
      comes_again ? absl::StrCat(", and is delivered again in ", absl::FormatDuration(pause)) : "",
      "; remedy: raise max_body, or give the queue a dead-letter exchange and have on_limit reject "
      "it");
  step_ = {.kind = Step::Kind::kRequeue, .reason = step_.error};
  Enter(State::kReturning);
  if (comes_again) {
    if (!message.not_passed_on.empty()) context_.parked_queue.Ensure([](const absl::Status&) {});
    CallAfter(*context_.shared.environment().timers, pause, timer_, [this] { Return(); });
  }
  Event held = Describe(EventKind::kHeld, why);
  context_.shared.Report(held);
}

// A delivery that came through the named work exchange returns through it. All others return
// directly to their queue, because the work exchange could route them to other queues. A copy that
// needs several delay queues also returns directly, because only this queue's consumer can forward
// it. The exchange is taken from the broker's deliver method, not from headers: anyone who may
// publish to the queue can set those, even without access to the exchange.
bool OpenDelivery::ReturnsThroughWorkExchange() const {
  const std::string& work_exchange = context_.options.work_exchange;
  const bool first_hop = step_.kind == Step::Kind::kRetry || step_.kind == Step::Kind::kSnooze;
  return !work_exchange.empty() && first_hop && hop_.left == absl::ZeroDuration() &&
         delivery_->message()->exchange == work_exchange;
}

std::optional<DelayRoute> OpenDelivery::Route() const {
  std::optional<DelayRoute> route;
  if (!IsDelayed()) return route;
  const RetrierOptions& options = context_.options;
  route.emplace().ttl = hop_.ttl;
  if (HasOwnDelayQueues(context_.shared.options())) route->owner = options.queue;
  if (const auto priority = delivery_->properties().priority) {
    route->priority =
        PriorityLevel(priority, BrokerVersion::Parse(context_.shared.broker().server_version()),
                      context_.shared.options());
  }
  if (ReturnsThroughWorkExchange()) {
    route->dead_letter_exchange = options.work_exchange;
  } else {
    route->direct = !options.work_exchange.empty();
  }
  return route;
}

absl::Duration OpenDelivery::SafeFrom() const {
  // This client did not declare the work queue, which existed before the delivery.
  if (IsDirect()) return -absl::InfiniteDuration();
  return context_.parked_queue.safe_from();
}

bool OpenDelivery::KeepsItsRoute() const {
  const Delivery& delivery = *delivery_;
  const amqp::Message& message = *delivery.message();
  const bool came_directly =
      delivery.exchange().empty() && delivery.routing_key() == context_.options.queue;
  const bool headers_state_it =
      delivery.exchange() != message.exchange || delivery.routing_key() != message.routing_key;
  return came_directly || headers_state_it;
}

absl::Duration OpenDelivery::Waited() const {
  if (!delivery_->properties().expiration) return absl::ZeroDuration();
  return context_.shared.clock().SinceBoot() - arrived_at_;
}

Annotation OpenDelivery::Annotate(absl::Time now) const {
  const Delivery::History& history = delivery_->history();
  Annotation copy{.id = id()};
  if (step_.failed()) {
    // A message whose body was not read was not handled, so it has not failed again.
    const std::uint64_t call = delivery_->message()->left_out > 0 ? 0 : 1;
    copy.failures = SaturatingSum(history.failures, call);
    copy.first_failure = step_.first_failure;
    copy.error = step_.error;
  } else {
    copy.failures = history.failures;
    copy.first_failure = history.first_failure;
    copy.error = history.last_error;
  }
  switch (step_.kind) {
    case Step::Kind::kRetry:
    case Step::Kind::kSnooze:
      copy.not_before = now + step_.delay;
      copy.delay = step_.delay;
      copy.remaining = hop_.left;
      break;
    case Step::Kind::kForward:
      copy.not_before = history.not_before;
      copy.delay = history.delay;
      copy.remaining = hop_.left;
      break;
    case Step::Kind::kMove:
    case Step::Kind::kRequeue:
      copy.not_before = history.not_before;
      copy.delay = history.delay;
      copy.remaining = history.remaining.value_or(absl::ZeroDuration());
      copy.waited = Waited();
      break;
    default:
      copy.parked = now;
      break;
  }
  return copy;
}

bool OpenDelivery::Fill(PublishParams* params, absl::Time now) {
  const std::size_t limit = context_.shared.broker().max_header_size();
  Copy& copy = context_.copy;
  amqp::Properties* const properties = &params->properties;
  if (parks_unchanged_) {
    if (!copy.BuildUnchanged(*delivery_->message(), limit + kTakenBeyond, properties)) return false;
  } else if (IsUnchangedReturn()) {
    if (!copy.BuildReturn(*delivery_->message(), Waited(), limit + kTakenBeyond, properties))
      return false;
  } else {
    Annotation annotation = Annotate(now);
    const std::string elsewhere = FailuresElsewhere(*delivery_->message(), context_.options);
    annotation.elsewhere = elsewhere;
    annotation.trace = trace_headers_;
    if (!copy.Build(*delivery_, annotation, limit, properties)) return false;
  }
  if (step_.kind == Step::Kind::kPark) {
    params->routing_key = context_.parked_queue.queue();
  } else if (ReturnsThroughWorkExchange()) {
    params->routing_key = delivery_->message()->routing_key;
  } else {
    params->routing_key = context_.options.queue;
  }
  params->body = delivery_->body();
  if (params->body.size() >= kLeastShared) params->body_owner = delivery_->message();
  return true;
}

void OpenDelivery::EnsureId() {
  if (id().empty()) AssignNewRetryId(*context_.shared.environment().random, &new_id_);
}

void OpenDelivery::Publish(const Moment& now) {
  if (IsDelayed()) hop_ = context_.shared.delay_steps().First(step_.delay);
  if (!IsUnchangedReturn()) EnsureId();
  if (context_.shared.tracer() != nullptr) {
    if (!TraceCopy()) return;
  } else {
    trace_headers_.clear();
  }
  Enter(State::kPublishing);
  context_.shared.publisher().Send(*this, now);
}

void OpenDelivery::PublishBack(const Moment& now) {
  if (context_.returns_paused) return Enter(State::kReturning);
  Publish(now);
}

void OpenDelivery::OnSent(const SendResult& result) {
  assert(state_ == State::kPublishing);
  if (result.kind == SendResult::Kind::kSent) {
    AckCopied(result);
  } else if (step_.kind == Step::Kind::kRequeue) {
    Reject(/*requeue=*/true);
    Close(EventKind::kRequeued, Look().now);
  } else if (IsDelayed() || IsDirect()) {
    OnCopyRefused(result);
  } else {
    OnParkedRefused(result);
  }
}

void OpenDelivery::OnCopyRefused(const SendResult& result) {
  switch (result.kind) {
    case SendResult::Kind::kTooLarge:
      step_.reason = absl::StrCat(
          "its headers leave no room for those of retryq; parked unchanged "
          "after: ",
          step_.error);
      Park(/*unchanged=*/true);
      return;
    case SendResult::Kind::kRefused:
      if (IsForbidden(result.code)) break;  // the destination is refused, not the message
      step_.reason = absl::StrCat("the broker refuses its copy (", std::string(result.text),
                                  "); parked after: ", step_.error);
      Park(/*unchanged=*/false);
      return;
    case SendResult::Kind::kReturned:  // never for delayed copies; kMoved waits for its queue
    case SendResult::Kind::kSent:
      break;
  }
  Hold(result.text);
}

void OpenDelivery::Park(bool unchanged) {
  step_.kind = Step::Kind::kPark;
  parks_unchanged_ = unchanged;
  Publish();
}

void OpenDelivery::OnParkedRefused(const SendResult& result) {
  switch (result.kind) {
    case SendResult::Kind::kSent:
      break;
    case SendResult::Kind::kReturned:
      OnParkedQueueGone();
      return;
    case SendResult::Kind::kTooLarge:
      if (!parks_unchanged_) {
        Park(/*unchanged=*/true);
      } else {
        Hold(
            "its headers are larger than the broker's frame_max allows; "
            "raise frame_max in the broker's configuration");
      }
      return;
    case SendResult::Kind::kRefused:
      Hold(result.text);
      return;
  }
}

void OpenDelivery::OnParkedQueueGone() {
  Enter(State::kDeclaring);
  context_.parked_queue.Ensure([self = lifeline_.ptr()](const absl::Status& there) {
    if (!self) return;
    OpenDelivery& open = *self.get();
    assert(open.state_ == State::kDeclaring);
    if (there.ok()) {
      open.Publish();
    } else {
      open.Hold(there.ToString());
    }
  });
}

// No destination accepts the copy now: the delivery stays unacked, which is reported, and the copy
// is published again after a pause.
void OpenDelivery::Hold(std::string_view why) {
  Enter(State::kHeld);
  const absl::Duration pause =
      Pauses::After(++holds_, kFirstHold, kLongestHold, *context_.shared.environment().random);
  CallAfter(*context_.shared.environment().timers, pause, timer_, [this] { Publish(); });
  Event held = Describe(EventKind::kHeld, why);
  context_.shared.Report(held);
}

void OpenDelivery::AckCopied(const SendResult& result) {
  Ack();
  Event event = Describe(EventOf(step_.kind), step_.reason);
  event.delay_queue = result.delay_queue;
  event.confirmed_after = result.confirmed_after;
  if (IsDelayed()) event.delay = step_.delay;
  Close(event, result.confirmed_at);
}

void OpenDelivery::Ack() {
  context_.shared.broker().Ack(delivery_->message()->delivery_tag);
  Enter(State::kFree);
}

void OpenDelivery::Reject(bool requeue) {
  context_.shared.broker().Reject(delivery_->message()->delivery_tag, requeue);
  Enter(State::kFree);
}

void OpenDelivery::Close(EventKind kind, absl::Time now) {
  Event event = Describe(kind, step_.reason);
  Close(event, now);
}

void OpenDelivery::Close(Event& event, absl::Time now) {
  context_.shared.ReportAt(now, event);
  delivery_.reset();
  released_();
}

Event OpenDelivery::Describe(EventKind kind, std::string_view error) const {
  const bool is_after_call = kind == EventKind::kHandled || kind == EventKind::kFailed ||
                             kind == EventKind::kSnoozed || kind == EventKind::kRequeued;
  return {.kind = kind,
          .time = {},
          .queue = context_.options.queue,
          .attempt = delivery_->attempt(),
          .id = id(),
          .error = error,
          .handling = is_after_call ? handling_ : std::nullopt,
          .in_flight = context_.open,
          .delivery = &*delivery_};
}

}  // namespace retryq
