#include "retryq/client.h"

#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/name_size.h"
#include "loop/alive.h"
#include "loop/own_process.h"
#include "loop/runner_thread.h"
#include "loop/thrown.h"
#include "loop/worker_pool.h"
#include "retry/client/consumer_impl.h"
#include "retry/client/declare_work_queue.h"
#include "retry/client/delayed_publish.h"
#include "retry/client/pending_declare.h"
#include "retry/retrier/retrier_options.h"
#include "retry/retrier/shared_state.h"
#include "retryq/amqp/make_broker.h"

namespace retryq {
namespace {

// At a stop: how long to wait for publishes if none of them is answered.
constexpr absl::Duration kPublishPatience = absl::Seconds(3);

// Why the client stopped waiting for a publish or declare.
constexpr char kStop[] = "the stop";
constexpr char kConsumerEnd[] = "the consumer whose handler waits for it was destroyed";

absl::StatusOr<amqp::ConnectionOptions> ConnectionOf(const ClientOptions& options) {
  std::vector<std::string> urls = {options.url};
  urls.insert(urls.end(), options.more_urls.begin(), options.more_urls.end());
  if (options.url_source != nullptr) {
    absl::StatusOr<std::vector<std::string>> now = options.url_source();
    if (!now.ok()) return now.status();
    urls = *std::move(now);
  }
  absl::StatusOr<amqp::ConnectionOptions> connection = amqp::ParseUris(urls);
  if (!connection.ok()) return connection;
  if (!options.name.empty()) connection->connection_name = options.name;
  connection->read_coalescing = options.read_coalescing;
  const absl::Status usable = amqp::Validate(*connection);
  if (!usable.ok()) return usable;
  return connection;
}

// Joins both errors, so that users can correct all mistakes at once.
absl::Status Join(const absl::Status& a, const absl::Status& b) {
  if (a.ok()) return b;
  if (b.ok()) return a;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(a.message()), "; ", std::string(b.message())));
}

absl::Status ValidateClient(const ClientOptions& options, absl::Duration heartbeat) {
  absl::Status status = Validate(options.delay_queues, heartbeat);
  if (options.max_open_publishes > 0) return status;
  return Join(status, absl::InvalidArgumentError("max_open_publishes must be above zero"));
}

absl::Status ValidateTimes(const OutgoingMessage& message) {
  absl::Status status;
  if (message.timestamp &&
      (*message.timestamp < absl::UnixEpoch() || *message.timestamp == absl::InfiniteFuture())) {
    status = absl::InvalidArgumentError("timestamp must be 1970 or later, and finite");
  }
  if (message.expiration &&
      (*message.expiration < absl::ZeroDuration() || *message.expiration > kMaxQueueLifetime)) {
    status = Join(status,
                  absl::InvalidArgumentError(absl::StrCat(
                      "expiration must be between 0 and ", absl::FormatDuration(kMaxQueueLifetime),
                      ", but is ", absl::FormatDuration(*message.expiration))));
  }
  return status;
}

// Refuses a message that would close the connection, which would delay other publishes.
absl::Status ValidateMessage(const OutgoingMessage& message) {
  const absl::StatusOr<std::string> headers = message.headers.Encode();
  absl::Status status = headers.ok() ? amqp::TableView(*headers).CheckFinite() : headers.status();
  if (!status.ok()) {
    status = absl::InvalidArgumentError(absl::StrCat("headers: ", std::string(status.message())));
  }
  const std::pair<const char*, const std::string&> names[] = {
      {"exchange", message.exchange},
      {"routing_key", message.routing_key},
      {"content_type", message.content_type},
      {"message_id", message.message_id},
      {"content_encoding", message.content_encoding},
      {"correlation_id", message.correlation_id},
      {"reply_to", message.reply_to},
      {"type", message.type},
      {"app_id", message.app_id},
      {"user_id", message.user_id}};
  for (const auto& [field, name] : names) {
    if (name.size() <= kMaxNameSize) continue;
    status = Join(
        status, absl::InvalidArgumentError(absl::StrCat(field, " must be at most 255 bytes long")));
  }
  const bool names_queue = message.exchange.empty();
  if ((names_queue ? message.routing_key : message.exchange).find('\0') != std::string::npos) {
    status = Join(status, absl::InvalidArgumentError(absl::StrCat(
                              names_queue ? "routing_key" : "exchange", " must not contain NUL")));
  }
  return Join(status, ValidateTimes(message));
}

