#include "retryq/consumer.h"

#include <utility>

#include "retry/consumer_impl.h"

namespace retryq {
namespace {

constexpr absl::Duration kSayInterruptionsEvery = absl::Minutes(1);

// What waiting does not mend.
bool IsFatal(const absl::Status& why) { return !absl::IsUnavailable(why) && !absl::IsAborted(why); }

// Used by the deliveries of one consumer, which owns the pool.
class PoolExecutor final : public Executor {
 public:
  explicit PoolExecutor(WorkerPool& pool) : pool_(pool) {}
  void Post(std::function<void()> work) override { pool_.Submit(std::move(work)); }

 private:
  WorkerPool& pool_;
};

}  // namespace

Consumer::Impl::Impl(std::shared_ptr<Hub> hub, std::unique_ptr<Retrier> retrier,
                     ConsumeParams params, std::function<void(absl::Status)> fatal,
                     ConsumerSet* consumers)
    : hub_(std::move(hub)),
      retrier_(std::move(retrier)),
      params_(std::move(params)),
      fatal_(std::move(fatal)),
      consumers_(consumers) {
  consumers_->insert(this);
  hub_->AddListener(this);
}

Consumer::Impl::~Impl() {
  hub_->RemoveListener(this);
  consumers_->erase(this);
}

void Consumer::Impl::Start(Handler handler, int threads) {
  if (threads == 0) {
    Begin(retrier_->Wrap(std::move(handler)));
    return;
  }
  pool_ = std::make_unique<WorkerPool>(threads);
  Begin(retrier_->Wrap(
      [this, handler = std::move(handler)](const Delivery& delivery) {
        // On a graceful stop what runs is finished, but what only waits for a thread goes back.
        return handle_no_more_ ? Outcome::Requeue() : handler(delivery);
      },
      std::make_shared<PoolExecutor>(*pool_)));
}

void Consumer::Impl::Start(AsyncHandler handler) { Begin(retrier_->Wrap(std::move(handler))); }

void Consumer::Impl::Begin(DeliveryHandler deliver) {
  deliver_ = std::move(deliver);
  if (hub_->ready()) Prepare();
}

void Consumer::Impl::OnReady() {
  if (state_ == State::kStarting) Prepare();
}

void Consumer::Impl::OnLost(const absl::Status& why) { GaveUpAtStart(why); }

void Consumer::Impl::Prepare() {
  state_ = State::kPreparing;
  retrier_->Prepare([self = lifeline_.ptr()](const absl::Status& status) {
    if (self) self->OnPrepared(status);
  });
}

void Consumer::Impl::OnPrepared(const absl::Status& status) {
  if (state_ != State::kPreparing) return;
  state_ = State::kStarting;
  if (GaveUpAtStart(status)) return;
  if (!status.ok()) {  // the connection went meanwhile: again when it is back
    if (hub_->ready()) Prepare();
    return;
  }
  state_ = State::kConsuming;
  if (!paused_) subscription_ = hub_->broker().Consume(params_, this);
}

void Consumer::Impl::OnSubscribed() {
  consumed_once_ = true;
  interruption_said_.reset();
  hub_->Report({.kind = EventKind::kConsuming,
                .time = {},
                .queue = params_.queue,
                .in_flight = retrier_->open()});
}

void Consumer::Impl::OnInterrupted(const absl::Status& why) {
  retrier_->Abandon();
  if (GaveUpAtStart(why)) return;
  const absl::Duration now = hub_->environment().clock->SinceBoot();
  if (interruption_said_.has_value() && now - *interruption_said_ < kSayInterruptionsEvery) return;
  interruption_said_ = now;
  const std::string error = why.ToString();
  hub_->Report({.kind = EventKind::kInterrupted,
                .time = {},
                .queue = params_.queue,
                .error = error,
                .in_flight = retrier_->open()});
}

// Before the first success, what waiting does not mend ends the program. After
// it, it may be somebody's mistake of a moment, and the consumer stays.
bool Consumer::Impl::GaveUpAtStart(const absl::Status& why) {
  if (why.ok() || consumed_once_ || state_ == State::kDone || !IsFatal(why)) return false;
  state_ = State::kDone;
  subscription_.reset();
  fatal_(why);
  return true;
}

void Consumer::Impl::Pause() {
  if (std::exchange(paused_, true) || subscription_ == nullptr) return;
  subscription_->Cancel([] {});
}

void Consumer::Impl::Resume() {
  if (!std::exchange(paused_, false) || state_ != State::kConsuming) return;
  if (subscription_ != nullptr) {
    subscription_->Resume();
  } else {
    subscription_ = hub_->broker().Consume(params_, this);
  }
}

void Consumer::Impl::Drain(absl::Duration deadline, std::function<void(bool)> drained) {
  state_ = State::kDraining;
  handle_no_more_ = true;
  drained_ = std::move(drained);
  if (deadline != absl::InfiniteDuration()) {
    drain_timer_ =
        hub_->environment().timers->After(deadline, [this] { EndDrain(/*complete=*/false); });
  }
  auto close = [self = lifeline_.ptr()] {
    if (!self) return;
    if (self->subscription_ == nullptr) {
      self->EndDrain(/*complete=*/true);
      return;
    }
    self->subscription_->Close([self] {
      if (self) self->EndDrain(/*complete=*/true);
    });
  };
  auto finish = [self = lifeline_.ptr(), close = std::move(close)] {
    if (self) self->retrier_->WhenIdle(close);
  };
  if (subscription_ != nullptr) {
    subscription_->Cancel(std::move(finish));
  } else {
    finish();
  }
}

void Consumer::Impl::EndDrain(bool complete) {
  if (drained_ == nullptr) return;
  state_ = State::kDone;
  const std::unique_ptr<Timer> timer = std::move(drain_timer_);
  if (!complete) {
    retrier_->Abandon();
    subscription_.reset();
  }
  std::exchange(drained_, nullptr)(complete);
}

Consumer::Consumer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Consumer::Consumer(Consumer&&) noexcept = default;
Consumer& Consumer::operator=(Consumer&&) noexcept = default;
Consumer::~Consumer() = default;

void Consumer::Drain(absl::Duration deadline, std::function<void(bool)> drained) {
  impl_->Drain(deadline, std::move(drained));
}
void Consumer::Pause() { impl_->Pause(); }
void Consumer::Resume() { impl_->Resume(); }

}  // namespace retryq
