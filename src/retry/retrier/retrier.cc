#include "retryq/broker/retrier.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/broker_version.h"
#include "base/remedy.h"
#include "loop/alive.h"
#include "loop/runner_thread.h"
#include "loop/thrown.h"
#include "retry/delivery/delivery_facts.h"
#include "retry/delivery/dropped_settlement.h"
#include "retry/delivery/timed_out.h"
#include "retry/policy/decide.h"
#include "retry/publisher/exclusive_queue.h"
#include "retry/retrier/consumer_retrier.h"
#include "retry/retrier/counting_queue.h"
#include "retry/retrier/open_delivery.h"
#include "retry/retrier/retrier_options.h"
#include "retry/retrier/shared_state.h"

namespace retryq {
namespace {

constexpr absl::Duration kReportEarlyEvery = absl::Minutes(1);

// Part of the age of a timed-out delivery from which other deliveries count as timed out too: the
// broker may have sent them earlier than they arrived.
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

// A delivery that was posted to another thread. Either that thread takes and handles it, or the
// retrier takes it back before, because its channel is gone. Thread-safe.
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
class RetrierImpl final {
 public:
  RetrierImpl(std::shared_ptr<SharedState> shared, RetrierOptions options);
  ~RetrierImpl();
  // Destroys the retrier; used instead of the destructor. During a call of the observer, the
  // retrier is destroyed after that call, and makes no calls until then.
  static void Retire(std::unique_ptr<RetrierImpl> retrier);

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
  void Watch(ConsumerRetrier::OnCall on_call) { context_.on_call = std::move(on_call); }
  bool PassOn(const amqp::MessagePtr& message, PublishParams* copy);
  void StopHandling();
  void ResumeHandling() { context_.handling_stopped = false; }
  void RequeueUnbegun();
  void PauseReturns() { context_.returns_paused = true; }
  void ResumeReturns();

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
    Running(const AlivePtr<RetrierImpl>& retrier, Id id)
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
    friend class RetrierImpl;
    const AlivePtr<RetrierImpl>& retrier_;
    const std::uint32_t place_;
    const OpenDelivery& delivery_;
    std::unique_ptr<OpenDelivery> abandoned_;
    Running* const outer_;
  };

  // Calls the handler for a delivery.
  using Call = absl::AnyInvocable<void(const AlivePtr<RetrierImpl>& self, Id id)>;

  // The state of a wrapped handler. The call may destroy the retrier and the function that made the
  // call, so the caller keeps a reference to this.
  struct Wrapped {
    AlivePtr<RetrierImpl> retrier;
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
  bool CountsTimeouts(const amqp::Message& message);
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

  std::vector<std::unique_ptr<Place>> places_;  // places do not move when more deliveries arrive
  std::vector<std::uint32_t> free_;
  Running* running_ = nullptr;  // the innermost call
  // Since 4.3 the broker does not count consumer timeouts.
  TimedOut timed_out_;
  std::uint64_t generation_ = 0;  // of the channel that `counts_timeouts_` refers to
  bool counts_timeouts_ = false;
  bool has_asked_ = false;  // whether the broker was asked if the queue counts deliveries
  absl::Duration report_early_from_ = -absl::InfiniteDuration();
  std::function<void()> idle_;
  std::unique_ptr<Timer> idle_timer_;
  std::unique_ptr<OpenDelivery> passing_on_;  // fills a copy; free between calls
  std::optional<Lifeline<RetrierImpl>> lifeline_{this};
};

// The object that users own. Destroys the retrier as soon as that is possible.
class RetrierHandle final : public ConsumerRetrier {
 public:
  explicit RetrierHandle(std::unique_ptr<RetrierImpl> impl) : impl_(std::move(impl)) {}
  ~RetrierHandle() override {
    Checked("Retrier::~Retrier");
    RetrierImpl::Retire(std::move(impl_));
  }

