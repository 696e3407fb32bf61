#include "retryq/broker/retrier.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/broker_version.h"
#include "base/remedy.h"
#include "loop/thrown.h"
#include "retry/delay_queues/delay_queue_remedies.h"
#include "retry/delivery/delivery_facts.h"
#include "retry/delivery/error_text.h"
#include "retry/retrier/counting_queue.h"
#include "retry/retrier/retrier_impl.h"

namespace retryq {
namespace {

constexpr absl::Duration kReportEarlyEvery = absl::Minutes(1);

// The pause between the last ack and the end of a consumer of a quorum queue. The broker holds acks
// back while many Raft commands are under way, and loses these if the channel is closed meanwhile
// (F74 in doc/rabbitmq_facts_queues.md).
constexpr absl::Duration kLastAcksTake = absl::Milliseconds(200);

// Other deliveries count as timed out too if their age is at least this fraction of the age of the
// timed-out delivery: the broker may have sent them earlier than they arrived.
constexpr double kTimedOutToo = 0.95;

absl::Status Explained(const absl::Status& refusal) {
  if (absl::IsNotFound(refusal)) {
    return WithRemedy(refusal, "declare it first, or correct its name");
  }
  if (absl::IsPermissionDenied(refusal)) {
    const bool is_of_exchange = absl::StrContains(refusal.message(), "exchange '");
    return WithRemedy(
        refusal, GrantRemedy(is_of_exchange ? "'write' on the exchange" : "'read' on the queue"));
  }
  return ExplainIfExclusive(refusal);
}

// Returns the type of a parked queue that is missing; nullopt if nothing may be declared.
std::optional<QueueType> ParkedQueueType(const DelayQueueOptions& options) {
  return options.declare ? std::optional(options.queue_type) : std::nullopt;
}

bool IsDropped(const Outcome& outcome) {
  return outcome.kind() == Outcome::Kind::kByStatus && outcome.status() == DroppedSettlement();
}

// Calls the handler. Returns kUnknown if it throws.
Outcome CallHandler(Handler& handler, const Delivery& delivery) {
  try {
    if (delivery.trace() == nullptr) return handler(delivery);
    const std::unique_ptr<AttemptTrace::Scope> scope = delivery.trace()->Enter(delivery);
    return handler(delivery);
  } catch (...) {
    return Thrown("the handler");
  }
}

// Calls an asynchronous handler. If it throws, its settlement is dropped, which causes a retry
// unless it was used before; returns the exception as an error, else ok.
absl::Status CallHandler(AsyncHandler& handler, const Delivery& delivery, Settlement settlement) {
  try {
    std::unique_ptr<AttemptTrace::Scope> scope;
    if (delivery.trace() != nullptr) scope = delivery.trace()->Enter(delivery);
    handler(delivery, std::move(settlement));
    return absl::OkStatus();
  } catch (...) {
    return Thrown("the handler");
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Retrier>> Retrier::Create(std::shared_ptr<Shared> shared,
                                                         RetrierOptions options) {
  auto state = std::static_pointer_cast<SharedState>(std::move(shared));
  if (absl::Status valid = Validate(options, state->options()); !valid.ok()) return valid;
  return absl::WrapUnique(
      new Retrier(std::make_unique<Impl>(std::move(state), WithDefaults(std::move(options)))));
}

Retrier::Retrier(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Retrier::~Retrier() {
  impl_->CheckThread("Retrier::~Retrier");
  Impl::Retire(std::move(impl_));
}

void Retrier::Prepare(std::function<void(absl::Status)> done) {
  impl_->CheckThread("Retrier::Prepare");
  impl_->Prepare(std::move(done));
}

DeliveryHandler Retrier::Wrap(Handler handler) {
  impl_->CheckThread("Retrier::Wrap");
  return impl_->Wrap(std::move(handler));
}

DeliveryHandler Retrier::Wrap(AsyncHandler handler) {
  impl_->CheckThread("Retrier::Wrap");
  return impl_->Wrap(std::move(handler));
}

DeliveryHandler Retrier::Wrap(Handler handler, std::shared_ptr<Executor> threads) {
  impl_->CheckThread("Retrier::Wrap");
  return impl_->Wrap(std::move(handler), std::move(threads));
}

std::size_t Retrier::open() const { return impl_->open(); }

std::size_t Retrier::handling() const { return impl_->handling(); }

void Retrier::Abandon() { Abandon(absl::UnavailableError("abandoned")); }

void Retrier::Abandon(const absl::Status& why) {
  impl_->CheckThread("Retrier::Abandon");
  impl_->Abandon(why);
}

void Retrier::WhenIdle(std::function<void()> idle) {
  impl_->CheckThread("Retrier::WhenIdle");
  impl_->WhenIdle(std::move(idle));
}

Retrier::Impl::Impl(std::shared_ptr<SharedState> shared, RetrierOptions options)
    : shared_(std::move(shared)),
      options_(std::move(options)),
      source_(std::make_shared<Delivery::Source>(options_.queue)),
      context_{
          .shared = *shared_,
          .options = options_,
          .policy = RetryPolicy(options_.retry),
          .parked_queue = ParkedQueue(shared_->broker(), *shared_->environment().clock,
                                      options_.parked_queue, ParkedQueueType(shared_->options())),
          .counted_returns = CountedReturns(options_.retry.count_redeliveries),
          .copy = Copy(options_.queue)} {
  shared_->delay_steps().Add(options_.retry);
}

Retrier::Impl::~Impl() {
  source_->abandoned = true;
  for (const auto& place : places_) {
    if (place->handed_over != nullptr) place->handed_over->Take();
  }
  for (const Running* call = running_; call != nullptr; call = call->outer_) Destroy(call->place_);
}

void Retrier::Impl::Retire(std::unique_ptr<Impl> retrier) {
  const std::shared_ptr<SharedState> shared = retrier->shared_;
  if (!shared->is_amid()) return;
  retrier->source_->abandoned = true;
  retrier->lifeline_.reset();
  retrier->running_ = nullptr;  // running calls end before it is destroyed
  retrier->idle_ = nullptr;
  retrier->idle_timer_.reset();
  shared->Dispose(std::move(retrier));
}

// One check after the other: a mistyped queue name must not create a parked queue.
void Retrier::Impl::Prepare(std::function<void(absl::Status)> done) {
  shared_->broker().Declare(
      {.queue = {.name = options_.queue, .passive = true}},
      [self = lifeline_->ptr(), done = std::move(done)](const absl::StatusOr<DeclareOk>& queue) {
        if (!self) return;
        if (!queue.ok()) return done(Explained(queue.status()));
        self->LookForWorkExchange([self, done](const absl::Status& exchange) {
          if (!self) return;
          if (!exchange.ok()) return done(Explained(exchange));
          self->AskWhetherCounts([self, done] { self->context_.parked_queue.Ensure(done); });
        });
      });
}

// Asks once: a queue keeps its type, and a user without the permission is refused each time. A
// question that is lost with its connection may be the cause, as RabbitMQ 4.3 closes the connection
// if a refusal has a long name that is not ASCII. So it is repeated only once.
void Retrier::Impl::AskWhetherCounts(std::function<void()> done) {
  const bool matters = options_.retry.count_redeliveries != CountRedeliveries::kNever;
  if (!matters || !shared_->options().declare || questions_left_ == 0) return done();
  --questions_left_;
  FindWhetherCounts(shared_->broker(), options_.queue,
                    [self = lifeline_->ptr(), done = std::move(done)](std::optional<bool> counts) {
                      if (!self) return;
                      if (counts || self->shared_->ready()) self->questions_left_ = 0;
                      if (counts) self->context_.counted_returns.LearnWhetherCounts(*counts);
                      done();
                    });
}

void Retrier::Impl::LookForWorkExchange(std::function<void(const absl::Status&)> done) {
  if (options_.work_exchange.empty()) return done(absl::OkStatus());
  shared_->broker().CheckExchange(options_.work_exchange, std::move(done));
}

DeliveryHandler Retrier::Impl::Wrap(Handler handler) {
  return Deliver([handler = std::move(handler)](const AlivePtr<Impl>& self, Id id) mutable {
    const Running call(self, id);
    const Outcome outcome = CallHandler(handler, call.delivery());
    if (self) self->Settle(id, outcome);
  });
}

DeliveryHandler Retrier::Impl::Wrap(Handler handler, std::shared_ptr<Executor> threads) {
  return Deliver([kept = std::make_shared<Handler>(std::move(handler)),
                  threads = std::move(threads)](const AlivePtr<Impl>& self, Id id) {
    const Environment& environment = self->shared_->environment();
    Place& place = *self->places_[id.place];
    place.handed_over = std::make_shared<HandedOver>(place.delivery->delivery());
    threads->Post([self, id, kept, handed_over = place.handed_over, executor = environment.executor,
                   &clock = self->shared_->clock()] {
      const std::optional<Delivery> delivery = handed_over->Take();
      if (!delivery) return;
      const absl::Duration begun = clock.SinceBoot();
      const Outcome outcome = CallHandler(*kept, *delivery);
      if (delivery->abandoned()) return;
      const absl::Duration handling = clock.SinceBoot() - begun;
      executor->Post([self, id, outcome, handling] {
        if (self) self->Settle(id, outcome, handling);
      });
    });
  });
}

DeliveryHandler Retrier::Impl::Wrap(AsyncHandler handler) {
  return Deliver([handler = std::move(handler)](const AlivePtr<Impl>& self, Id id) mutable {
    const Running call(self, id);
    const auto settle = [self, id](const Outcome& outcome) {
      if (self) self->Settle(id, outcome);
    };
    const std::shared_ptr<Delivery::Source>& source = self->source_;
    Settlement settlement(self->shared_->environment().executor, settle,
                          std::shared_ptr<const std::atomic<bool>>(source, &source->abandoned),
                          self->BeginAsync(*self->places_[id.place]));
    absl::Status thrown = CallHandler(handler, call.delivery(), std::move(settlement));
    if (!thrown.ok() && self) self->places_[id.place]->thrown = std::move(thrown);
  });
}

DeliveryHandler Retrier::Impl::Deliver(Call call) {
  return [wrapped = std::make_shared<const Wrapped>(Wrapped{lifeline_->ptr(), std::move(call)})](
             amqp::MessagePtr&& message) {
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const std::shared_ptr<const Wrapped> keep = wrapped;
    Deliver(keep, std::move(message));
  };
}

void Retrier::Impl::Deliver(const std::shared_ptr<const Wrapped>& wrapped,
                            amqp::MessagePtr&& message) {
  const AlivePtr<Impl>& self = wrapped->retrier;
  if (!self) return;
  if (HasHistory(*message)) return self->DeliverWithHistory(wrapped, std::move(message));
  const Delivery::History none{.exchange = message->exchange, .routing_key = message->routing_key};
  CallHandlerOf(*wrapped, self->Take(std::move(message), none, /*is_counted=*/true));
}

// Reads the facts of a delivery, decides on its first step, and carries that out.
void Retrier::Impl::DeliverWithHistory(const std::shared_ptr<const Wrapped>& wrapped,
                                       amqp::MessagePtr&& message) {
  const AlivePtr<Impl>& self = wrapped->retrier;
  DeliveryFacts facts = ReadFacts(*message, options_, *shared_->environment().clock, timed_out_,
                                  context_.counted_returns.counts().value_or(true));
  Step step = Decide(facts);
  if (!self) return;  // a backoff function has destroyed it
  const bool is_counted = step.failures == facts.stated_failures;
  facts.history.failures = step.failures;
  if (step.kind == Step::Kind::kSkip) {
    Skip(std::move(message), facts.history);
    return;
  }
  context_.counted_returns.Learn(facts);
  const Id id = Take(std::move(message), facts.history, is_counted);
  OpenDelivery& delivery = *places_[id.place]->delivery;
  ReportIfEarly(delivery.delivery(), facts);
  if (!self) return;
  switch (step.kind) {
    case Step::Kind::kHandle:
      CallHandlerOf(*wrapped, id);
      return;
    case Step::Kind::kWait:
      delivery.Wait(step.delay, [wrapped, id] { CallHandlerOf(*wrapped, id); });
      return;
    default:
      delivery.CarryOutAfterPause(std::move(step));
  }
}

// The decision does not need the body, and so makes no call of the user's code.
bool Retrier::Impl::PassOn(const amqp::MessagePtr& message, PublishParams* copy) {
  if (message->left_out == 0 || shared_->publisher().blocked()) return false;
  DeliveryFacts facts =
      ReadFacts(*message, options_, *shared_->environment().clock, timed_out_, /*counts=*/true);
  Step step = Decide(facts);
  if (step.kind != Step::Kind::kPark) return false;
  facts.history.failures = step.failures;
  if (passing_on_ == nullptr) passing_on_ = std::make_unique<OpenDelivery>(context_, [] {});
  passing_on_->Begin(amqp::MessagePtr(message), source_, facts.history, /*is_counted=*/true);
  const bool is_filled = passing_on_->FillParked(std::move(step), copy);
  passing_on_->Abandon();
  return is_filled;
}

Step Retrier::Impl::Decide(const DeliveryFacts& facts) const {
  const SharedState::CallOut predicates(*shared_, SharedState::Place::kAmid);
  return context_.policy.Decide(facts, *shared_->environment().random);
}

Retrier::Impl::Id Retrier::Impl::Take(amqp::MessagePtr&& message, const Delivery::History& history,
                                      bool is_counted) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.push_back(std::make_unique<Place>());
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Place& place = *places_[index];
  if (place.delivery == nullptr) {
    place.delivery = std::make_unique<OpenDelivery>(context_, [this, index] { Release(index); });
  }
  if (CountsTimeouts(*message)) place.taken_at = shared_->environment().clock->SinceBoot();
  place.delivery->Begin(std::move(message), source_, history, is_counted);
  return {index, place.use};
}

void Retrier::Impl::Skip(amqp::MessagePtr message, const Delivery::History& history) {
  shared_->broker().Ack(message->delivery_tag);
  const Delivery delivery(std::move(message), source_, history);
  shared_->Report({.kind = EventKind::kSkipped,
                   .time = {},
                   .queue = options_.queue,
                   .id = delivery.id(),
                   .delivery = &delivery});
}

void Retrier::Impl::CallHandlerOf(const Wrapped& wrapped, Id id) {
  Impl& self = *wrapped.retrier.get();
  if (self.context_.handling_stopped) return self.places_[id.place]->delivery->RequeueUnhandled();
  self.places_[id.place]->delivery->BeginHandling();
  // An observer may have destroyed or abandoned everything.
  if (!wrapped.retrier || self.places_[id.place]->delivery->delivery().abandoned()) return;
  const SharedState::CallOut calling(*self.shared_);
  wrapped.call(wrapped.retrier, id);
}

void Retrier::Impl::ReportIfEarly(const Delivery& delivery, const DeliveryFacts& facts) {
  const Environment& environment = shared_->environment();
  if (environment.observer == nullptr || !facts.early || !facts.early->reported) return;
  const absl::Duration now = environment.clock->SinceBoot();
  if (now < report_early_from_) return;
  const std::string why = WhyEarly(*facts.early);
  report_early_from_ = now + kReportEarlyEvery;
  shared_->Report({.kind = EventKind::kOverridden,
                   .time = {},
                   .queue = options_.queue,
                   .delay = delivery.history().delay,
                   .delay_queue = facts.early->delay_queue,
                   .id = delivery.id(),
                   .error = why,
                   .delivery = &delivery});
}

// Its broker may be another one.
void Retrier::Impl::OnNewChannel(const amqp::Message& message) {
  generation_ = message.delivery_tag.generation;
  counts_timeouts_ = options_.retry.count_redeliveries != CountRedeliveries::kNever &&
                     BrokerVersion::Parse(shared_->broker().server_version()).CountsFailuresOnly();
}

// Tracks the call only if timeouts are counted. The flag is reused when no settlement refers to it.
std::shared_ptr<std::atomic<bool>> Retrier::Impl::BeginAsync(Place& place) const {
  if (!counts_timeouts_) {
    place.begun = nullptr;
  } else if (place.begun != nullptr && place.begun.use_count() == 1) {
    *place.begun = true;
  } else {
    place.begun = std::make_shared<std::atomic<bool>>(true);
  }
  return place.begun;
}

// The broker has cancelled the consumer, which it does if a delivery is unsettled for too long. The
// oldest delivery has timed out, and so have those that arrived with it. Those that a handler was
// working on have failed; the others only waited.
void Retrier::Impl::RememberTimeouts() {
  if (!counts_timeouts_) return;
  const absl::Duration now = shared_->environment().clock->SinceBoot();
  absl::Duration longest = absl::ZeroDuration();
  for (const auto& place : places_) {
    if (place->is_taken()) longest = std::max(longest, now - place->taken_at);
  }
  for (const auto& place : places_) {
    if (!place->is_handling() || now - place->taken_at < longest * kTimedOutToo) continue;
    if (place->handed_over != nullptr && place->handed_over->Take()) continue;
    if (place->begun != nullptr && !*place->begun) continue;
    timed_out_.Remember(*place->delivery->delivery().message());
  }
}

void Retrier::Impl::Settle(Id id, const Outcome& outcome, std::optional<absl::Duration> handling) {
  Place& place = *places_[id.place];
  if (place.use != id.use || !place.is_handling()) return;
  const bool has_thrown = !place.thrown.ok() && IsDropped(outcome);
  if (outcome.took()) handling = outcome.took();
  if (has_thrown) return place.delivery->Settle(Outcome(place.thrown), handling);
  place.delivery->Settle(outcome, handling);
}

void Retrier::Impl::Destroy(std::uint32_t place) {
  std::unique_ptr<OpenDelivery> delivery = std::move(places_[place]->delivery);
  for (Running* call = running_; delivery != nullptr && call != nullptr; call = call->outer_) {
    if (&call->delivery_ == delivery.get()) call->abandoned_ = std::move(delivery);
  }
}

void Retrier::Impl::Release(std::uint32_t index) {
  Place& place = *places_[index];
  place.thrown = absl::OkStatus();
  place.handed_over = nullptr;
  ++place.use;
  free_.push_back(index);
  NotifyIfIdle();
}

void Retrier::Impl::Abandon(const absl::Status& why) {
  source_->abandoned = true;  // stops calls that wait for a thread; running handlers can check it
  if (shared_->is_amid()) {
    shared_->environment().executor->Post([self = lifeline_->ptr(), why] {
      if (self) self->Abandon(why);
    });
    return;
  }
  if (absl::IsAborted(why)) RememberTimeouts();
  if (absl::IsInternal(why)) timed_out_.IgnoreFailure();
  source_ = std::make_shared<Delivery::Source>(options_.queue);
  for (std::uint32_t index = 0; index < places_.size(); ++index) {
    const Place& place = *places_[index];
    if (!place.is_taken()) continue;
    if (place.handed_over != nullptr) place.handed_over->Take();
    place.delivery->Abandon();
    Destroy(index);
    Release(index);
  }
}

void Retrier::Impl::StopHandling() {
  context_.handling_stopped = true;
  ++context_.stops;
}

// The observer may do anything in each call.
void Retrier::Impl::RequeueUnbegun() {
  const AlivePtr<Impl> self = lifeline_->ptr();
  for (std::uint32_t index = 0; self && index < places_.size(); ++index) {
    const Place& place = *places_[index];
    if (!place.is_handling() || place.handed_over == nullptr || !place.handed_over->Take())
      continue;
    Settle({index, place.use}, Outcome::Requeue());
  }
}

// The observer may do anything in each call.
void Retrier::Impl::ResumeReturns() {
  context_.returns_paused = false;
  const AlivePtr<Impl> self = lifeline_->ptr();
  for (std::uint32_t index = 0; self && index < places_.size(); ++index) {
    const Place& place = *places_[index];
    if (place.is_returning()) place.delivery->Return();
  }
}

void Retrier::Impl::WhenIdle(std::function<void()> idle) {
  idle_ = std::move(idle);
  NotifyIfIdle();
}

// Not from inside another call: in the next turn of the loop, or once a quorum queue has most
// likely taken the last acks.
void Retrier::Impl::NotifyIfIdle() {
  if (idle_ == nullptr || open() != 0) return;
  const bool is_quorum = context_.counted_returns.counts() == true;
  idle_timer_ =
      shared_->environment().timers->After(is_quorum ? kLastAcksTake : absl::ZeroDuration(),
                                           [idle = std::exchange(idle_, nullptr)] { idle(); });
}

}  // namespace retryq
