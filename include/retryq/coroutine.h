#ifndef RETRYQ_COROUTINE_H_
#define RETRYQ_COROUTINE_H_

#if !defined(__cpp_impl_coroutine) && !defined(__cpp_coroutines)
#error "retryq/coroutine.h needs C++20 coroutines: GCC 11, Clang 14 or newer"
#endif

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/broker/executor.h"
#include "retryq/broker/timers.h"
#include "retryq/client.h"
#include "retryq/delivery.h"
#include "retryq/duration.h"
#include "retryq/export.h"

// Handlers that are coroutines. Not included by retryq/retryq.h.
//
//   auto orders = client.Consume(
//       {.queue = "orders"}, [&](retryq::Delivery order) -> retryq::Task<retryq::Outcome> {
//         co_await retryq::Delay(loop, absl::Seconds(1));
//         auto published = retryq::StartPublish(client, {.routing_key = "invoices"});
//         co_return co_await published;
//       });
//
// The coroutines of a delivery run on the loop's thread, except between ResumeOn and the next
// `co_await`. While they are suspended, they are destroyed, and their message is delivered again,
// if the consumer is destroyed, or if Delivery::abandoned() is true when they would be resumed or
// when the next message arrives. On another executor they are destroyed as soon as they return to
// the loop's thread. The handler and its captures live until then. An exception that leaves the
// handler retries the message.
namespace retryq {

template <typename T = void>
class Task;

namespace internal {

// The coroutines of one delivery: its handler and the tasks that the handler awaits. At most one of
// them runs at a time. Used on the loop's thread, or on the executor of ResumeOn.
class DeliveryCoroutines {
 public:
  virtual ~DeliveryCoroutines() = default;

  // Called on the loop's thread: resumes a coroutine there, or destroys all of them if the outcome
  // would be ignored.
  virtual void Resume(std::coroutine_handle<> coroutine) = 0;
  // Destroys all coroutines on the next turn of the loop, which retries the message.
  virtual void Cancel() = 0;
  // Whether the coroutines are on another executor than the loop's.
  virtual bool is_elsewhere() const = 0;
  // Runs `work` on the loop's thread: now, unless the coroutines are on another executor.
  virtual void OnLoop(absl::AnyInvocable<void() &&> work) = 0;
  // Resumes a coroutine on this executor; null: on the loop's.
  virtual void ResumeOn(std::shared_ptr<Executor> executor, std::coroutine_handle<> coroutine) = 0;
};

struct PromiseBase {
  struct Final {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) noexcept {
      return done.promise().awaiting;
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() { exception = std::current_exception(); }
  void Rethrow() const {
    if (exception != nullptr) std::rethrow_exception(exception);
  }

  std::shared_ptr<DeliveryCoroutines> coroutines;
  std::coroutine_handle<> awaiting = std::noop_coroutine();
  std::exception_ptr exception;
};

template <typename T>
struct TaskPromise : PromiseBase {
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& returned) {
    value.emplace(std::forward<U>(returned));
  }
  T Result() {
    Rethrow();
    return *std::move(value);
  }

  std::optional<T> value;
};

template <>
struct TaskPromise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void Result() const { Rethrow(); }
};

// The state of a Pending, which its callback shares.
template <typename T>
struct PendingState {
  void Set(T result) {
    value.emplace(std::move(result));
    Wake();
  }
  void Drop() {
    dropped = true;
    Wake();
  }
  void Wake() {
    if (waiting == nullptr) return;
    const std::coroutine_handle<> coroutine = std::exchange(waiting, nullptr);
    const std::shared_ptr<DeliveryCoroutines> all = std::move(coroutines);
    dropped ? all->Cancel() : all->Resume(coroutine);
  }
  // On the loop's thread.
  void Wait(std::shared_ptr<DeliveryCoroutines> all, std::coroutine_handle<> coroutine) {
    if (value) return all->Resume(coroutine);
    if (dropped) return all->Cancel();
    coroutines = std::move(all);
    waiting = coroutine;
  }

  std::optional<T> value;
  bool dropped = false;  // the callback was destroyed without being called
  std::coroutine_handle<> waiting;
  std::shared_ptr<DeliveryCoroutines> coroutines;
};

}  // namespace internal

// The result of a coroutine: of a handler (Task<Outcome>), or of a function that a handler awaits.
// The coroutine begins when the task is awaited. A task can be awaited once, and only inside a
// handler's coroutine. The task owns the coroutine: its destructor destroys it. An exception that
// leaves the coroutine is thrown by the `co_await`. Move-only.
template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::TaskPromise<T>;

  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (coroutine_ != nullptr) coroutine_.destroy();
  }

  // For `co_await`.
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> awaiting) {
    coroutine_.promise().coroutines = awaiting.promise().coroutines;
    coroutine_.promise().awaiting = awaiting;
    return coroutine_;
  }
  T await_resume() { return coroutine_.promise().Result(); }

 private:
  std::coroutine_handle<promise_type> coroutine_;
};

template <typename T>
Task<T> internal::TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

inline Task<void> internal::TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