  void Prepare(std::function<void(absl::Status)> done) override {
    Checked("Retrier::Prepare").Prepare(std::move(done));
  }
  DeliveryHandler Wrap(Handler handler) override { return Checked(kWrap).Wrap(std::move(handler)); }
  DeliveryHandler Wrap(AsyncHandler handler) override {
    return Checked(kWrap).Wrap(std::move(handler));
  }
  DeliveryHandler Wrap(Handler handler, std::shared_ptr<Executor> threads) override {
    return Checked(kWrap).Wrap(std::move(handler), std::move(threads));
  }
  std::size_t open() const override { return impl_->open(); }
  std::size_t handling() const override { return impl_->handling(); }
  void Abandon() override { Abandon(absl::UnavailableError("abandoned")); }
  void Abandon(const absl::Status& why) override { Checked("Retrier::Abandon").Abandon(why); }
  void WhenIdle(std::function<void()> idle) override {
    Checked("Retrier::WhenIdle").WhenIdle(std::move(idle));
  }
  void Watch(OnCall on_call) override { impl_->Watch(std::move(on_call)); }
  bool PassOn(const amqp::MessagePtr& message, PublishParams* copy) override {
    return impl_->PassOn(message, copy);
  }
  void StopHandling() override { impl_->StopHandling(); }
  void ResumeHandling() override { impl_->ResumeHandling(); }
  void RequeueUnbegun() override { impl_->RequeueUnbegun(); }
  void PauseReturns() override { impl_->PauseReturns(); }
  void ResumeReturns() override { impl_->ResumeReturns(); }

 private:
  static constexpr char kWrap[] = "Retrier::Wrap";

  RetrierImpl& Checked(const char* function) const {
    impl_->CheckThread(function);
    return *impl_;
  }

