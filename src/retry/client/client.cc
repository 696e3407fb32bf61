#include "retryq/client.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/field_errors.h"
#include "base/header_names.h"
#include "loop/call_after.h"
#include "loop/runner_thread.h"
#include "loop/worker_pool.h"
#include "retry/client/client_impl.h"
#include "retry/client/client_validation.h"
#include "retry/client/declare_work_queue.h"
#include "retryq/amqp/make_broker.h"

namespace retryq {
namespace {

// At a stop: how long to wait for publishes if none of them is answered.
constexpr absl::Duration kPublishPatience = absl::Seconds(3);

// Why the client stopped waiting for a publish or declare.
constexpr char kStop[] = "the stop";
constexpr char kConsumerEnd[] = "the consumer whose handler waits for it was destroyed";

constexpr auto kAll = [](const PendingCall&) { return true; };

constexpr char kIncomplete[] =
    "the client has stopped before everything was done: deliveries were requeued, or publishes "
    "were not confirmed";

// For AwaitAnswers: includes publishes that are made while it waits.
constexpr std::uint64_t kAllPublishes = std::numeric_limits<std::uint64_t>::max();

Environment EnvironmentOn(EventLoop& loop, const ClientOptions& options) {
  return {.clock = &loop.clock(),
          .timers = &loop,
          .random = &loop.random(),
          .executor = loop.executor(),
          .observer = options.observer,
          .tracer = options.tracer};
}

std::function<void(absl::Status)> FailureOf(EventLoop& loop) {
  return [&loop](absl::Status error) { loop.Fail(std::move(error)); };
}

// The client calls the loop at once, whose own check would name another function.
EventLoop& OnItsThread(EventLoop& loop) {
  CheckThread(*loop.executor(), "Client::Client");
  return loop;
}

}  // namespace

Client::Impl::Impl(EventLoop& loop, ClientOptions options)
    : Impl(EnvironmentOn(loop, options), FailureOf(loop), KeepThrown, std::move(options)) {
  const absl::StatusOr<amqp::ConnectionOptions> connection = ConnectionOf(options_);
  if (!connection.ok()) {
    FieldErrors errors(connection.status());
    errors.Add(ValidateClient(options_, amqp::ConnectionOptions().heartbeat));
    invalid_ = errors.status();
    return;
  }
  invalid_ = ValidateClient(options_, connection->heartbeat);
  if (!invalid_.ok()) return;
  amqp::OptionsSource source;
  if (options_.url_source != nullptr || options_.credentials != nullptr) {
    source = [options = options_] { return ConnectionOf(options); };
  }
  std::unique_ptr<Broker> broker = amqp::MakeBroker(loop, *connection, source);
  Broker& owned = *broker;
  Open(owned, std::move(broker));
  DrainWith(loop);
}

Client::Impl::Impl(EventLoop& loop, Broker& broker, ClientOptions options)
    : Impl(EnvironmentOn(loop, options), broker, FailureOf(loop), KeepThrown, std::move(options)) {
  DrainWith(loop);
}

Client::Impl::Impl(Environment environment, Broker& broker, std::function<void(absl::Status)> fatal,
                   std::function<void(absl::Status)> threw, ClientOptions options)
    : Impl(std::move(environment), std::move(fatal), std::move(threw), std::move(options)) {
  invalid_ = ValidateClient(options_, broker.heartbeat());
  if (invalid_.ok()) Open(broker);
}

void Client::Impl::Destroy(std::unique_ptr<Impl> impl) {
  if (impl == nullptr) return;
  if (!impl->Check("Client::~Client")) {
    static_cast<void>(impl.release());
    return;
  }
  const std::shared_ptr<SharedState> shared = impl->shared_;
  if (shared == nullptr || !shared->is_calling_out()) return;
  impl->StopCalling();
  shared->Dispose(std::move(impl));
}

void Client::Impl::StopCalling() {
  muted_ = true;
  on_drain_.reset();
  if (shared_ != nullptr) shared_->StopObserving();
  for (const auto& [number, publish] : publishes_) publish->StopCalling();
  for (const auto& [number, declare] : declares_) declare->StopCalling();
}

void Client::Impl::DrainWith(EventLoop& loop) {
  if (shared_ == nullptr) return;
  on_drain_ = loop.OnDrain([this](EventLoop::DrainDone done) {
    Drain(absl::InfiniteDuration(),
          AnswerOf("the loop's drain", [done = std::move(done)](const absl::Status&) { done(); }));
  });
}

std::function<void(const WorkOrigin&)> Client::Impl::GiveUpWork() const {
  return [self = lifeline_.ptr()](const WorkOrigin& origin) {
    if (!self) return;
    const auto is_of = [&](const PendingCall& open) { return open.origin() == origin; };
    self->GiveUp(self->declares_, self->next_declare_, absl::StatusCode::kCancelled, kConsumerEnd,
                 is_of);
    if (!self) return;
    self->GiveUp(self->publishes_, self->next_publish_, absl::StatusCode::kCancelled, kConsumerEnd,
                 is_of);
  };
}

std::function<void(absl::Status)> Client::Impl::Fatal(
    std::function<void(absl::Status)> on_failed) const {
  return [self = lifeline_.ptr(), on_failed = std::move(on_failed)](absl::Status error) {
    if (!self || self->muted_) return;
    if (on_failed != nullptr) {
      return CallUser("ConsumerOptions::on_failed", self->threw_,
                      [&] { on_failed(std::move(error)); });
    }
    const std::function<void(absl::Status)> fatal = self->fatal_;
    fatal(std::move(error));
  };
}

template <typename SomeHandler>
absl::StatusOr<Consumer> Client::Impl::Consume(ConsumerOptions options, SomeHandler handler) {
  RetrierOptions of_retrier{.queue = options.queue,
                            .work_exchange = std::move(options.work_exchange),
                            .retry = std::move(options.retry),
                            .parked_queue = std::move(options.parked_queue),
                            .share_retries = options.share_retries,
                            .former_queues = std::move(options.former_queues)};
  FieldErrors errors(invalid_);
  errors.Add(ValidateConsumer(options));
  errors.Add(Validate(of_retrier, options_.delay_queues));
  errors.Require(handler != nullptr, "the handler must not be empty");
  if (!errors.status().ok()) return errors.status();
  absl::StatusOr<std::unique_ptr<Retrier>> retrier =
      Retrier::Create(shared_, std::move(of_retrier));
  if (!retrier.ok()) return retrier.status();

  // The priority is set even if it is the default, because a stream refuses it (F54 in
  // doc/rabbitmq_facts.md): messages cannot be removed from a stream.
  ConsumeParams params{.queue = options.queue,
                       .prefetch = options.prefetch,
                       .consumer_tag = options.consumer_tag,
                       .arguments = std::move(options.arguments),
                       .max_body = options.max_body,
                       .exclusive = options.exclusive};
  params.arguments.Set(kPriorityArgument, std::int64_t{options.priority});
  if (options.consumer_timeout > absl::ZeroDuration()) {
    params.arguments.Set(kTimeoutArgument, absl::ToInt64Milliseconds(options.consumer_timeout));
  }
  std::optional<WorkQueue> declare;
  if (options.declare) declare = Named(*std::move(options.declare), options.queue);
  auto consumer = std::make_unique<Consumer::Impl>(
      shared_, *std::move(retrier), std::move(params), std::move(declare), options.breaker,
      Fatal(std::move(options.on_failed)), GiveUpWork(), consumers_);
  if constexpr (std::is_same_v<SomeHandler, Handler>) {
    const absl::Status started = consumer->Start(std::move(handler), options.handler_threads);
    if (!started.ok()) return started;
  } else {
    consumer->Start(std::move(handler));
  }
  return Consumer(std::move(consumer));
}

std::unique_ptr<PublishTrace> Client::Impl::BeginTrace(OutgoingMessage& message,
                                                       const PublishOptions& options,
                                                       const std::shared_ptr<void>& context) {
  TraceHeaders headers([&message](std::string_view name) {
    return IsTraceHeader(name) || message.headers.Find(name) != nullptr;
  });
  std::unique_ptr<PublishTrace> trace;
  shared_->CallTracer("Tracer::OnPublish", [&] {
    trace = shared_->tracer()->OnPublish(message, options, context, headers);
  });
  for (const auto& [name, value] : headers.added().fields()) message.headers.Set(name, value);
  return trace;
}

void Client::Impl::Publish(OutgoingMessage message, const PublishOptions& options, Answer answer,
                           const std::shared_ptr<void>& context) {
  FieldErrors errors(invalid_);
  errors.Add(ValidateDelay(options, environment_.clock->Now(), options_.delay_queues));
  errors.Add(ValidateMessage(message));
  errors.Require(!message.expiration || (!options.at && options.delay <= absl::ZeroDuration()),
                 "expiration cannot be combined with a delay, which it would end early");
  if (const std::size_t open = publishes_.size() + link_->posted();
      errors.status().ok() && open >= options_.max_open_publishes) {
    errors.Add(TooManyPublishes(open));
  }
  if (!errors.status().ok()) return AnswerLater(std::move(answer), errors.status());
  std::unique_ptr<PublishTrace> trace;
  if (shared_->tracer() != nullptr) {
    trace = BeginTrace(message, options, context);
    if (muted_) return;
  }
  const std::uint64_t number = next_publish_++;
  auto publish = std::make_unique<DelayedPublish>(
      shared_, std::move(message), options,
      [this, number, answer = std::move(answer),
       trace = std::move(trace)](absl::Status status) mutable {
        const auto finished = publishes_.extract(number);  // kept until `answer` has returned
        link_->SetOpen(publishes_.size());
        ++answered_publishes_;
        OnPublishAnswered();
        if (trace != nullptr) {
          shared_->CallTracer("PublishTrace::End", [&] { trace->End(status); });
          if (muted_) return;
        }
        std::move(answer)(std::move(status));
      });
  link_->SetOpen(publishes_.size() + 1);
  Start(publishes_, number, std::move(publish));
}

// An observer may be called in the middle of a change that a call would interfere with.
void Client::Impl::Start(PendingCalls& calls, std::uint64_t number,
                         std::unique_ptr<PendingCall> call) {
  PendingCall& started = *call;
  calls.emplace(number, std::move(call));
  if (!shared_->is_amid()) return started.Start();
  environment_.executor->Post([self = lifeline_.ptr(), &calls, number] {
    if (!self) return;
    const auto found = calls.find(number);
    if (found != calls.end()) found->second->Start();
  });
}

void Client::Impl::Declare(WorkQueue work_queue, const DeclareOptions& options, Answer answer) {
  FieldErrors errors(invalid_);
  errors.Add(Validate(work_queue));
  if (!errors.status().ok()) return AnswerLater(std::move(answer), errors.status());
  const std::uint64_t number = next_declare_++;
  auto declare = std::make_unique<PendingDeclare>(
      shared_, std::move(work_queue), options,
      [this, number, answer = std::move(answer)](absl::Status status) mutable {
        const auto finished = declares_.extract(number);  // kept until `answer` has returned
        std::move(answer)(std::move(status));
      });
  Start(declares_, number, std::move(declare));
}

void Client::Impl::GiveUp(PendingCalls& all, std::uint64_t end, absl::StatusCode code,
                          const char* what, const std::function<bool(const PendingCall&)>& filter) {
  const AlivePtr<Impl> self = lifeline_.ptr();
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, open] : all) {
    if (number < end && filter(*open)) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) {
    const auto found = all.find(number);
    if (found != all.end()) found->second->GiveUp(code, what);
    if (!self || muted_) return;
  }
}