// A result that a callback delivers, such as that of a publish. The operation begins when the
// Pending is made; several can be under way at once. Store the Pending in a variable, and await it
// once:
//
//   retryq::Pending<absl::StatusOr<Reply>> reply(
//       [&](auto done) { http.Send(request, std::move(done)); });
//   const absl::StatusOr<Reply> received = co_await reply;
//
// `co_await` of a temporary Pending does not compile, because GCC 12 then destroys a message in
// braces twice.
//
// Made, called back and awaited on the loop's thread. If it is destroyed first, the result is
// ignored. If the callback is destroyed without being called, for example by the destructor of a
// Client, the coroutines that wait for it are destroyed, and the message is retried.
template <typename T>
class [[nodiscard]] Pending {
 public:
  // The callback. Move-only; called at most once.
  class Done {
   public:
    Done(Done&&) noexcept = default;
    Done& operator=(Done&&) = delete;
    ~Done() {
      if (state_ != nullptr) state_->Drop();
    }
    void operator()(T result) { std::exchange(state_, nullptr)->Set(std::move(result)); }

   private:
    friend class Pending;
    explicit Done(std::shared_ptr<internal::PendingState<T>> state) : state_(std::move(state)) {}

    std::shared_ptr<internal::PendingState<T>> state_;
  };

  // Calls `start` with the callback before it returns.
  template <typename Start>
  explicit Pending(Start&& start) : state_(std::make_shared<internal::PendingState<T>>()) {
    std::forward<Start>(start)(Done(state_));
  }
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&&) = delete;
  ~Pending() {
    if (state_ != nullptr && state_->waiting != nullptr) state_->waiting = nullptr;
  }

  // For `co_await`.
  auto operator co_await() & { return Awaiter{state_}; }
  template <bool kHasName = false>
  auto operator co_await() && {
    static_assert(kHasName, "name it first: auto published = …; co_await published;");
    return Awaiter{state_};
  }

 private:
  struct Awaiter {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> awaiting) {
      const std::shared_ptr<internal::DeliveryCoroutines> all = awaiting.promise().coroutines;
      if (!all->is_elsewhere() && state->value) return false;
      all->OnLoop([state = state, all, awaiting] { state->Wait(all, awaiting); });
      return true;
    }
    T await_resume() { return *std::move(state->value); }

    std::shared_ptr<internal::PendingState<T>> state;
  };

  std::shared_ptr<internal::PendingState<T>> state_;
};

// Client::Publish and Client::Declare, with their results.
inline Pending<absl::Status> StartPublish(Client& client, OutgoingMessage message,
                                          PublishOptions options = {}) {
  return Pending<absl::Status>(
      [&](auto done) { client.Publish(std::move(message), options, std::move(done)); });
}
inline Pending<absl::Status> StartDeclare(Client& client, WorkQueue work_queue,
                                          DeclareOptions options = {}) {
  return Pending<absl::Status>(
      [&](auto done) { client.Declare(std::move(work_queue), options, std::move(done)); });
}

// `co_await Delay(loop, duration)` continues after this time, on the loop's thread. `timers` must
// live until then.
class [[nodiscard]] Delay {
 public:
  Delay(Timers& timers, Duration duration) : timers_(timers), duration_(duration) {}

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    internal::DeliveryCoroutines* const all = awaiting.promise().coroutines.get();
    all->OnLoop([this, all, awaiting] {
      timer_ = timers_.After(duration_, [all, awaiting] { all->Resume(awaiting); });
    });
  }
  void await_resume() const noexcept {}

 private:
  Timers& timers_;
  const absl::Duration duration_;
  std::unique_ptr<Timer> timer_;
};

// `co_await ResumeOn(executor)` continues on another executor, such as a pool of threads for
// blocking calls, until the next `co_await`; `co_await ResumeOnLoop()` continues on the loop's
// thread. The coroutines may use the client and the loop again only after `ResumeOnLoop`. If an
// executor is destroyed first, the message is retried. A coroutine that returns on another thread
// destroys its variables there.
class [[nodiscard]] ResumeOn {
 public:
  explicit ResumeOn(std::shared_ptr<Executor> executor) : executor_(std::move(executor)) {}

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> awaiting) {
    const std::shared_ptr<internal::DeliveryCoroutines> all = awaiting.promise().coroutines;
    if (executor_ == nullptr && !all->is_elsewhere()) return false;
    all->ResumeOn(executor_, awaiting);
    return true;
  }
  void await_resume() const noexcept {}

 private:
  std::shared_ptr<Executor> executor_;
};

inline ResumeOn ResumeOnLoop() { return ResumeOn(nullptr); }

// The handler that starts a coroutine for each delivery. Client::Consume calls it; for
// Retrier::Wrap call it yourself.
RETRYQ_EXPORT AsyncHandler
ToAsyncHandler(absl::AnyInvocable<Task<Outcome>(const Delivery&)> handler);

template <CoroutineHandler Coroutine>
absl::StatusOr<Consumer> Client::Consume(ConsumerOptions options, Coroutine handler) {
  return Consume(std::move(options), ToAsyncHandler(std::move(handler)));
}

}  // namespace retryq

#endif  // RETRYQ_COROUTINE_H_
