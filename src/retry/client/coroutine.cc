#include "retryq/coroutine.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <vector>

#include "loop/thrown.h"
#include "retryq/settlement.h"
#include "retryq/tracing.h"

namespace retryq {
namespace {

using internal::DeliveryCoroutines;
using internal::PromiseBase;

using CoroutineFunction = absl::AnyInvocable<Task<Outcome>(const Delivery&)>;

class OneDelivery;

// The suspended coroutines of a consumer, which are destroyed with it.
class AllDeliveries {
 public:
  ~AllDeliveries();
  // Also destroys coroutines whose delivery is abandoned: the broker no longer counts them for the
  // prefetch.
  void Add(const std::shared_ptr<OneDelivery>& one);
  void Remove(const std::shared_ptr<OneDelivery>& one) { all_.erase(one); }

 private:
  std::unordered_set<std::shared_ptr<OneDelivery>> all_;
};

// The members are used on the loop's thread. On another executor the coroutines are only resumed.
class OneDelivery final : public DeliveryCoroutines,
                          public std::enable_shared_from_this<OneDelivery> {
 public:
  OneDelivery(AllDeliveries& consumer, std::shared_ptr<Executor> loop, Delivery delivery)
      : consumer_(&consumer), loop_(std::move(loop)), delivery_(std::move(delivery)) {}

  void Begin(std::coroutine_handle<> first) {
    first_ = first;
    consumer_->Add(shared_from_this());
    Resume(first);
  }

  void Resume(std::coroutine_handle<> coroutine) override {
    const std::shared_ptr<OneDelivery> self = shared_from_this();
    if (consumer_ == nullptr || delivery_.abandoned()) return Destroy();
    is_running_ = true;
    ResumeTraced(coroutine);
    is_running_ = false;
    // The coroutine has destroyed its consumer.
    if (consumer_ == nullptr && !is_elsewhere_) Destroy();
  }

  void Cancel() override {
    loop_->Post([self = shared_from_this()] { self->Destroy(); });
  }

  bool is_elsewhere() const override { return is_elsewhere_; }

  void OnLoop(absl::AnyInvocable<void() &&> work) override {
    if (!is_elsewhere_) return std::move(work)();
    loop_->Post(WayBack{shared_from_this(), std::move(work)});
  }

  void ResumeOn(std::shared_ptr<Executor> executor, std::coroutine_handle<> coroutine) override {
    if (executor == nullptr || executor == loop_) {
      const std::shared_ptr<OneDelivery> self = shared_from_this();
      if (is_elsewhere_) return OnLoop([self, coroutine] { self->Resume(coroutine); });
      return loop_->Post([self, coroutine] {
        if (self->first_ != nullptr) self->Resume(coroutine);
      });
    }
    if (!is_elsewhere_) is_elsewhere_ = true;
    executor->Post(WayOut{shared_from_this(), coroutine});
  }

  bool MayEnd() const { return delivery_.abandoned() && !is_running_ && !is_elsewhere_; }
  void End() { Destroy(); }

  void OnConsumerDestroyed() {
    consumer_ = nullptr;
    if (!is_running_ && !is_elsewhere_) Destroy();
  }

  void OnFinished() {
    first_ = nullptr;
    if (consumer_ != nullptr) consumer_->Remove(shared_from_this());
  }

 private:
  void ResumeTraced(std::coroutine_handle<> coroutine) const {
    std::unique_ptr<AttemptTrace::Scope> scope;
    if (delivery_.trace() != nullptr) scope = delivery_.trace()->Enter(delivery_);
    coroutine.resume();
  }

  // Resumes a coroutine on another executor. If the executor destroys this first, the message is
  // retried.
  struct WayOut {
    WayOut(std::shared_ptr<OneDelivery> delivery, std::coroutine_handle<> resumed)
        : one(std::move(delivery)), coroutine(resumed) {}
    WayOut(WayOut&&) noexcept = default;
    ~WayOut() {
      if (one != nullptr) one->OnLoop([all = one.get()] { all->Destroy(); });
    }
    void operator()() && {
      const std::shared_ptr<OneDelivery> keep = std::move(one);
      keep->ResumeTraced(coroutine);
    }

    std::shared_ptr<OneDelivery> one;
    std::coroutine_handle<> coroutine;
  };

  // Does work on the loop's thread for coroutines that were elsewhere. If the loop is gone, no
  // other thread uses them.
  struct WayBack {
    WayBack(std::shared_ptr<OneDelivery> delivery, absl::AnyInvocable<void() &&> done)
        : one(std::move(delivery)), work(std::move(done)) {}
    WayBack(WayBack&&) noexcept = default;
    ~WayBack() {
      if (one != nullptr) one->Destroy();
    }
    void operator()() && {
      const std::shared_ptr<OneDelivery> keep = std::move(one);
      keep->is_elsewhere_ = false;
      keep->consumer_ == nullptr ? keep->Destroy() : std::move(work)();
    }

    std::shared_ptr<OneDelivery> one;
    absl::AnyInvocable<void() &&> work;
  };

  void Destroy() {
    const std::coroutine_handle<> first = first_;
    if (first == nullptr) return;
    OnFinished();
    first.destroy();
  }

  AllDeliveries* consumer_;
  const std::shared_ptr<Executor> loop_;
  const Delivery delivery_;
  std::coroutine_handle<> first_;
  bool is_running_ = false;  // on the loop's thread
  bool is_elsewhere_ = false;
};

void AllDeliveries::Add(const std::shared_ptr<OneDelivery>& one) {
  std::vector<std::shared_ptr<OneDelivery>> abandoned;
  std::copy_if(all_.begin(), all_.end(), std::back_inserter(abandoned),
               [](const auto& each) { return each->MayEnd(); });
  all_.insert(one);
  for (const std::shared_ptr<OneDelivery>& each : abandoned) each->End();
}

AllDeliveries::~AllDeliveries() {
  const auto all = std::move(all_);
  for (const std::shared_ptr<OneDelivery>& one : all) one->OnConsumerDestroyed();
}

// The first coroutine of a delivery, which awaits the coroutine of the handler. No other coroutine
// awaits this one.
struct First {
  struct promise_type : PromiseBase {
    First get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> coroutine;
};

First Handle(std::shared_ptr<OneDelivery> one, std::shared_ptr<CoroutineFunction> handler,
             Delivery delivery, Settlement settlement) {
  Outcome outcome = Outcome::Ok();
  try {
    Task<Outcome> task = (*handler)(delivery);
    outcome = co_await task;
  } catch (...) {
    outcome = Thrown("the handler");
  }
  co_await ResumeOnLoop();
  std::move(settlement).Settle(std::move(outcome));
  one->OnFinished();
}

}  // namespace

AsyncHandler ToAsyncHandler(CoroutineFunction handler) {
  return [all = std::make_unique<AllDeliveries>(),
          handler = std::make_shared<CoroutineFunction>(std::move(handler))](
             const Delivery& delivery, Settlement settlement) {
    auto one = std::make_shared<OneDelivery>(*all, settlement.executor(), delivery);
    const First first = Handle(one, handler, delivery, std::move(settlement));
    first.coroutine.promise().coroutines = one;
    one->Begin(first.coroutine);
  };
}

}  // namespace retryq