void Client::Impl::AnswerLater(Answer answer, absl::Status status) {
  environment_.executor->Post(
      [self = lifeline_.ptr(), answer = std::move(answer), status = std::move(status)]() mutable {
        if (self && !self->muted_) std::move(answer)(std::move(status));
      });
}

void Client::Impl::AwaitAnswers(std::uint64_t end, absl::Duration deadline, Done done) {
  const auto place = waiting_.emplace(end, Waiting{std::move(done), nullptr});
  if (deadline < absl::InfiniteDuration()) {
    place->second.deadline = environment_.timers->After(deadline, [this, place] {
      auto over = waiting_.extract(place);
      std::move(over.mapped().done)(absl::UnavailableError(
          "the deadline was over before all publishes were answered; they continue"));
    });
  }
  OnPublishAnswered();
}

void Client::Impl::OnPublishAnswered() {
  if (waiting_.empty() || !AreAnswered(waiting_.begin()->first)) return;
  environment_.executor->Post([self = lifeline_.ptr()] {
    while (self && !self->muted_ && !self->waiting_.empty() &&
           self->AreAnswered(self->waiting_.begin()->first)) {
      auto answered = self->waiting_.extract(self->waiting_.begin());
      std::move(answered.mapped().done)(absl::OkStatus());
    }
  });
}