// Returns the declaration for a consumer, with its queue's name.
WorkQueue Named(WorkQueue work_queue, const std::string& queue) {
  if (work_queue.name.empty()) work_queue.name = queue;
  return work_queue;
}

constexpr absl::Duration kLongestConsumerTimeout = absl::Hours(24 * 3650);
constexpr int kMostHandlerThreads = 1024;
constexpr std::uint64_t kMostMaxBody = std::uint64_t{512} << 20;

constexpr char kPriorityArgument[] = "x-priority";
constexpr char kTimeoutArgument[] = "x-consumer-timeout";

absl::Status ValidateConsumer(const ConsumerOptions& options) {
  absl::Status status;
  if (options.prefetch == 0) {
    status = absl::InvalidArgumentError("prefetch must be 1 to 65535: it bounds memory");
  }
  if (options.max_body == 0 || options.max_body > kMostMaxBody) {
    status =
        Join(status, absl::InvalidArgumentError(absl::StrCat("max_body must be 1 to ", kMostMaxBody,
                                                             ", but is ", options.max_body)));
  }
  if (options.handler_threads < 0 || options.handler_threads > kMostHandlerThreads) {
    status = Join(status, absl::InvalidArgumentError(absl::StrCat("handler_threads must be 0 to ",
                                                                  kMostHandlerThreads, ", but is ",
                                                                  options.handler_threads)));
  }
  const absl::Duration timeout = options.consumer_timeout;
  if (timeout != absl::ZeroDuration() &&
      (timeout < absl::Milliseconds(1) || timeout > kLongestConsumerTimeout)) {
    status = Join(status, absl::InvalidArgumentError(absl::StrCat(
                              "consumer_timeout must be between 1ms and 3650 days (0: as the "
                              "broker is configured), but is ",
                              absl::FormatDuration(timeout))));
  }
  if (options.arguments.Find(kPriorityArgument) != nullptr) {
    status = Join(
        status, absl::InvalidArgumentError("arguments must not contain x-priority: set priority"));
  }
  if (options.arguments.Find(kTimeoutArgument) != nullptr) {
    status = Join(status,
                  absl::InvalidArgumentError("arguments must not contain x-consumer-timeout: set "
                                             "consumer_timeout"));
  }
  status = Join(status, ValidateArguments(options.arguments));
  if (options.breaker) status = Join(status, Validate(*options.breaker));
  if (!options.declare) return status;
  if (!options.declare->name.empty() && options.declare->name != options.queue) {
    status = Join(status, absl::InvalidArgumentError(
                              "declare.name must be empty, or the queue that is consumed"));
  }
  // A queue without a name is reported elsewhere.
  if (!options.queue.empty()) {
    status = Join(status, Validate(Named(*options.declare, options.queue)));
  }
  return status;
}

absl::Status TooManyPublishes(std::size_t open) {
  return absl::ResourceExhaustedError(
      absl::StrCat("max_open_publishes: ", open,
                   " publishes are unanswered; wait for one of them, or raise it"));
}

// Longer than any wait makes sense; a longer deadline is no deadline.
constexpr absl::Duration kLongestWait = absl::Hours(24 * 365);
// How much later than its deadline a publish is answered if the loop runs.
constexpr absl::Duration kLoopPatience = absl::Seconds(1);

