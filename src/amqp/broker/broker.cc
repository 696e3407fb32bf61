#include <utility>

#include "absl/strings/str_cat.h"
#include "amqp/broker/publish_channel.h"
#include "amqp/broker/subscription.h"
#include "amqp/broker/topology.h"
#include "amqp/transport/process_name.h"
#include "retryq/amqp/connection.h"
#include "retryq/amqp/make_broker.h"

namespace retryq::amqp {
namespace {

// How long to wait for the broker's reply to a close, and while an alarm keeps it from reading.
constexpr absl::Duration kCloseDeadline = absl::Seconds(5);
constexpr absl::Duration kCloseDeadlineIfBlocked = absl::Seconds(1);

ConnectionOptions Named(ConnectionOptions options, const char* purpose) {
  if (options.connection_name.empty()) options.connection_name = ProcessName();
  absl::StrAppend(&options.connection_name, " ", purpose);
  return options;
}

// For a connection that publishes copies of deliveries. The broker delivers header frames larger
// than the negotiated frame_max, and refuses to take them back (F34 in doc/rabbitmq_facts.md), so
// this connection negotiates the broker's own limit.
ConnectionOptions WithFramesOfTheBroker(ConnectionOptions options) {
  options.frame_max = 0;
  return options;
}
// The same for a source, which must not change frame_max.
OptionsSource WithFramesOfTheBroker(const OptionsSource& source, std::uint32_t frame_max) {
  if (source == nullptr) return nullptr;
  return [source, frame_max] {
    absl::StatusOr<ConnectionOptions> now = source();
    if (now.ok() && now->frame_max == frame_max) now->frame_max = 0;
    return now;
  };
}

// The connection for publishing and declaring, with its channels.
class PublishEnd final : public ConnectionListener {
 public:
  PublishEnd(EventLoop& loop, ConnectionOptions options, OptionsSource source)
      : connection_(loop, std::move(options), this, std::move(source)),
        topology_(connection_),
        channel_(connection_, loop.executor()) {}

  void SetListener(BrokerListener* listener) {
    listener_ = listener;
    if (listener == nullptr) Forget();
  }
  void Close(std::function<void()> closed) {
    Forget();
    connection_.Close(blocked_ ? kCloseDeadlineIfBlocked : kCloseDeadline, std::move(closed));
  }

  void Reconnect(const absl::Status& why) { connection_.Reconnect(why); }

  Connection& connection() { return connection_; }
  const Connection& connection() const { return connection_; }
  Topology& topology() { return topology_; }
  PublishChannel& channel() { return channel_; }

 private:
  void OnOpen() override {
    channel_.Open();
    if (listener_ != nullptr) listener_->OnReady();
  }
  void OnLost(const absl::Status& why) override {
    blocked_ = false;
    if (listener_ != nullptr) listener_->OnLost(why);
  }
  void OnBlocked(bool blocked, std::string_view reason) override {
    blocked_ = blocked;
    if (listener_ != nullptr) listener_->OnBlocked(blocked, reason);
  }

  void Forget() {
    topology_.Forget();
    channel_.Forget();
  }

  BrokerListener* listener_ = nullptr;
  bool blocked_ = false;
  Connection connection_;
  Topology topology_;
  PublishChannel channel_;
};

// The connection for consuming, with the subscriptions on it.
class ConsumeEnd final : public ConnectionListener {
 public:
  ConsumeEnd(EventLoop& loop, ConnectionOptions options, OptionsSource source)
      : connection_(loop, std::move(options), this, std::move(source)) {}

  Connection& connection() { return connection_; }
  const Connection& connection() const { return connection_; }
  Subscriptions& subscriptions() { return subscriptions_; }

  void Close(absl::Duration deadline, std::function<void()> closed) {
    subscriptions_.Forget();
    connection_.Close(deadline, std::move(closed));
  }

 private:
  void OnOpen() override { subscriptions_.OnOpen(); }
  void OnLost(const absl::Status& why) override { subscriptions_.OnLost(why); }

  Subscriptions subscriptions_;
  Connection connection_;
};

class RabbitBroker final : public Broker {
 public:
  RabbitBroker(EventLoop& loop, const ConnectionOptions& options, const OptionsSource& source)
      : loop_(loop),
        heartbeat_(options.heartbeat),
        relay_to_{.options = WithFramesOfTheBroker(Named(options, "pass on")),
                  .source = WithFramesOfTheBroker(source, options.frame_max)},
        publish_end_(loop, WithFramesOfTheBroker(Named(options, "publish")),
                     WithFramesOfTheBroker(source, options.frame_max)),
        consume_end_(loop, Named(options, "consume"), source) {
    // Publishes come from deliveries, so the prefetch limits both.
    publish_end_.connection().FollowPaceOf(consume_end_.connection());
  }

  void SetListener(BrokerListener* listener) override { publish_end_.SetListener(listener); }

  void Declare(DeclareParams params, DeclareCallback done) override {
    publish_end_.topology().Declare(params, std::move(done));
  }
  void CheckExchange(std::string name, std::function<void(absl::Status)> done) override {
    publish_end_.topology().CheckExchange(name, std::move(done));
  }
  void Publish(const PublishParams& params, PublishCallback done) override {
    publish_end_.channel().Publish(params, std::move(done));
  }

  std::unique_ptr<Subscription> Consume(ConsumeParams params,
                                        SubscriptionListener* listener) override {
    return std::make_unique<QueueSubscription>(loop_, consume_end_.connection(),
                                               consume_end_.subscriptions(), relay_to_,
                                               std::move(params), listener);
  }
  void Ack(DeliveryTag tag) override { consume_end_.subscriptions().Ack(tag); }
  void Reject(DeliveryTag tag, bool requeue) override {
    consume_end_.subscriptions().Reject(tag, requeue);
  }

  void Reconnect(const absl::Status& why) override { publish_end_.Reconnect(why); }

  void Close(std::function<void()> closed) override {
    const auto open = std::make_shared<int>(2);
    const auto one_closed = [open, closed = std::move(closed)] {
      if (--*open == 0) closed();
    };
    publish_end_.Close(one_closed);
    consume_end_.Close(kCloseDeadline, one_closed);
  }

  std::size_t unsent_bytes() const override { return publish_end_.connection().unsent_bytes(); }

  std::size_t max_header_size() const override {
    return publish_end_.connection().max_header_size();
  }
  // Deliveries can arrive before the publishing connection is open.
  std::string server_version() const override {
    const std::string version = publish_end_.connection().server_version();
    return version.empty() ? consume_end_.connection().server_version() : version;
  }
  // The broker may use a shorter interval.
  absl::Duration heartbeat() const override { return heartbeat_; }

 private:
  EventLoop& loop_;
  const absl::Duration heartbeat_;
  const Relay::Target relay_to_;
  PublishEnd publish_end_;
  ConsumeEnd consume_end_;
};

}  // namespace

std::unique_ptr<Broker> MakeBroker(EventLoop& loop, const ConnectionOptions& options,
                                   const OptionsSource& source) {
  return std::make_unique<RabbitBroker>(loop, options, source);
}

}  // namespace retryq::amqp
