#include "retryq/client.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "retry/consumer_impl.h"
#include "retry/delayed_publish.h"
#include "retry/hub.h"
#include "retryq/amqp/make_broker.h"

namespace retryq {
namespace {

absl::StatusOr<amqp::ConnectionOptions> ConnectionOf(const ClientOptions& options) {
  std::vector<std::string> urls = {options.url};
  urls.insert(urls.end(), options.more_urls.begin(), options.more_urls.end());
  absl::StatusOr<amqp::ConnectionOptions> connection = amqp::ParseUris(urls);
  if (!connection.ok()) return connection;
  if (!options.name.empty()) connection->connection_name = options.name;
  connection->read_coalescing = options.read_coalescing;
  const absl::Status usable = amqp::Validate(*connection);
  if (!usable.ok()) return usable;
  return connection;
}

// Both errors in one, as users want to mend all at once.
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

absl::Status ValidateConsumer(const ConsumerOptions& options) {
  absl::Status status;
  if (options.prefetch == 0) {
    status = absl::InvalidArgumentError("prefetch must be 1 to 65535: it bounds memory");
  }
  if (options.handler_threads < 0) {
    status = Join(status, absl::InvalidArgumentError("handler_threads must not be negative"));
  }
  return status;
}

}  // namespace

class Client::Impl {
 public:
  Impl(EventLoop& loop, ClientOptions options)
      : Impl(EnvironmentOn(loop, options), FailureOf(loop), std::move(options)) {
    const absl::StatusOr<amqp::ConnectionOptions> connection = ConnectionOf(options_);
    if (!connection.ok()) {
      invalid_ = Join(connection.status(), ValidateClient(options_, absl::Seconds(15)));
      return;
    }
    invalid_ = ValidateClient(options_, connection->heartbeat);
    if (!invalid_.ok()) return;
    owned_broker_ = amqp::MakeBroker(loop, *connection);
    Open(*owned_broker_);
    DrainWith(loop);
  }

  Impl(EventLoop& loop, Broker& broker, ClientOptions options)
      : Impl(EnvironmentOn(loop, options), broker, FailureOf(loop), std::move(options)) {
    DrainWith(loop);
  }

  Impl(Environment environment, Broker& broker, std::function<void(absl::Status)> fatal,
       ClientOptions options)
      : Impl(std::move(environment), std::move(fatal), std::move(options)) {
    invalid_ = ValidateClient(options_, absl::Seconds(15));
    if (invalid_.ok()) Open(broker);
  }

  template <typename SomeHandler>
  absl::StatusOr<Consumer> Consume(ConsumerOptions options, SomeHandler handler);

  void Publish(OutgoingMessage message, const PublishOptions& options,
               std::function<void(absl::Status)> done);

 private:
  Impl(Environment environment, std::function<void(absl::Status)> fatal, ClientOptions options)
      : environment_(std::move(environment)),
        fatal_(std::move(fatal)),
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

  void Open(Broker& broker) {
    hub_ = std::make_shared<Hub>(broker, environment_, options_.delay_queues);
  }
  void DrainWith(EventLoop& loop) {
    if (hub_ == nullptr) return;
    drain_ = loop.OnDrain([this](EventLoop::DrainDone done) { Drain(std::move(done)); });
  }

  void Drain(EventLoop::DrainDone done);
  absl::StatusOr<std::unique_ptr<Retrier>> MakeRetrier(ConsumerOptions options) const;
  void AnswerLater(std::function<void(absl::Status)> done, absl::Status status);

