#include "retryq/consumer.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "loop/call_after.h"
#include "retry/client/consumer_impl.h"
#include "retry/client/declare_work_queue.h"

namespace retryq {
namespace {

constexpr absl::Duration kSayInterruptionsEvery = absl::Minutes(1);

// Pauses between attempts to prepare for consuming.
constexpr absl::Duration kFirstPrepare = absl::Milliseconds(100);
constexpr absl::Duration kLongestPrepare = absl::Seconds(30);

// While draining: how long to wait for copies if none of them is confirmed.
constexpr absl::Duration kDrainPatience = absl::Seconds(3);
constexpr int kVainLooksIfPublished = 3;
// The limit if some of them are confirmed: messages with long pauses could be confirmed one by one.
constexpr int kMostIdleLooks = 4;

// In the destructor: how long to wait for running handlers. The loop is blocked meanwhile.
constexpr absl::Duration kHandlerPatience = absl::Seconds(1);

// The prefetch while the circuit breaker is probing.
constexpr std::uint16_t kProbePrefetch = 1;

// Whether waiting does not fix the error.
bool IsFatal(const absl::Status& why) {
  return !absl::IsUnavailable(why) && !absl::IsAborted(why) && !absl::IsInternal(why);
}

// Adds the remedy to the error of a refused consume: for a queue that another consumer has
// exclusively, for a missing permission, and for a queue that refuses the priority that all
// consumers of this library have (F54 in doc/rabbitmq_facts.md).
absl::Status Explained(const absl::Status& why, const std::string& queue) {
  if (absl::IsPermissionDenied(why) && absl::StrContains(why.message(), "in exclusive use")) {
    return absl::UnavailableError(
        absl::StrCat(why.message(),
                     ": this consumer, or another one of the queue, is exclusive; "
                     "it waits until the queue has no other consumer"));
  }
  if (absl::IsPermissionDenied(why) && absl::StrContains(why.message(), "consuming queue")) {
    return WithRemedy(why, GrantRemedy("'read' on the queue"));
  }
  if (absl::IsInternal(why)) {
    return absl::InternalError(absl::StrCat(
        why.message(), ": RabbitMQ fails on a message in queue '", queue,
        "', which it does on some messages of AMQP 1.0 clients; messages are taken "
        "one at a time for now; remedy: remove it with an AMQP 1.0 client or a shovel, "
        "or give a quorum queue a dead-letter exchange, which receives it at the delivery limit"));
  }
  if (!absl::IsFailedPrecondition(why) || !absl::StrContains(why.message(), "stream_queue")) {
    return why;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("queue '", queue, "' is a stream, which messages cannot be taken off (",
                   why.message(), "); remedy: consume a classic or quorum queue"));
}

// Runs the deliveries of one consumer, which owns the pool.
class PoolExecutor final : public Executor {
 public:
  explicit PoolExecutor(WorkerPool& pool) : pool_(pool) {}
  void Post(Work work) override { pool_.Submit(std::move(work)); }