void Client::Impl::Flush(absl::Duration deadline, Answer answer) {
  if (flushes_ >= options_.max_open_publishes) {
    return AnswerLater(std::move(answer),
                       absl::ResourceExhaustedError(absl::StrCat("max_open_publishes: ", flushes_,
                                                                 " calls of Flush wait already")));
  }
  ++flushes_;
  // Publishes that other threads have posted begin before this work.
  environment_.executor->Post(
      [self = lifeline_.ptr(), deadline, answer = std::move(answer)]() mutable {
        if (!self || self->muted_) return;
        self->AwaitAnswers(self->next_publish_, deadline,
                           [self, answer = std::move(answer)](absl::Status status) mutable {
                             --self->flushes_;
                             std::move(answer)(std::move(status));
                           });
      });
}

void Client::Impl::Drain(absl::Duration deadline, Answer answer) {
  if (!process_.is_here()) return;
  if (shared_ == nullptr) return AnswerLater(std::move(answer), absl::OkStatus());
  if (drain_state_ == DrainState::kDone) return AnswerLater(std::move(answer), drain_result_);
  drained_.push_back(std::move(answer));
  EndDrainAt(deadline);
  if (std::exchange(drain_state_, DrainState::kDraining) == DrainState::kDraining) return;
  // The caller may be an observer, or anything else that is called from the middle of a change.
  environment_.executor->Post([self = lifeline_.ptr()] {
    if (self && !self->muted_) self->BeginDrain();
  });
}

