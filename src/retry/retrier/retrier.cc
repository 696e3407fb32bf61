#include "retryq/retrier.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "amqp/transport/prefetch.h"
#include "retry/client/alive.h"
#include "retry/client/shared_state.h"
#include "retry/delivery/dropped_settlement.h"
#include "retry/delivery/earlier_failures.h"
#include "retry/delivery/early_return.h"
#include "retry/delivery/handed_over.h"
#include "retry/delivery/handler_call.h"
#include "retry/delivery/history.h"
#include "retry/delivery/redeliveries.h"
#include "retry/delivery/remaining_delay.h"
#include "retry/delivery/timed_out.h"
#include "retry/policy/saturating_sum.h"
#include "retry/publisher/exclusive_queue.h"
#include "retry/retrier/open_delivery.h"
#include "retry/retrier/retrier_options.h"

namespace retryq {
namespace {

constexpr absl::Duration kSayEarlyEvery = absl::Minutes(1);

// A delivery that is nearly as old as one that has timed out has timed out too: the broker may have
// sent it earlier than it came.
constexpr double kTimedOutToo = 0.95;

absl::Status WithRemedy(const absl::Status& refusal) {
  if (absl::IsNotFound(refusal)) {
    return absl::NotFoundError(
        absl::StrCat(refusal.message(), "; declare it first, or correct its name"));
  }
  return ExplainIfExclusive(refusal);
}

// Of a parked queue that is missing; none where nothing is declared.
std::optional<QueueType> ParkedQueueType(const DelayQueueOptions& options) {
  return options.declare ? std::optional(options.queue_type) : std::nullopt;
}

// Keeps the open deliveries and leads handlers' outcomes to them.
class RetrierImpl final {
 public:
  RetrierImpl(std::shared_ptr<SharedState> shared, RetrierOptions options);
  ~RetrierImpl();
  // Instead: where an observer is being told, it lives until that is over, and calls nobody.
  static void Retire(std::unique_ptr<RetrierImpl> retrier);

  void Prepare(std::function<void(absl::Status)> done);
  DeliveryHandler Wrap(Handler handler);
  DeliveryHandler Wrap(Handler handler, std::shared_ptr<Executor> threads);
  DeliveryHandler Wrap(AsyncHandler handler);
  std::size_t open() const { return context_.open; }
  std::size_t handling() const { return handling_; }
  void Abandon(const absl::Status& why);
  void WhenIdle(std::function<void()> idle);

 private:
  // Names one delivery: a slot, and how often it had been used before, so that
  // an outcome that comes after `Abandon` meets nothing.
  struct Id {
    std::uint32_t slot;
    std::uint32_t use;
  };

  struct Slot {
    std::unique_ptr<OpenDelivery> delivery;
    std::uint32_t use = 0;
    bool taken = false;
    bool handling = false;                               // with the handler
    std::shared_ptr<HandedOver> handed_over = nullptr;   // to another thread
    std::shared_ptr<std::atomic<bool>> begun = nullptr;  // with an asynchronous handler
    absl::Status thrown = {};      // by its handler, which has yet to settle or has dropped that
    absl::Duration taken_at = {};  // since boot, where timeouts are for us to count
  };

  // A delivery for the handler, and what is left of its delay, for which no queue is worth while.
  struct Taken {
    Id id;
    absl::Duration wait;
  };

  // A call of the handler on the loop's thread, which may destroy the retrier or have it abandon
  // its deliveries: the call's own stays until it returns. Calls within calls end in the reverse
  // order.
  class Running {
   public:
    Running(const AlivePtr<RetrierImpl>& retrier, Id id)
        : retrier_(retrier),
          slot_(id.slot),
          delivery_(*retrier->slots_[id.slot].delivery),
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
    const std::uint32_t slot_;
    const OpenDelivery& delivery_;
    std::unique_ptr<OpenDelivery> abandoned_;
    Running* const outer_;
  };

  // Calls the handler for a delivery.
  using Call = std::function<void(const AlivePtr<RetrierImpl>& self, Id id)>;

  // What a wrapped handler needs. That may destroy the retrier, and the function that called it: so
  // the caller holds on to this.
  struct Wrapped {
    AlivePtr<RetrierImpl> retrier;
    Call call;
  };