// The callback of a call to the client. Calls it at most once, and keeps exceptions from leaving
// it.
class Answer {
 public:
  // `threw`: see CallUser. `who` names the callback.
  Answer(const char* who, Client::Done done, std::function<void(absl::Status)> threw)
      : who_(who), done_(std::move(done)), threw_(std::move(threw)) {}
  Answer(Answer&& other) noexcept
      : who_(other.who_),
        done_(std::exchange(other.done_, nullptr)),
        threw_(std::move(other.threw_)),
        always_(other.always_) {}
  Answer& operator=(Answer&&) = delete;
  ~Answer() {
    if (!always_) return;
    std::move (*this)(absl::CancelledError(
        "the client or its loop was destroyed or has drained, or the handler that published was "
        "abandoned, before the publish was confirmed; the message may still arrive"));
  }

  // From now on the callback is called even if this object is destroyed before: with kCancelled.
  void AlwaysCall() { always_ = true; }

  void operator()(absl::Status status) && {
    Client::Done done = std::exchange(done_, nullptr);
    if (done == nullptr) return;
    CallUser(who_, threw_, [&] { std::move(done)(std::move(status)); });
  }

 private:
  const char* const who_;
  Client::Done done_;
  std::function<void(absl::Status)> threw_;
  bool always_ = false;
};

}  // namespace

// What publishers share with their client. Thread-safe, except `client`.
class Publisher::Link {
 public:
  Link(std::shared_ptr<Executor> executor, AlivePtr<Client::Impl> client, std::size_t limit,
       std::function<void(absl::Status)> threw)
      : executor_(std::move(executor)), client_(std::move(client)), limit_(limit), threw_(threw) {}

  void Publish(const std::shared_ptr<Link>& self, OutgoingMessage message,
               const PublishOptions& options, Publisher::Done done);

  Executor& executor() const { return *executor_; }

  // Number of publishes that are on their way to the loop's thread.
  std::size_t posted() const { return posted_.load(std::memory_order_relaxed); }
  void SetOpen(std::size_t open) { open_.store(open, std::memory_order_relaxed); }
  // From now on publishes are cancelled.
  void Close() { closed_.store(true, std::memory_order_relaxed); }

 private:
  // Counts a publish that is on its way.
  class Posted {
   public:
    explicit Posted(std::shared_ptr<Link> link) : link_(std::move(link)) {}
    Posted(Posted&&) noexcept = default;
    ~Posted() { Arrive(); }
    // Ends the count. Returns the client, or null if it is gone; for the loop's thread.
    Client::Impl* Arrive();
    const std::shared_ptr<Link>& link() const { return link_; }

   private:
    std::shared_ptr<Link> link_;
  };

  const OwnProcess process_;
  const std::shared_ptr<Executor> executor_;
  const AlivePtr<Client::Impl> client_;  // used on the loop's thread
  const std::size_t limit_;
  const std::function<void(absl::Status)> threw_;
  std::atomic<std::size_t> open_ = 0;
  std::atomic<std::size_t> posted_ = 0;
  std::atomic<bool> closed_ = false;
};

class Client::Impl {
 public:
  Impl(EventLoop& loop, ClientOptions options)
      : Impl(EnvironmentOn(loop, options), FailureOf(loop), KeepThrown, std::move(options)) {
    const absl::StatusOr<amqp::ConnectionOptions> connection = ConnectionOf(options_);
    if (!connection.ok()) {
      invalid_ =
          Join(connection.status(), ValidateClient(options_, amqp::ConnectionOptions().heartbeat));
      return;
    }
    invalid_ = ValidateClient(options_, connection->heartbeat);
    if (!invalid_.ok()) return;
    amqp::OptionsSource source;
    if (options_.url_source != nullptr)
      source = [options = options_] { return ConnectionOf(options); };
    std::unique_ptr<Broker> broker = amqp::MakeBroker(loop, *connection, source);
    Broker& owned = *broker;
    Open(owned, std::move(broker));
    DrainWith(loop);
  }

  Impl(EventLoop& loop, Broker& broker, ClientOptions options)
      : Impl(EnvironmentOn(loop, options), broker, FailureOf(loop), KeepThrown,
             std::move(options)) {
    DrainWith(loop);
  }