// Drains the consumers first, whose last acks must reach the broker, then closes the connections.
void Client::Impl::BeginDrain() {
  const AlivePtr<Impl> alive = lifeline_.ptr();
  // Declares that are made in these callbacks have their own deadline.
  GiveUp(declares_, next_declare_, absl::StatusCode::kUnavailable, kStop, kAll);
  if (!alive || muted_) return;
  WatchPublishes();
  // Destroyed with the callback of the last consumer: after its call, or with its consumer.
  const std::shared_ptr<void> last(nullptr, [self = lifeline_.ptr()](void*) {
    if (self) self->CloseAfterPublishes();
  });
  for (Consumer::Impl* consumer : ConsumerSet(*consumers_)) {
    consumer->Drain(absl::InfiniteDuration(), [self = lifeline_.ptr(), last](bool complete) {
      if (self && !complete) self->drain_result_ = absl::UnavailableError(kIncomplete);
    });
  }
}

// Waits for open publishes while the broker keeps answering some.
void Client::Impl::CloseAfterPublishes() {
  // Publishes that other threads have posted begin before this work.
  environment_.executor->Post([self = lifeline_.ptr()] {
    if (!self || self->muted_) return;
    self->AwaitAnswers(kAllPublishes, absl::InfiniteDuration(), [self](const absl::Status&) {
      self->RefuseCalls();
      self->shared_->broker().Close([self] {
        if (self) self->EndDrain();
      });
    });
    if (self && !self->publishes_.empty()) self->shared_->publisher().RetryNow();
  });
}

// Runs from the beginning of a stop, because handlers may wait for publishes. If no publish is
// answered in this time, the publishes that were open all the time fail as unconfirmed.
void Client::Impl::WatchPublishes() {
  CallAfter(*environment_.timers, kPublishPatience, drain_watch_,
            [this, answered = answered_publishes_, end = next_publish_] {
              if (publishes_.empty() || answered_publishes_ != answered) return WatchPublishes();
              shared_->RequeueFailures();
              GiveUpPublishes(end);
            });
}