  DeliveryHandler Deliver(Call call);
  static void Deliver(const std::shared_ptr<const Wrapped>& wrapped, amqp::MessagePtr message);
  static void CallHandlerOf(const Wrapped& wrapped, Id id);
  absl::Duration LeftOf(const Delivery::History& history) const;
  // Takes the message in. Nothing for the handler if another queue's consumer is the one to retry
  // it, if workers have died of it, if it must be moved first, or go through one more delay queue.
  std::optional<Taken> Take(amqp::MessagePtr message);
  void PrefetchNext() const;
  Delivery::History HistoryOf(const amqp::Message& message) const;
  Redeliveries RedeliveriesOf(const amqp::Message& message);
  bool CountsTimeouts(const amqp::Message& message);
  std::shared_ptr<std::atomic<bool>> BeginAsync(Slot& slot) const;
  void RememberTimeouts();
  std::optional<RetryPolicy::Decision> Count(const Redeliveries& redeliveries,
                                             Delivery::History& history) const;
  bool SkipIfOthers(const amqp::MessagePtr& message);
  void SayIfEarly(const Delivery& delivery);
  void LookForWorkExchange(std::function<void(const absl::Status&)> done);
  void Settle(Id id, const Outcome& outcome, std::optional<absl::Duration> handling = std::nullopt);
  void HandlerIsDone(Slot& slot);
  void Destroy(std::uint32_t slot);
  void Free(std::uint32_t slot);
  void TellIfIdle();

  const std::shared_ptr<SharedState> shared_;
  const RetrierOptions options_;
  std::shared_ptr<Delivery::Source> source_;  // of what is delivered now
  RetrierContext context_;

  std::deque<Slot> slots_;  // stay where they are while more deliveries come
  std::vector<std::uint32_t> free_;
  std::size_t handling_ = 0;    // slots
  Running* running_ = nullptr;  // the innermost call
  // Since 4.3 the broker does not count consumer timeouts.
  TimedOut timed_out_;
  std::uint64_t generation_ = 0;  // of the channel that this is known of:
  bool counts_timeouts_ = false;
  absl::Duration say_early_from_ = -absl::InfiniteDuration();
  std::function<void()> idle_;
  std::unique_ptr<Timer> idle_timer_;
  std::optional<Lifeline<RetrierImpl>> lifeline_{this};
};

// What users hold: destroys the retrier when that can be.
class RetrierHandle final : public Retrier {
 public:
  explicit RetrierHandle(std::unique_ptr<RetrierImpl> impl) : impl_(std::move(impl)) {}
  ~RetrierHandle() override { RetrierImpl::Retire(std::move(impl_)); }

  void Prepare(std::function<void(absl::Status)> done) override { impl_->Prepare(std::move(done)); }
  DeliveryHandler Wrap(Handler handler) override { return impl_->Wrap(std::move(handler)); }
  DeliveryHandler Wrap(AsyncHandler handler) override { return impl_->Wrap(std::move(handler)); }
  DeliveryHandler Wrap(Handler handler, std::shared_ptr<Executor> threads) override {
    return impl_->Wrap(std::move(handler), std::move(threads));
  }
  std::size_t open() const override { return impl_->open(); }
  std::size_t handling() const override { return impl_->handling(); }
  void Abandon() override { impl_->Abandon(absl::UnavailableError("abandoned")); }
  void Abandon(const absl::Status& why) override { impl_->Abandon(why); }
  void WhenIdle(std::function<void()> idle) override { impl_->WhenIdle(std::move(idle)); }