  std::unique_ptr<RetrierImpl> impl_;
};

RetrierImpl::RetrierImpl(std::shared_ptr<SharedState> shared, RetrierOptions options)
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
          .copy = {}} {
  shared_->delay_steps().Add(options_.retry);
}

RetrierImpl::~RetrierImpl() {
  source_->abandoned = true;
  for (const auto& place : places_) {
    if (place->handed_over != nullptr) place->handed_over->Take();
  }
  for (const Running* call = running_; call != nullptr; call = call->outer_) Destroy(call->place_);
}

void RetrierImpl::Retire(std::unique_ptr<RetrierImpl> retrier) {
  const std::shared_ptr<SharedState> shared = retrier->shared_;
  if (!shared->is_amid()) return;
  retrier->source_->abandoned = true;
  retrier->lifeline_.reset();
  retrier->running_ = nullptr;  // running calls end before it is destroyed
  retrier->idle_ = nullptr;
  retrier->idle_timer_.reset();
  shared->Dispose(std::move(retrier));
}

// One step after the other: a mistyped queue name must not leave a parked queue behind.
void RetrierImpl::Prepare(std::function<void(absl::Status)> done) {
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

// Asks once: a queue keeps its type, and a user without the permission is refused each time.
void RetrierImpl::AskWhetherCounts(std::function<void()> done) {
  const bool matters = options_.retry.count_redeliveries != CountRedeliveries::kNever;
  if (!matters || !shared_->options().declare || std::exchange(has_asked_, true)) return done();
  FindWhetherCounts(shared_->broker(), options_.queue,
                    [self = lifeline_->ptr(), done = std::move(done)](std::optional<bool> counts) {
                      if (!self) return;
                      if (!counts && !self->shared_->ready()) self->has_asked_ = false;
                      if (counts) self->context_.counted_returns.LearnWhetherCounts(*counts);
                      done();
                    });
}

void RetrierImpl::LookForWorkExchange(std::function<void(const absl::Status&)> done) {
  if (options_.work_exchange.empty()) return done(absl::OkStatus());
  shared_->broker().CheckExchange(options_.work_exchange, std::move(done));
}

DeliveryHandler RetrierImpl::Wrap(Handler handler) {
  return Deliver([handler = std::move(handler)](const AlivePtr<RetrierImpl>& self, Id id) mutable {
    const Running call(self, id);
    const Outcome outcome = CallHandler(handler, call.delivery());
    if (self) self->Settle(id, outcome);
  });
}

DeliveryHandler RetrierImpl::Wrap(Handler handler, std::shared_ptr<Executor> threads) {
  return Deliver([kept = std::make_shared<Handler>(std::move(handler)),
                  threads = std::move(threads)](const AlivePtr<RetrierImpl>& self, Id id) {
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

DeliveryHandler RetrierImpl::Wrap(AsyncHandler handler) {
  return Deliver([handler = std::move(handler)](const AlivePtr<RetrierImpl>& self, Id id) mutable {
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

DeliveryHandler RetrierImpl::Deliver(Call call) {
  return [wrapped = std::make_shared<const Wrapped>(Wrapped{lifeline_->ptr(), std::move(call)})](
             amqp::MessagePtr message) {
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const std::shared_ptr<const Wrapped> keep = wrapped;
    Deliver(keep, std::move(message));
  };
}

void RetrierImpl::Deliver(const std::shared_ptr<const Wrapped>& wrapped,
                          amqp::MessagePtr&& message) {
  const AlivePtr<RetrierImpl>& self = wrapped->retrier;
  if (!self) return;
  if (HasHistory(*message)) return self->DeliverWithHistory(wrapped, std::move(message));
  const Delivery::History none{.exchange = message->exchange, .routing_key = message->routing_key};
  CallHandlerOf(*wrapped, self->Take(std::move(message), none, /*is_counted=*/true));
}

// Reads the facts of a delivery, decides on its first step, and carries that out.
void RetrierImpl::DeliverWithHistory(const std::shared_ptr<const Wrapped>& wrapped,
                                     amqp::MessagePtr&& message) {
  const AlivePtr<RetrierImpl>& self = wrapped->retrier;
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
    case Step::Kind::kForward:
      delivery.Forward(std::move(step));
      return;
    default:
      delivery.CarryOut(std::move(step));
  }
}

// The decision does not need the body, and so makes no call of the user's code.
bool RetrierImpl::PassOn(const amqp::MessagePtr& message, PublishParams* copy) {
  if (message->left_out == 0 || shared_->publisher().blocked()) return false;
  DeliveryFacts facts =
      ReadFacts(*message, options_, *shared_->environment().clock, timed_out_, /*counts=*/true);
  Step step = Decide(facts);
  if (step.kind != Step::Kind::kPark) return false;
  facts.history.failures = step.failures;
  if (passing_on_ == nullptr) passing_on_ = std::make_unique<OpenDelivery>(context_, [] {});
  passing_on_->Begin(message, source_, facts.history, /*is_counted=*/true);
  const bool is_filled = passing_on_->FillParked(std::move(step), copy);
  passing_on_->Abandon();
  return is_filled;
}

Step RetrierImpl::Decide(const DeliveryFacts& facts) const {
  const SharedState::CallOut predicates(*shared_, SharedState::Place::kAmid);
  return context_.policy.Decide(facts, *shared_->environment().random);
}

RetrierImpl::Id RetrierImpl::Take(amqp::MessagePtr&& message, const Delivery::History& history,
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

void RetrierImpl::Skip(amqp::MessagePtr message, const Delivery::History& history) {
  shared_->broker().Ack(message->delivery_tag);
  const Delivery delivery(std::move(message), source_, history);
  shared_->Report({.kind = EventKind::kSkipped,
                   .time = {},
                   .queue = options_.queue,
                   .id = delivery.id(),
                   .delivery = &delivery});
}

void RetrierImpl::CallHandlerOf(const Wrapped& wrapped, Id id) {
  RetrierImpl& self = *wrapped.retrier.get();
  if (self.context_.handling_stopped) return self.places_[id.place]->delivery->RequeueUnhandled();
  self.places_[id.place]->delivery->BeginHandling();
  // An observer may have destroyed or abandoned everything.
  if (!wrapped.retrier || self.places_[id.place]->delivery->delivery().abandoned()) return;
  const SharedState::CallOut calling(*self.shared_);
  wrapped.call(wrapped.retrier, id);
}

void RetrierImpl::ReportIfEarly(const Delivery& delivery, const DeliveryFacts& facts) {
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

// Determined again for each channel, because the broker may be another one.
bool RetrierImpl::CountsTimeouts(const amqp::Message& message) {
  if (message.delivery_tag.generation != generation_) {
    generation_ = message.delivery_tag.generation;
    counts_timeouts_ =
        options_.retry.count_redeliveries != CountRedeliveries::kNever &&
        BrokerVersion::Parse(shared_->broker().server_version()).CountsFailuresOnly();
  }
  return counts_timeouts_;
}

// Tracks the call only if timeouts are counted. The flag is reused when no settlement refers to it.
std::shared_ptr<std::atomic<bool>> RetrierImpl::BeginAsync(Place& place) const {
  if (!counts_timeouts_) {
    place.begun = nullptr;
  } else if (place.begun != nullptr && place.begun.use_count() == 1) {
    *place.begun = true;
  } else {
    place.begun = std::make_shared<std::atomic<bool>>(true);
  }
  return place.begun;
}

// The broker has cancelled the consumer, as it does if a delivery is unsettled for too long. The
// oldest delivery has timed out, and so have those that arrived with it. That is a failure of those
// that a handler was working on; the others only waited behind them.
void RetrierImpl::RememberTimeouts() {
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

void RetrierImpl::Settle(Id id, const Outcome& outcome, std::optional<absl::Duration> handling) {
  Place& place = *places_[id.place];
  if (place.use != id.use || !place.is_handling()) return;
  const bool has_thrown = !place.thrown.ok() && IsDropped(outcome);
  if (outcome.took()) handling = outcome.took();
  place.delivery->Settle(has_thrown ? Outcome(place.thrown) : outcome, handling);
}

void RetrierImpl::Destroy(std::uint32_t place) {
  std::unique_ptr<OpenDelivery> delivery = std::move(places_[place]->delivery);
  for (Running* call = running_; delivery != nullptr && call != nullptr; call = call->outer_) {
    if (&call->delivery_ == delivery.get()) call->abandoned_ = std::move(delivery);
  }
}

void RetrierImpl::Release(std::uint32_t index) {
  Place& place = *places_[index];
  place.thrown = absl::OkStatus();
  place.handed_over = nullptr;
  ++place.use;
  free_.push_back(index);
  NotifyIfIdle();
}

void RetrierImpl::Abandon(const absl::Status& why) {
  source_->abandoned = true;  // stops what waits for a thread; running handlers can check it
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

void RetrierImpl::StopHandling() {
  context_.handling_stopped = true;
  ++context_.stops;
}

// The observer may do anything in each call.
void RetrierImpl::RequeueUnbegun() {
  const AlivePtr<RetrierImpl> self = lifeline_->ptr();
  for (std::uint32_t index = 0; self && index < places_.size(); ++index) {
    const Place& place = *places_[index];
    if (!place.is_handling() || place.handed_over == nullptr || !place.handed_over->Take())
      continue;
    Settle({index, place.use}, Outcome::Requeue());
  }
}

// The observer may do anything in each call.
void RetrierImpl::ResumeReturns() {
  context_.returns_paused = false;
  const AlivePtr<RetrierImpl> self = lifeline_->ptr();
  for (std::uint32_t index = 0; self && index < places_.size(); ++index) {
    const Place& place = *places_[index];
    if (place.is_returning()) place.delivery->Return();
  }
}

void RetrierImpl::WhenIdle(std::function<void()> idle) {
  idle_ = std::move(idle);
  NotifyIfIdle();
}

// In the next turn of the loop, so that `idle_` is not called from inside another call.
void RetrierImpl::NotifyIfIdle() {
  if (idle_ == nullptr || open() != 0) return;
  idle_timer_ = shared_->environment().timers->After(
      absl::ZeroDuration(), [idle = std::exchange(idle_, nullptr)] { idle(); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Retrier>> Retrier::Create(std::shared_ptr<Shared> shared,
                                                         RetrierOptions options) {
  return ConsumerRetrier::Create(std::move(shared), std::move(options));
}

absl::StatusOr<std::unique_ptr<ConsumerRetrier>> ConsumerRetrier::Create(
    std::shared_ptr<Shared> shared, RetrierOptions options) {
  auto state = std::static_pointer_cast<SharedState>(std::move(shared));
  if (absl::Status valid = Validate(options, state->options()); !valid.ok()) return valid;
  return std::make_unique<RetrierHandle>(
      std::make_unique<RetrierImpl>(std::move(state), WithDefaults(std::move(options))));
}

}  // namespace retryq