  // `threw`: see CallUser.
  Impl(Environment environment, Broker& broker, std::function<void(absl::Status)> fatal,
       std::function<void(absl::Status)> threw, ClientOptions options)
      : Impl(std::move(environment), std::move(fatal), std::move(threw), std::move(options)) {
    invalid_ = ValidateClient(options_, broker.heartbeat());
    if (invalid_.ok()) Open(broker);
  }

  // Stops all callbacks: the observer, which may be destroyed, and those of publishes and declares.
  ~Impl() { StopCalling(); }

  // Called by the client's destructor. If the user's code was called from the middle of this
  // library's, the object lives until that call is over.
  static void Destroy(std::unique_ptr<Impl> impl) {
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

  template <typename SomeHandler>
  absl::StatusOr<Consumer> Consume(ConsumerOptions options, SomeHandler handler);

  void Publish(OutgoingMessage message, const PublishOptions& options, Answer answer);
  void Declare(WorkQueue work_queue, const DeclareOptions& options, Answer answer);

  Answer PublishAnswer(Done done) const {
    return {"the callback of Client::Publish", std::move(done), threw_};
  }
  Answer DeclareAnswer(Done done) const {
    return {"the callback of Client::Declare", std::move(done), threw_};
  }

  const std::shared_ptr<Publisher::Link>& link() const { return link_; }
  bool muted() const { return muted_; }

  // Returns whether the object is of this process. Ends it if the calling thread is the wrong one.
  bool Check(const char* function) const {
    if (!process_.is_here()) return false;
    CheckThread(*environment_.executor, function);
    return true;
  }

 private:
  Impl(Environment environment, std::function<void(absl::Status)> fatal,
       std::function<void(absl::Status)> threw, ClientOptions options)
      : environment_(std::move(environment)),
        fatal_(std::move(fatal)),
        threw_(std::move(threw)),
        options_(std::move(options)) {}

  static Environment EnvironmentOn(EventLoop& loop, const ClientOptions& options) {
    return {.clock = &loop.clock(),
            .timers = &loop,
            .random = &loop.random(),
            .executor = loop.executor(),
            .observer = options.observer};
  }
  static std::function<void(absl::Status)> FailureOf(EventLoop& loop) {
    return [&loop](absl::Status error) { loop.Fail(std::move(error)); };
  }

  void Open(Broker& broker, std::unique_ptr<Broker> owned = nullptr) {
    shared_ =
        SharedState::Create(broker, environment_, options_.delay_queues, std::move(owned), threw_);
  }
  void StopCalling() {
    muted_ = true;
    drain_.reset();
    if (shared_ != nullptr) shared_->StopObserving();
    for (const auto& [number, publish] : publishes_) publish->StopCalling();
    for (const auto& [number, declare] : declares_) declare->StopCalling();
  }
  void DrainWith(EventLoop& loop) {
    if (shared_ == nullptr) return;
    drain_ = loop.OnDrain([this](EventLoop::DrainDone done) { Drain(std::move(done)); });
  }

  // See Consumer::Impl.
  std::function<void(const WorkOrigin&)> GiveUpWork() const {
    return [self = lifeline_.ptr()](const WorkOrigin& origin) {
      if (!self) return;
      const auto is_of = [&](const auto& open) { return open.origin() == origin; };
      self->GiveUp(self->declares_, self->next_declare_, absl::StatusCode::kCancelled, kConsumerEnd,
                   is_of);
      if (!self) return;
      self->GiveUp(self->publishes_, self->next_publish_, absl::StatusCode::kCancelled,
                   kConsumerEnd, is_of);
    };
  }

  // Consumers that outlive the client do not report errors. `on_failed`: the consumer's own
  // callback, or null.
  std::function<void(absl::Status)> Fatal(std::function<void(absl::Status)> on_failed) const {
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

  void Drain(EventLoop::DrainDone done);
  // Answers the calls before number `end`. Their callbacks may do anything.
  template <typename Open, typename Filter>
  void GiveUp(Open& all, std::uint64_t end, absl::StatusCode code, const char* what,
              const Filter& filter) {
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
  void FinishPublishes(std::function<void()> finished);
  void FinishOpen(std::function<void()> finished);
  void WatchPublishes();
  void AnswerLater(Answer answer, absl::Status status);

  const OwnProcess process_;
  const Environment environment_;
  const std::function<void(absl::Status)> fatal_;
  const std::function<void(absl::Status)> threw_;
  const ClientOptions options_;
  absl::Status invalid_;
  std::shared_ptr<SharedState> shared_;
  const std::shared_ptr<ConsumerSet> consumers_ = std::make_shared<ConsumerSet>();
  std::map<std::uint64_t, std::unique_ptr<DelayedPublish>> publishes_;
  std::uint64_t next_publish_ = 0;
  std::uint64_t answered_publishes_ = 0;
  std::map<std::uint64_t, std::unique_ptr<PendingDeclare>> declares_;
  std::uint64_t next_declare_ = 0;
  std::shared_ptr<void> drain_;
  std::unique_ptr<Timer> drain_watch_;
  std::function<void()> publishes_finished_;  // set during a stop
  bool muted_ = false;
  Lifeline<Impl> lifeline_{this};
  const std::shared_ptr<Publisher::Link> link_ = std::make_shared<Publisher::Link>(
      environment_.executor, lifeline_.ptr(), options_.max_open_publishes, threw_);
};

template <typename SomeHandler>
absl::StatusOr<Consumer> Client::Impl::Consume(ConsumerOptions options, SomeHandler handler) {
  RetrierOptions of_retrier{.queue = options.queue,
                            .work_exchange = std::move(options.work_exchange),
                            .retry = std::move(options.retry),
                            .parked_queue = std::move(options.parked_queue),
                            .share_retries = options.share_retries,
                            .former_queues = std::move(options.former_queues)};
  absl::Status valid =
      Join(Join(invalid_, ValidateConsumer(options)), Validate(of_retrier, options_.delay_queues));
  if (handler == nullptr) {
    valid = Join(valid, absl::InvalidArgumentError("the handler must not be empty"));
  }
  if (!valid.ok()) return valid;
  absl::StatusOr<std::unique_ptr<ConsumerRetrier>> retrier =
      ConsumerRetrier::Create(shared_, std::move(of_retrier));
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

void Client::Impl::Publish(OutgoingMessage message, const PublishOptions& options, Answer answer) {
  absl::Status valid =
      Join(invalid_, ValidateDelay(options, environment_.clock->Now(), options_.delay_queues));
  valid = Join(valid, ValidateMessage(message));
  if (message.expiration && (options.at || options.delay > absl::ZeroDuration())) {
    valid =
        Join(valid, absl::InvalidArgumentError(
                        "expiration cannot be combined with a delay, which it would end early"));
  }
  if (const std::size_t open = publishes_.size() + link_->posted();
      valid.ok() && open >= options_.max_open_publishes) {
    valid = TooManyPublishes(open);
  }
  if (!valid.ok()) return AnswerLater(std::move(answer), std::move(valid));
  const std::uint64_t number = next_publish_++;
  auto publish = std::make_unique<DelayedPublish>(
      shared_, std::move(message), options,
      [this, number, answer = std::move(answer)](absl::Status status) mutable {
        const auto finished = publishes_.extract(number);  // kept until `answer` has returned
        link_->SetOpen(publishes_.size());
        ++answered_publishes_;
        if (publishes_.empty() && publishes_finished_ != nullptr) {
          environment_.executor->Post(std::exchange(publishes_finished_, nullptr));
        }
        std::move(answer)(std::move(status));
      });
  DelayedPublish& started = *publish;
  publishes_.emplace(number, std::move(publish));
  link_->SetOpen(publishes_.size());
  if (!shared_->is_amid()) return started.Start();
  // An observer may be called in the middle of a change that a publish would interfere with.
  environment_.executor->Post([self = lifeline_.ptr(), number] {
    if (!self) return;
    const auto found = self->publishes_.find(number);
    if (found != self->publishes_.end()) found->second->Start();
  });
}

void Client::Impl::Declare(WorkQueue work_queue, const DeclareOptions& options, Answer answer) {
  absl::Status valid = Join(invalid_, Validate(work_queue));
  if (!valid.ok()) return AnswerLater(std::move(answer), std::move(valid));
  const std::uint64_t number = next_declare_++;
  auto declare = std::make_unique<PendingDeclare>(
      shared_, std::move(work_queue), options,
      [this, number, answer = std::move(answer)](absl::Status status) mutable {
        const auto finished = declares_.extract(number);  // kept until `answer` has returned
        std::move(answer)(std::move(status));
      });
  PendingDeclare& started = *declare;
  declares_.emplace(number, std::move(declare));
  if (!shared_->is_amid()) return started.Start();
  environment_.executor->Post([self = lifeline_.ptr(), number] {
    if (!self) return;
    const auto found = self->declares_.find(number);
    if (found != self->declares_.end()) found->second->Start();
  });
}

void Client::Impl::AnswerLater(Answer answer, absl::Status status) {
  environment_.executor->Post(
      [self = lifeline_.ptr(), answer = std::move(answer), status = std::move(status)]() mutable {
        if (self && !self->muted_) std::move(answer)(std::move(status));
      });
}

// Drains the consumers first, whose last acks must reach the broker, then closes the connections.
void Client::Impl::Drain(EventLoop::DrainDone done) {
  if (!process_.is_here()) return;
  const AlivePtr<Impl> alive = lifeline_.ptr();
  // Declares that are made in these callbacks have their own deadline.
  GiveUp(declares_, next_declare_, absl::StatusCode::kUnavailable, kStop,
         [](const auto&) { return true; });
  if (!alive || muted_) return;
  WatchPublishes();
  const auto close = [self = lifeline_.ptr(), done = std::move(done)] {
    if (!self) return;
    self->FinishPublishes([self, done] {
      if (!self) return;
      self->link_->Close();
      self->shared_->broker().Close(done);
    });
  };
  if (consumers_->empty()) return close();
  auto left = std::make_shared<std::size_t>(consumers_->size());
  for (Consumer::Impl* consumer : ConsumerSet(*consumers_)) {
    consumer->Drain(absl::InfiniteDuration(), [left, close](bool) {
      if (--*left == 0) close();
    });
  }
}

// Waits for open publishes as long as some of them are still being answered.
void Client::Impl::FinishPublishes(std::function<void()> finished) {
  if (link_->posted() == 0) return FinishOpen(std::move(finished));
  // Those that other threads have posted begin before this work.
  environment_.executor->Post([self = lifeline_.ptr(), finished = std::move(finished)] {
    if (self && !self->muted_) self->FinishOpen(finished);
  });
}

void Client::Impl::FinishOpen(std::function<void()> finished) {
  if (publishes_.empty()) return finished();
  publishes_finished_ = std::move(finished);
  shared_->publisher().RetryNow();
}

// Runs from the beginning of a stop, because handlers may wait for publishes. If no publish is
// answered in this time, those that were open all the time fail as not confirmed.
void Client::Impl::WatchPublishes() {
  drain_watch_ = environment_.timers->After(
      kPublishPatience, [this, answered = answered_publishes_, end = next_publish_] {
        const std::unique_ptr<Timer> fired = std::move(drain_watch_);
        if (publishes_.empty() || answered_publishes_ != answered) return WatchPublishes();
        shared_->RequeueFailures();
        const AlivePtr<Impl> self = lifeline_.ptr();
        GiveUp(publishes_, end, absl::StatusCode::kUnavailable, kStop,
               [](const auto&) { return true; });
        if (!self || muted_) return;
        // Publishes that are made in these callbacks are not waited for.
        if (publishes_finished_ != nullptr) return std::exchange(publishes_finished_, nullptr)();
        WatchPublishes();
      });
}

Client::Client(EventLoop& loop, ClientOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(options))) {}

Client::Client(EventLoop& loop, Broker& broker, ClientOptions options)
    : impl_(std::make_unique<Impl>(loop, broker, std::move(options))) {}

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
  impl_->Publish(std::move(message), options, impl_->PublishAnswer(std::move(done)));
}

void Client::Publish(OutgoingMessage message, Done done) {
  Publish(std::move(message), {}, std::move(done));
}

void Client::Declare(WorkQueue work_queue, DeclareOptions options, Done done) {
  if (!impl_->Check("Client::Declare")) return;
  impl_->Declare(std::move(work_queue), options, impl_->DeclareAnswer(std::move(done)));
}

void Client::Declare(WorkQueue work_queue, Done done) {
  Declare(std::move(work_queue), {}, std::move(done));
}

Publisher Client::publisher() const { return Publisher(impl_->link()); }

Client::Impl* Publisher::Link::Posted::Arrive() {
  const std::shared_ptr<Link> link = std::move(link_);
  if (link == nullptr) return nullptr;
  link->posted_.fetch_sub(1, std::memory_order_relaxed);
  return link->client_.get();
}

void Publisher::Link::Publish(const std::shared_ptr<Link>& self, OutgoingMessage message,
                              const PublishOptions& options, Publisher::Done done) {
  Answer answer("the callback of Publisher::Publish", std::move(done), threw_);
  answer.AlwaysCall();
  if (!process_.is_here() || closed_.load(std::memory_order_relaxed)) return;
  // A message must not overtake those that the same thread has posted.
  if (executor_->thread() == Executor::Thread::kThis && posted() == 0 && client_) {
    if (!client_->muted()) client_->Publish(std::move(message), options, std::move(answer));
    return;
  }
  Posted place(self);
  const std::size_t before = posted_.fetch_add(1, std::memory_order_relaxed);
  const std::size_t open = before + open_.load(std::memory_order_relaxed);
  if (open >= limit_) return std::move(answer)(TooManyPublishes(open));
  executor_->Post([place = std::move(place), message = std::move(message), options,
                   answer = std::move(answer)]() mutable {
    const std::shared_ptr<Link> link = place.link();
    Client::Impl* const client = place.Arrive();
    if (client == nullptr || client->muted() || link->closed_) return;
    client->Publish(std::move(message), options, std::move(answer));
  });
}

Publisher::Publisher(std::shared_ptr<Link> link) : link_(std::move(link)) {}

void Publisher::Publish(OutgoingMessage message, PublishOptions options, Done done) const {
  link_->Publish(link_, std::move(message), options, std::move(done));
}

std::future<absl::Status> Publisher::Publish(OutgoingMessage message,
                                             PublishOptions options) const {
  std::promise<absl::Status> promise;
  std::future<absl::Status> result = promise.get_future();
  Publish(std::move(message), options, [promise = std::move(promise)](absl::Status status) mutable {
    promise.set_value(std::move(status));
  });
  return result;
}

absl::Status Publisher::PublishAndWait(OutgoingMessage message, PublishOptions options) const {
  const Executor::Thread thread = link_->executor().thread();
  if (thread == Executor::Thread::kThis || thread == Executor::Thread::kLast) {
    return absl::FailedPreconditionError(
        "PublishAndWait was called on the thread of the event loop, which must not wait for "
        "itself; "
        "remedy: call Publish with a callback, or set handler_threads");
  }
  if (const std::shared_ptr<AnswerForPool> answer = AnswerForPool::Make(); answer != nullptr) {
    Publish(std::move(message), options,
            [answer](absl::Status status) { answer->Set(std::move(status)); });
    return answer->Wait();
  }
  std::future<absl::Status> result = Publish(std::move(message), options);
  if (options.deadline < kLongestWait &&
      result.wait_for(absl::ToChronoNanoseconds(options.deadline + kLoopPatience)) !=
          std::future_status::ready) {
    return absl::UnavailableError(
        "the event loop has not answered the publish in time; the message may still arrive; "
        "remedy: see that the loop runs, and that no handler blocks it");
  }
  return result.get();
}

}  // namespace retryq