void Client::Impl::GiveUpPublishes(std::uint64_t end) {
  const AlivePtr<Impl> self = lifeline_.ptr();
  drain_result_ = absl::UnavailableError(kIncomplete);
  GiveUp(publishes_, end, absl::StatusCode::kUnavailable, kStop, kAll);
  if (!self || muted_) return;
  // Does not wait for publishes that are made in these callbacks.
  const auto closing = waiting_.find(kAllPublishes);
  if (closing == waiting_.end()) return WatchPublishes();
  auto given_up = waiting_.extract(closing);
  std::move(given_up.mapped().done)(absl::OkStatus());
}

// A further call of `Drain` can only move the deadline forward.
void Client::Impl::EndDrainAt(absl::Duration deadline) {
  const absl::Duration end = environment_.clock->SinceBoot() + deadline;
  if (end >= drain_end_) return;
  drain_end_ = end;
  CallAfter(*environment_.timers, deadline, drain_deadline_, [this] {
    const AlivePtr<Impl> self = lifeline_.ptr();
    drain_result_ = absl::UnavailableError(kIncomplete);
    for (Consumer::Impl* consumer : *consumers_) consumer->Drain(absl::ZeroDuration(), nullptr);
    GiveUpPublishes(next_publish_);
    if (self && !muted_) EndDrain();
  });
}

void Client::Impl::RefuseCalls() {
  link_->Close();
  invalid_ = absl::CancelledError("the client has drained: make another one");
}

void Client::Impl::EndDrain() {
  RefuseCalls();
  drain_state_ = DrainState::kDone;
  drain_deadline_.reset();
  drain_watch_.reset();
  const AlivePtr<Impl> self = lifeline_.ptr();
  const absl::Status result = drain_result_;
  for (Answer& answer : std::exchange(drained_, {})) {
    if (self && !muted_) std::move(answer)(result);
  }
}

Client::Client(EventLoop& loop, ClientOptions options)
    : impl_(std::make_unique<Impl>(OnItsThread(loop), std::move(options))) {}

Client::Client(EventLoop& loop, Broker& broker, ClientOptions options)
    : impl_(std::make_unique<Impl>(OnItsThread(loop), broker, std::move(options))) {}

Client::Client(Environment environment, Broker& broker, ClientOptions options,
               std::function<void(absl::Status)> fatal)
    : impl_(std::make_unique<Impl>(std::move(environment), broker, fatal, fatal,
                                   std::move(options))) {}

Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&& other) noexcept {
  Impl::Destroy(std::exchange(impl_, std::move(other.impl_)));
  return *this;
}

Client::~Client() { Impl::Destroy(std::move(impl_)); }

absl::StatusOr<Consumer> Client::Consume(ConsumerOptions options, Handler handler) {
  impl_->Check("Client::Consume");
  return impl_->Consume(std::move(options), std::move(handler));
}

absl::StatusOr<Consumer> Client::Consume(ConsumerOptions options, AsyncHandler handler) {
  impl_->Check("Client::Consume");
  return impl_->Consume(std::move(options), std::move(handler));
}

void Client::Publish(OutgoingMessage message, PublishOptions options, Done done) {
  if (!impl_->Check("Client::Publish")) return;
  impl_->Publish(std::move(message), options,
                 impl_->AnswerOf("the callback of Client::Publish", std::move(done)));
}

void Client::Publish(OutgoingMessage message, Done done) {
  Publish(std::move(message), {}, std::move(done));
}

void Client::Declare(WorkQueue work_queue, DeclareOptions options, Done done) {
  if (!impl_->Check("Client::Declare")) return;
  impl_->Declare(std::move(work_queue), options,
                 impl_->AnswerOf("the callback of Client::Declare", std::move(done)));
}

void Client::Declare(WorkQueue work_queue, Done done) {
  Declare(std::move(work_queue), {}, std::move(done));
}

void Client::Flush(Duration deadline, Done done) {
  if (!impl_->Check("Client::Flush")) return;
  impl_->Flush(deadline, impl_->AnswerOf("the callback of Client::Flush", std::move(done)));
}

void Client::Drain(Duration deadline, Done done) {
  if (!impl_->Check("Client::Drain")) return;
  impl_->Drain(deadline, impl_->AnswerOf("the callback of Client::Drain", std::move(done)));
}

Publisher Client::publisher() const { return Publisher(impl_->link()); }

}  // namespace retryq