 private:
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
          .parking_lot = ParkingLot(shared_->broker(), *shared_->environment().clock,
                                    options_.parked_queue, ParkedQueueType(shared_->options())),
          .counted_returns = CountedReturns(options_.retry.count_redeliveries),
          .copy = {}} {
  shared_->delay_steps().Add(options_.retry);
}

RetrierImpl::~RetrierImpl() {
  source_->abandoned = true;
  for (const Slot& slot : slots_) {
    if (slot.handed_over != nullptr) slot.handed_over->Take();
  }
  for (const Running* call = running_; call != nullptr; call = call->outer_) Destroy(call->slot_);
}

void RetrierImpl::Retire(std::unique_ptr<RetrierImpl> retrier) {
  const std::shared_ptr<SharedState> shared = retrier->shared_;
  if (!shared->is_amid()) return;
  retrier->lifeline_.reset();
  retrier->running_ = nullptr;  // those that are on the stack end before it
  retrier->idle_ = nullptr;
  retrier->idle_timer_.reset();
  shared->Dispose(std::move(retrier));
}

// One after the other: a mistyped name must leave no parked queue behind.
void RetrierImpl::Prepare(std::function<void(absl::Status)> done) {
  shared_->broker().Declare(
      {.queue = {.name = options_.queue, .passive = true}},
      [self = lifeline_->ptr(), done = std::move(done)](const absl::StatusOr<DeclareOk>& queue) {
        if (!self) return;
        if (!queue.ok()) return done(WithRemedy(queue.status()));
        self->LookForWorkExchange([self, done](const absl::Status& exchange) {
          if (!self) return;
          if (!exchange.ok()) return done(WithRemedy(exchange));
          self->context_.parking_lot.Ensure(done);
        });
      });
}

void RetrierImpl::LookForWorkExchange(std::function<void(const absl::Status&)> done) {
  if (options_.work_exchange.empty()) return done(absl::OkStatus());
  shared_->broker().CheckExchange(options_.work_exchange, std::move(done));
}

DeliveryHandler RetrierImpl::Wrap(Handler handler) {
  return Deliver([handler = std::move(handler)](const AlivePtr<RetrierImpl>& self, Id id) {
    const Running call(self, id);
    const Outcome outcome = CallHandler(handler, call.delivery());
    if (self) self->Settle(id, outcome);
  });
}

DeliveryHandler RetrierImpl::Wrap(Handler handler, std::shared_ptr<Executor> threads) {
  return Deliver([kept = std::make_shared<const Handler>(std::move(handler)),
                  threads = std::move(threads)](const AlivePtr<RetrierImpl>& self, Id id) {
    const Environment& environment = self->shared_->environment();
    Slot& slot = self->slots_[id.slot];
    slot.handed_over = std::make_shared<HandedOver>(slot.delivery->delivery());
    threads->Post([self, id, kept, handed_over = slot.handed_over, executor = environment.executor,
                   &clock = self->shared_->thread_clock()] {
      const std::optional<Delivery> delivery = handed_over->Take();
      if (!delivery) return;
      const absl::Duration begun = clock.SinceBoot();
      const Outcome outcome = CallHandler(*kept, *delivery);
      const absl::Duration handling = clock.SinceBoot() - begun;
      executor->Post([self, id, outcome, handling] {
        if (self) self->Settle(id, outcome, handling);
      });
    });
  });
}

DeliveryHandler RetrierImpl::Wrap(AsyncHandler handler) {
  return Deliver([handler = std::move(handler)](const AlivePtr<RetrierImpl>& self, Id id) {
    const Running call(self, id);
    const auto settle = [self, id](const Outcome& outcome) {
      if (self) self->Settle(id, outcome);
    };
    const std::shared_ptr<Delivery::Source>& source = self->source_;
    Settlement settlement(self->shared_->environment().executor, settle,
                          std::shared_ptr<const std::atomic<bool>>(source, &source->abandoned),
                          self->BeginAsync(self->slots_[id.slot]));
    absl::Status thrown = CallHandler(handler, call.delivery(), std::move(settlement));
    if (!thrown.ok() && self) self->slots_[id.slot].thrown = std::move(thrown);
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

void RetrierImpl::Deliver(const std::shared_ptr<const Wrapped>& wrapped, amqp::MessagePtr message) {
  const AlivePtr<RetrierImpl>& self = wrapped->retrier;
  if (!self) return;
  const std::optional<Taken> taken = self->Take(std::move(message));
  if (!taken.has_value() || !self) return;
  if (taken->wait == absl::ZeroDuration()) {
    CallHandlerOf(*wrapped, taken->id);
    return;
  }
  self->slots_[taken->id.slot].delivery->Wait(
      taken->wait, [wrapped, id = taken->id] { CallHandlerOf(*wrapped, id); });
}

void RetrierImpl::CallHandlerOf(const Wrapped& wrapped, Id id) {
  RetrierImpl& self = *wrapped.retrier.get();
  if (self.shared_->environment().observer != nullptr) self.slots_[id.slot].delivery->Deliver();
  if (!wrapped.retrier) return;
  self.slots_[id.slot].handling = true;
  ++self.handling_;
  const SharedState::CallOut calling(*self.shared_);
  wrapped.call(wrapped.retrier, id);
}

// Almost no message has anything left: those need no look at the clock.
absl::Duration RetrierImpl::LeftOf(const Delivery::History& history) const {
  if (!history.remaining) return absl::ZeroDuration();
  return RemainingDelay(history, shared_->environment().clock->Now());
}

// No cache holds what the next delivery will be kept in.
void RetrierImpl::PrefetchNext() const {
  if (free_.empty()) return;
  const OpenDelivery* const next = slots_[free_.back()].delivery.get();
  if (next != nullptr) amqp::Prefetch(next, sizeof(*next));
}

std::optional<RetrierImpl::Taken> RetrierImpl::Take(amqp::MessagePtr message) {
  if (SkipIfOthers(message)) return std::nullopt;
  if (free_.empty()) {
    const auto slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
    free_.push_back(slot);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  PrefetchNext();
  Slot& slot = slots_[index];
  if (slot.delivery == nullptr) {
    slot.delivery = std::make_unique<OpenDelivery>(context_, [this, index] { Free(index); });
  }
  Delivery::History history = HistoryOf(*message);
  const absl::Duration left = LeftOf(history);
  std::optional<RetryPolicy::Decision> decision;
  if (left == absl::ZeroDuration()) {  // else no worker has died of it: none has handled it yet
    decision = Count(RedeliveriesOf(*message), history);
  }
  context_.counted_returns.Learn(*message);
  if (CountsTimeouts(*message)) slot.taken_at = shared_->environment().clock->SinceBoot();
  const bool must_move = IsNearDeliveryLimit(*message);
  slot.delivery->Begin(Delivery(std::move(message), source_, history));
  slot.taken = true;
  SayIfEarly(slot.delivery->delivery());
  if (left >= DelayGrid::kShortestHop) {
    slot.delivery->Forward(left);
    return std::nullopt;
  }
  if (decision) {
    slot.delivery->Conclude(*std::move(decision));
    return std::nullopt;
  }
  if (must_move) {
    slot.delivery->Move();
    return std::nullopt;
  }
  return Taken{.id = {index, slot.use}, .wait = left};
}

Delivery::History RetrierImpl::HistoryOf(const amqp::Message& message) const {
  Delivery::History history = ReadHistory(message, options_.queue, options_.former_queues);
  const std::uint64_t earlier = ReadEarlierFailures(message, options_.queue, options_.retry);
  history.failures = std::max(history.failures, earlier);
  return history;
}

Redeliveries RetrierImpl::RedeliveriesOf(const amqp::Message& message) {
  Redeliveries redeliveries = ReadRedeliveries(message, options_.retry.count_redeliveries);
  redeliveries.timed_out = timed_out_.Take(message);
  if (redeliveries.timed_out > 0) {
    redeliveries.count = SaturatingSum(redeliveries.count, redeliveries.timed_out);
    redeliveries.broker_counts = false;
  }
  return redeliveries;
}

// Known anew for each channel, as the broker may be another one.
bool RetrierImpl::CountsTimeouts(const amqp::Message& message) {
  if (message.delivery_tag.generation != generation_) {
    generation_ = message.delivery_tag.generation;
    counts_timeouts_ = options_.retry.count_redeliveries != CountRedeliveries::kNever &&
                       CountsFailuresOnly(shared_->broker().server_version());
  }
  return counts_timeouts_;
}

// Only where it is asked for. It is used again once no settlement has it.
std::shared_ptr<std::atomic<bool>> RetrierImpl::BeginAsync(Slot& slot) const {
  if (!counts_timeouts_) {
    slot.begun = nullptr;
  } else if (slot.begun != nullptr && slot.begun.use_count() == 1) {
    *slot.begun = true;
  } else {
    slot.begun = std::make_shared<std::atomic<bool>>(true);
  }
  return slot.begun;
}

// The broker has ended the consumer, as it does when a delivery stays unsettled for too long. The
// oldest one has, and so have those that came with it. Which of them are with a handler have failed
// by that; the others have only waited behind it.
void RetrierImpl::RememberTimeouts() {
  if (!counts_timeouts_) return;
  const absl::Duration now = shared_->environment().clock->SinceBoot();
  absl::Duration longest = absl::ZeroDuration();
  for (const Slot& slot : slots_) {
    if (slot.taken) longest = std::max(longest, now - slot.taken_at);
  }
  for (const Slot& slot : slots_) {
    if (!slot.taken || !slot.handling || now - slot.taken_at < longest * kTimedOutToo) continue;
    if (slot.handed_over != nullptr && slot.handed_over->Take()) continue;
    if (slot.begun != nullptr && !*slot.begun) continue;
    timed_out_.Remember(*slot.delivery->delivery().message());
  }
}

// Adds the redeliveries to the failures. The last of them is decided on as a failure is: the
// message goes its way without the handler where that says more than to try again, and where only
// a copy can keep the count.
std::optional<RetryPolicy::Decision> RetrierImpl::Count(const Redeliveries& redeliveries,
                                                        Delivery::History& history) const {
  if (redeliveries.count == 0) return std::nullopt;
  const absl::Time now = shared_->environment().clock->Now();
  history.failures = SaturatingSum(history.failures, redeliveries.count - 1);
  history.first_failure = history.first_failure.value_or(now);
  const RetryPolicy::Decision decision = [&] {
    const SharedState::CallOut predicates(*shared_, SharedState::Place::kAmid);
    return context_.policy.DecideUnsettled(WhyUnsettled(redeliveries), history, now,
                                           *shared_->environment().random);
  }();
  if (decision.kind != RetryPolicy::Decision::Kind::kRetry || !redeliveries.broker_counts) {
    return decision;
  }
  history.failures = SaturatingSum(history.failures, 1);
  return std::nullopt;
}

void RetrierImpl::SayIfEarly(const Delivery& delivery) {
  const Environment& environment = shared_->environment();
  if (environment.observer == nullptr || !delivery.history().not_before) return;
  const absl::Duration now = environment.clock->SinceBoot();
  if (now < say_early_from_) return;
  const std::optional<EarlyReturn> early = FindEarlyReturn(delivery, environment.clock->Now());
  if (!early) return;
  say_early_from_ = now + kSayEarlyEvery;
  shared_->Report({.kind = EventKind::kOverridden,
                   .time = {},
                   .queue = options_.queue,
                   .delay = delivery.history().delay,
                   .delay_queue = early->delay_queue,
                   .id = delivery.id(),
                   .error = early->why,
                   .delivery = &delivery});
}

bool RetrierImpl::SkipIfOthers(const amqp::MessagePtr& message) {
  if (!options_.skip_others ||
      !IsOthersRetry(*message, options_.queue, shared_->options().prefix, options_.former_queues)) {
    return false;
  }
  shared_->broker().Ack(message->delivery_tag);
  const Delivery delivery(message, source_,
                          ReadHistory(*message, options_.queue, options_.former_queues));
  shared_->Report({.kind = EventKind::kSkipped,
                   .time = {},
                   .queue = options_.queue,
                   .id = delivery.id(),
                   .delivery = &delivery});
  return true;
}

void RetrierImpl::Settle(Id id, const Outcome& outcome, std::optional<absl::Duration> handling) {
  Slot& slot = slots_[id.slot];
  if (!slot.taken || slot.use != id.use) return;
  HandlerIsDone(slot);
  const bool has_thrown = !slot.thrown.ok() && IsDropped(outcome);
  if (outcome.took()) handling = outcome.took();
  slot.delivery->Settle(has_thrown ? Outcome(slot.thrown) : outcome, handling);
}

void RetrierImpl::HandlerIsDone(Slot& slot) {
  if (std::exchange(slot.handling, false)) --handling_;
}

void RetrierImpl::Destroy(std::uint32_t slot) {
  std::unique_ptr<OpenDelivery> delivery = std::move(slots_[slot].delivery);
  for (Running* call = running_; delivery != nullptr && call != nullptr; call = call->outer_) {
    if (&call->delivery_ == delivery.get()) call->abandoned_ = std::move(delivery);
  }
}

void RetrierImpl::Free(std::uint32_t slot) {
  HandlerIsDone(slots_[slot]);
  slots_[slot].taken = false;
  slots_[slot].thrown = absl::OkStatus();
  slots_[slot].handed_over = nullptr;
  ++slots_[slot].use;
  free_.push_back(slot);
  TellIfIdle();
}

void RetrierImpl::Abandon(const absl::Status& why) {
  if (shared_->is_amid()) {
    shared_->environment().executor->Post([self = lifeline_->ptr(), why] {
      if (self) self->Abandon(why);
    });
    return;
  }
  if (absl::IsAborted(why)) RememberTimeouts();
  // What waits for a thread is not begun any more; a handler that runs can see that it is in vain.
  source_->abandoned = true;
  source_ = std::make_shared<Delivery::Source>(options_.queue);
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    if (!slots_[index].taken) continue;
    if (slots_[index].handed_over != nullptr) slots_[index].handed_over->Take();
    Destroy(index);
    --context_.open;
    Free(index);
  }
}

void RetrierImpl::WhenIdle(std::function<void()> idle) {
  idle_ = std::move(idle);
  TellIfIdle();
}

// At the next turn of the loop, so that nobody is called from inside a call.
void RetrierImpl::TellIfIdle() {
  if (idle_ == nullptr || open() != 0) return;
  idle_timer_ = shared_->environment().timers->After(
      absl::ZeroDuration(), [idle = std::exchange(idle_, nullptr)] { idle(); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Retrier>> Retrier::Create(std::shared_ptr<Shared> shared,
                                                         RetrierOptions options) {
  auto state = std::static_pointer_cast<SharedState>(std::move(shared));
  if (absl::Status valid = Validate(options, state->options()); !valid.ok()) return valid;
  return std::make_unique<RetrierHandle>(
      std::make_unique<RetrierImpl>(std::move(state), WithDefaults(std::move(options))));
}

}  // namespace retryq