  const Environment environment_;
  const std::function<void(absl::Status)> fatal_;
  const ClientOptions options_;
  absl::Status invalid_;
  std::unique_ptr<Broker> owned_broker_;
  std::shared_ptr<Hub> hub_;
  ConsumerSet consumers_;
  std::map<std::uint64_t, std::unique_ptr<DelayedPublish>> publishes_;
  std::uint64_t next_publish_ = 0;
  std::shared_ptr<void> drain_;
};

absl::StatusOr<std::unique_ptr<Retrier>> Client::Impl::MakeRetrier(ConsumerOptions options) const {
  RetrierOptions retrier{.queue = std::move(options.queue),
                         .work_exchange = std::move(options.work_exchange),
                         .retry = std::move(options.retry),
                         .parked_queue = std::move(options.parked_queue),
                         .skip_others = options.skip_others};
  return Retrier::Create(hub_, std::move(retrier));
}

template <typename SomeHandler>
absl::StatusOr<Consumer> Client::Impl::Consume(ConsumerOptions options, SomeHandler handler) {
  const absl::Status own = Join(invalid_, ValidateConsumer(options));
  if (hub_ == nullptr) return own;
  absl::StatusOr<std::unique_ptr<Retrier>> retrier = MakeRetrier(options);
  if (absl::Status all = Join(own, retrier.status()); !all.ok()) return all;

  ConsumeParams params{
      .queue = options.queue, .prefetch = options.prefetch, .consumer_tag = options.consumer_tag};
  auto consumer = std::make_unique<Consumer::Impl>(hub_, *std::move(retrier), std::move(params),
                                                   fatal_, &consumers_);
  if constexpr (std::is_same_v<SomeHandler, Handler>) {
    consumer->Start(std::move(handler), options.handler_threads);
  } else {
    consumer->Start(std::move(handler));
  }
  return Consumer(std::move(consumer));
}

void Client::Impl::Publish(OutgoingMessage message, const PublishOptions& options,
                           std::function<void(absl::Status)> done) {
  absl::Status valid =
      Join(invalid_, ValidateDelay(options, environment_.clock->Now(), options_.delay_queues));
  valid = Join(valid, message.headers.Encode().status());
  if (valid.ok() && publishes_.size() >= options_.max_open_publishes) {
    valid = absl::ResourceExhaustedError(
        absl::StrCat("max_open_publishes: ", publishes_.size(),
                     " publishes are unanswered; wait for one of them, or raise it"));
  }
  if (!valid.ok()) {
    AnswerLater(std::move(done), std::move(valid));
    return;
  }
  const std::uint64_t number = next_publish_++;
  auto publish = std::make_unique<DelayedPublish>(
      hub_, std::move(message), options,
      [this, number, done = std::move(done)](absl::Status status) {
        const auto finished = publishes_.extract(number);  // kept until `done` has returned
        done(std::move(status));
      });
  DelayedPublish& started = *publish;
  publishes_.emplace(number, std::move(publish));
  started.Start();
}

void Client::Impl::AnswerLater(std::function<void(absl::Status)> done, absl::Status status) {
  environment_.executor->Post(
      [done = std::move(done), status = std::move(status)] { done(status); });
}

// First the consumers, whose last acks must reach the broker, then the
// connections.
void Client::Impl::Drain(EventLoop::DrainDone done) {
  auto close = [this, done = std::move(done)] { hub_->broker().Close(done); };
  if (consumers_.empty()) {
    close();
    return;
  }
  auto left = std::make_shared<std::size_t>(consumers_.size());
  for (Consumer::Impl* consumer : ConsumerSet(consumers_)) {
    consumer->Drain(absl::InfiniteDuration(), [left, close](bool) {
      if (--*left == 0) close();
    });
  }
}

Client::Client(EventLoop& loop, ClientOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(options))) {}

Client::Client(EventLoop& loop, Broker& broker, ClientOptions options)
    : impl_(std::make_unique<Impl>(loop, broker, std::move(options))) {}

Client::Client(Environment environment, Broker& broker, ClientOptions options,
               std::function<void(absl::Status)> fatal)
    : impl_(std::make_unique<Impl>(std::move(environment), broker, std::move(fatal),
                                   std::move(options))) {}

Client::~Client() = default;

absl::StatusOr<Consumer> Client::Consume(ConsumerOptions options, Handler handler) {
  return impl_->Consume(std::move(options), std::move(handler));
}

absl::StatusOr<Consumer> Client::Consume(ConsumerOptions options, AsyncHandler handler) {
  return impl_->Consume(std::move(options), std::move(handler));
}

void Client::Publish(OutgoingMessage message, PublishOptions options,
                     std::function<void(absl::Status)> done) {
  impl_->Publish(std::move(message), options, std::move(done));
}

}  // namespace retryq