 private:
  WorkerPool& pool_;
};

}  // namespace

Consumer::Impl::Impl(std::shared_ptr<SharedState> shared, std::unique_ptr<Retrier> retrier,
                     ConsumeParams params, std::optional<WorkQueue> declare,
                     const std::optional<BreakerOptions>& breaker,
                     std::function<void(absl::Status)> fatal,
                     std::function<void(const WorkOrigin&)> give_up,
                     std::shared_ptr<ConsumerSet> consumers)
    : shared_(std::move(shared)),
      retrier_(std::move(retrier)),
      params_(std::move(params)),
      declare_(std::move(declare)),
      fatal_(std::move(fatal)),
      give_up_(std::move(give_up)),
      consumers_(std::move(consumers)),
      pauses_(kFirstPrepare, kLongestPrepare) {
  consumers_->insert(this);
  listener_ = shared_->AddListener(this);
  if (!breaker) return;
  breaker_.emplace(*breaker);
  retrier_->impl().Watch([self = lifeline_.ptr()](CallResult result, std::string_view error) {
    if (self) self->OnCall(result, error);
  });
}

Consumer::Impl::~Impl() {
  shared_->RemoveListener(listener_);
  consumers_->erase(this);
  if (pool_ != nullptr) EndHandlers();
}

void Consumer::Impl::EndHandlers() {
  retrier_->Abandon(absl::CancelledError("the consumer is destroyed"));
  auto* const host = dynamic_cast<PoolHost*>(shared_->environment().executor.get());
  if (host == nullptr) return pool_->EndWaits();
  const WorkOrigin origin = pool_->origin();
  *origin = true;
  host->Drop(origin);
  // This may be called by work of these handlers. Work that is posted from here on does not belong
  // to them.
  if (CurrentOrigin() == origin) CurrentOrigin() = nullptr;
  // If an observer is being called, the answers must wait for the next turn of the loop.
  if (shared_->is_amid()) {
    shared_->environment().executor->Post([give_up = give_up_, origin] { give_up(origin); });
  } else {
    give_up_(origin);
    if (pool_->Finish(kHandlerPatience)) return;
  }
  host->Keep(std::move(pool_));
}

absl::Status Consumer::Impl::Start(Handler handler, int threads) {
  if (threads == 0) {
    Begin(retrier_->Wrap(std::move(handler)));
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<WorkerPool>> pool = WorkerPool::Create(
      threads,
      /*in_step=*/dynamic_cast<InStep*>(shared_->environment().executor.get()) != nullptr);
  if (!pool.ok()) {
    return {pool.status().code(),
            absl::StrCat("handler_threads: ", std::string(pool.status().message()))};
  }
  pool_ = *std::move(pool);
  Begin(retrier_->Wrap(
      [no_more = handle_no_more_, handler = std::move(handler)](const Delivery& delivery) mutable {
        // On a stop or a pause, running handlers finish, but deliveries that wait are requeued.
        return *no_more ? Outcome::Requeue() : handler(delivery);
      },
      std::make_shared<PoolExecutor>(*pool_)));
  return absl::OkStatus();
}

void Consumer::Impl::Start(AsyncHandler handler) { Begin(retrier_->Wrap(std::move(handler))); }

void Consumer::Impl::Begin(DeliveryHandler deliver) {
  deliver_ = std::move(deliver);
  if (shared_->ready()) Prepare();
}

void Consumer::Impl::OnReady() {
  if (state_ == State::kStarting && again_ == nullptr) Prepare();
}

void Consumer::Impl::OnLost(const absl::Status& why) { GaveUpAtStart(why); }

void Consumer::Impl::Prepare() {
  state_ = State::kPreparing;
  EnsureQueue([self = lifeline_.ptr()](const absl::Status& there) {
    if (!self || self->state_ != State::kPreparing) return;
    if (!there.ok()) return self->OnPrepared(there);
    self->retrier_->Prepare([self](const absl::Status& status) {
      if (self) self->OnPrepared(status);
    });
  });
}

void Consumer::Impl::EnsureQueue(std::function<void(const absl::Status&)> done) {
  if (!declare_) return done(absl::OkStatus());
  DeclareWorkQueue(shared_->broker(), *declare_, is_missing_, std::move(done));
}

void Consumer::Impl::OnPrepared(const absl::Status& status) {
  if (state_ != State::kPreparing) return;
  state_ = State::kStarting;
  if (GaveUpAtStart(status)) return;
  if (!status.ok()) {
    const Environment& environment = shared_->environment();
    CallAfter(*environment.timers,
              pauses_.Next(environment.clock->SinceBoot(), *environment.random), again_, [this] {
                if (state_ == State::kStarting && shared_->ready()) Prepare();
              });
    // A lost connection has already been reported.
    if (shared_->ready()) ReportInterrupted(status);
    return;
  }
  state_ = State::kConsuming;
  StartFlow();
}

void Consumer::Impl::StartFlow() {
  if (paused_) return;
  retrier_->impl().ResumeHandling();
  *handle_no_more_ = false;
  const bool probes = breaker_ && breaker_->state() == Breaker::State::kProbing;
  const std::uint16_t prefetch = probes ? kProbePrefetch : params_.prefetch;
  if (subscription_ != nullptr) return subscription_->Resume(prefetch);
  ConsumeParams params = params_;
  params.prefetch = prefetch;
  subscription_ = shared_->broker().Consume(std::move(params), this);
}

void Consumer::Impl::EndFlow(std::function<void()> ended) {
  retrier_->impl().PauseReturns();
  subscription_->Cancel([self = lifeline_.ptr(), ended = std::move(ended)] {
    if (self) self->retrier_->impl().ResumeReturns();
    if (self) ended();
  });
}

void Consumer::Impl::OnReady(absl::AnyInvocable<void()> ready) {
  ready_ =
      ready == nullptr ? nullptr : std::make_shared<absl::AnyInvocable<void()>>(std::move(ready));
  if (subscribed_) CallReady();
}

// Runs in the next turn of the loop, so that the object is consistent.
void Consumer::Impl::CallReady() {
  shared_->environment().executor->Post([self = lifeline_.ptr()] {
    if (!self || !self->subscribed_ || self->ready_ == nullptr) return;
    const std::shared_ptr<absl::AnyInvocable<void()>> ready = self->ready_;
    const std::function<void(absl::Status)> threw = self->shared_->threw();
    CallUser("the callback of Consumer::OnReady", threw, [&ready] { (*ready)(); });
  });
}

void Consumer::Impl::OnSubscribed() {
  consumed_once_ = true;
  if (!std::exchange(subscribed_, true) && ready_ != nullptr) CallReady();
  if (!std::exchange(broker_failed_, false)) {
    interruption_said_.reset();
  } else if (std::exchange(said_to_consume_, true)) {
    return;  // the consumer may be interrupted again and again
  }
  said_to_consume_ = true;
  shared_->Report({.kind = EventKind::kConsuming,
                   .time = {},
                   .queue = params_.queue,
                   .in_flight = retrier_->open()});
}

void Consumer::Impl::OnInterrupted(const absl::Status& refusal) {
  const absl::Status why = Explained(refusal, params_.queue);
  broker_failed_ = absl::IsInternal(refusal);
  subscribed_ = false;
  retrier_->Abandon(refusal);
  if (pool_ != nullptr) pool_->DropWaiting();
  if (GaveUpAtStart(why)) return;
  if (absl::IsNotFound(why)) RestoreQueue();
  ReportInterrupted(why);
}

// Declares the queue; the subscription tries again by itself.
void Consumer::Impl::RestoreQueue() {
  if (!declare_ || std::exchange(restoring_, true)) return;
  EnsureQueue([self = lifeline_.ptr()](const absl::Status& restored) {
    if (!self) return;
    self->restoring_ = false;
    if (!restored.ok()) self->ReportInterrupted(restored);
  });
}

void Consumer::Impl::ReportInterrupted(const absl::Status& why) {
  const absl::Duration now = shared_->environment().clock->SinceBoot();
  if (interruption_said_.has_value() && now - *interruption_said_ < kSayInterruptionsEvery) return;
  interruption_said_ = now;
  said_to_consume_ = false;
  const std::string error = why.ToString();
  shared_->Report({.kind = EventKind::kInterrupted,
                   .time = {},
                   .queue = params_.queue,
                   .error = error,
                   .in_flight = retrier_->open()});
}

// Before the first success, an error that waiting does not fix ends the program. Later it may be a
// temporary mistake of an operator, and the consumer continues.
bool Consumer::Impl::GaveUpAtStart(const absl::Status& why) {
  if (why.ok() || consumed_once_ || state_ == State::kDone || !IsFatal(why)) return false;
  state_ = State::kDone;
  subscription_.reset();
  // The callback may destroy this object, or the client.
  const std::shared_ptr<SharedState> shared = shared_;
  const SharedState::CallOut calling(*shared);
  const std::function<void(absl::Status)> fatal = fatal_;
  fatal(why);
  return true;
}

// Like the breaker, cancels the consumer before deliveries are requeued. The caller may be an
// observer, so deliveries that wait for a thread are requeued in the next turn of the loop.
void Consumer::Impl::Pause() {
  if (std::exchange(paused_, true)) return;
  retrier_->impl().StopHandling();
  *handle_no_more_ = true;
  if (subscription_ == nullptr) return;
  EndFlow([] {});
  shared_->environment().executor->Post([self = lifeline_.ptr()] {
    if (self && self->paused_) self->retrier_->impl().RequeueUnbegun();
  });
}

void Consumer::Impl::Resume() {
  if (!std::exchange(paused_, false) || state_ != State::kConsuming || breaker_is_open()) return;
  StartFlow();
}

// Called while a delivery is processed. Reports to others, who may change anything, wait for the
// next turn of the loop.
void Consumer::Impl::OnCall(CallResult result, std::string_view error) {
  if (state_ != State::kConsuming) return;
  if (!breaker_->OnCall(result, shared_->clock().SinceBoot())) return;
  if (breaker_is_open()) {
    OnBreakerOpened(error);
  } else {
    OnBreakerClosed();
  }
}

// Cancels the consumer before deliveries are requeued, so that the broker sends those to others.
void Consumer::Impl::OnBreakerOpened(std::string_view error) {
  breaker_error_ = error;
  flow_has_ended_ = false;
  EndFlow([this, opening = ++breaker_openings_] {
    if (breaker_openings_ != opening) return;
    flow_has_ended_ = true;
    ProbeIfDue();
  });
  retrier_->impl().StopHandling();
  AwaitPause(breaker_->options().pause);
  shared_->environment().executor->Post([self = lifeline_.ptr()] {
    if (!self) return;
    self->retrier_->impl().RequeueUnbegun();
    if (self) self->ReportBreaker(EventKind::kBreakerOpened);
  });
}

// Consumes again, because the prefetch of a consumer cannot change.
void Consumer::Impl::OnBreakerClosed() {
  if (!paused_) {
    EndFlow([] {});
    StartFlow();
  }
  shared_->environment().executor->Post([self = lifeline_.ptr()] {
    if (self) self->ReportBreaker(EventKind::kBreakerClosed);
  });
}

void Consumer::Impl::AwaitPause(absl::Duration left) {
  CallAfter(*shared_->environment().timers, left, breaker_pause_, [this] { ProbeIfDue(); });
}

// Deliveries that were on their way when the flow ended must not count as probes.
void Consumer::Impl::ProbeIfDue() {
  if (state_ != State::kConsuming || !flow_has_ended_ || breaker_pause_ != nullptr) return;
  const absl::Duration now = shared_->clock().SinceBoot();
  if (const absl::Duration left = breaker_->PauseLeft(now); left > absl::ZeroDuration()) {
    return AwaitPause(left);  // the timer fired early
  }
  if (!breaker_->TryAgain(now)) return;
  StartFlow();
  ReportBreaker(EventKind::kBreakerProbing);
}

void Consumer::Impl::ReportBreaker(EventKind kind) {
  Event event{.kind = kind,
              .time = {},
              .queue = params_.queue,
              .error = kind == EventKind::kBreakerClosed ? "" : std::string_view(breaker_error_),
              .in_flight = retrier_->open()};
  if (kind == EventKind::kBreakerOpened) event.delay = breaker_->options().pause;
  shared_->Report(event);
}

// May be called more than once: the earliest deadline applies, and all callbacks are called.
void Consumer::Impl::Drain(absl::Duration deadline, absl::AnyInvocable<void(bool) &&> drained) {
  if (drained != nullptr) drained_.push_back(std::move(drained));
  *handle_no_more_ = true;
  if (state_ == State::kDone) {
    shared_->environment().executor->Post([self = lifeline_.ptr()] {
      if (self) self->EndDrain(/*complete=*/true);
    });
    return;
  }
  EndDrainAt(shared_->environment().clock->SinceBoot() + deadline);
  if (state_ == State::kDraining || state_ == State::kClosing) return;
  state_ = State::kDraining;
  breaker_pause_.reset();
  shared_->publisher().RetryNow();
  WatchDrain();
  const auto finish = [this] {
    retrier_->WhenIdle([this] { CloseAndEndDrain(/*complete=*/true); });
  };
  if (subscription_ != nullptr) {
    EndFlow(finish);
  } else {
    finish();
  }
}

void Consumer::Impl::EndDrainAt(absl::Duration since_boot) {
  if (since_boot >= drain_end_) return;
  drain_end_ = since_boot;
  CallAfter(*shared_->environment().timers, since_boot - shared_->environment().clock->SinceBoot(),
            drain_timer_, [this] { EndDrain(/*complete=*/false); });
}

// Waits for handlers without a limit. Does not wait for the broker if it has neither confirmed a
// copy nor ended the flow of deliveries for a while: it may refuse delay queues forever, and the
// messages are safe in the work queue. If copies were published, which would then be duplicates, it
// waits longer.
void Consumer::Impl::WatchDrain() {
  open_before_ = retrier_->open();
  CallAfter(*shared_->environment().timers, kDrainPatience, drain_watch_, [this] {
    const bool is_idle = retrier_->handling() == 0;
    const bool in_vain = is_idle && retrier_->open() == open_before_;
    vain_looks_ = in_vain ? vain_looks_ + 1 : 0;
    idle_looks_ = is_idle ? idle_looks_ + 1 : 0;
    const int looks = shared_->publisher().unanswered() > 0 ? kVainLooksIfPublished : 1;
    if (vain_looks_ < looks && idle_looks_ < kMostIdleLooks) return WatchDrain();
    retrier_->Abandon();
    CloseAndEndDrain(/*complete=*/false);
  });
}

void Consumer::Impl::CloseAndEndDrain(bool complete) {
  drain_watch_.reset();
  if (state_ != State::kDraining) return;
  state_ = State::kClosing;
  if (subscription_ == nullptr) return EndDrain(complete);
  // Does not wait longer for a broker that does not answer the close.
  EndDrainAt(shared_->environment().clock->SinceBoot() + kDrainPatience);
  subscription_->Close([self = lifeline_.ptr(), complete] {
    if (self) self->EndDrain(complete);
  });
}

void Consumer::Impl::EndDrain(bool complete) {
  if (std::exchange(state_, State::kDone) != State::kDone) {
    const std::unique_ptr<Timer> timer = std::move(drain_timer_);
    drain_watch_.reset();
    if (!complete) {
      retrier_->Abandon();
      subscription_.reset();
    }
  }
  const AlivePtr<Impl> self = lifeline_.ptr();
  const std::function<void(absl::Status)> threw = shared_->threw();
  for (absl::AnyInvocable<void(bool) &&>& drained : std::exchange(drained_, {})) {
    CallUser("the callback of Consumer::Drain", threw, [&] { std::move(drained)(complete); });
    if (!self) return;
  }
}

Consumer::Consumer() noexcept = default;
Consumer::Consumer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Consumer::Consumer(Consumer&&) noexcept = default;
Consumer& Consumer::operator=(Consumer&& other) noexcept {
  const Consumer replaced(std::exchange(impl_, std::move(other.impl_)));
  return *this;
}
Consumer::~Consumer() {
  if (impl_ != nullptr && !impl_->Check("Consumer::~Consumer")) static_cast<void>(impl_.release());
}

void Consumer::Drain(Duration deadline, absl::AnyInvocable<void(bool) &&> drained) {
  if (impl_ == nullptr) {
    if (drained != nullptr) std::move(drained)(true);
    return;
  }
  if (impl_->Check("Consumer::Drain")) impl_->Drain(deadline, std::move(drained));
}
void Consumer::Pause() {
  if (impl_ != nullptr && impl_->Check("Consumer::Pause")) impl_->Pause();
}
void Consumer::Resume() {
  if (impl_ != nullptr && impl_->Check("Consumer::Resume")) impl_->Resume();
}
void Consumer::OnReady(absl::AnyInvocable<void()> ready) {
  if (impl_ != nullptr && impl_->Check("Consumer::OnReady")) impl_->OnReady(std::move(ready));
}

}  // namespace retryq
