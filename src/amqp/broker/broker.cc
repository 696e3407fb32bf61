#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "amqp/broker/subscription.h"
#include "amqp/transport/process_name.h"
#include "retryq/amqp/connection.h"
#include "retryq/amqp/make_broker.h"

namespace retryq::amqp {
namespace {

// How long to wait for the broker's reply to a close, and for the end of an alarm, during which it
// does not read.
constexpr absl::Duration kCloseDeadline = absl::Seconds(5);
constexpr absl::Duration kCloseDeadlineIfBlocked = absl::Seconds(1);

ConnectionOptions Named(ConnectionOptions options, const char* purpose) {
  if (options.connection_name.empty()) options.connection_name = ProcessName();
  absl::StrAppend(&options.connection_name, " ", purpose);
  return options;
}

// For a connection that publishes copies of deliveries. The broker delivers header frames larger
// than the negotiated frame_max, and refuses them in a publish (F34 in doc/rabbitmq_facts.md), so
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

// A channel in confirm mode that exists as long as the connection does. If the broker closes it
// because of a publish, another channel replaces it at once for later publishes. If no channel can
// be opened, the connection is closed too.
class PublishChannel final : public ChannelListener {
 public:
  // `connection` must outlive this object.
  PublishChannel(Connection& connection, std::shared_ptr<Executor> executor)
      : connection_(connection),
        executor_(std::move(executor)),
        channel_(connection.OpenChannel(this)) {}

  // Call it when the connection is open again.
  void Open() {
    // Destroy the old channel after its postponed work.
    retired_->push_back(std::move(channel_));
    executor_->Post([weak = std::weak_ptr(retired_)] {
      if (const auto retired = weak.lock()) retired->clear();
    });
    channel_ = connection_.OpenChannel(this);
    // Without a channel nothing can be published, as without a connection, so the connection is
    // replaced, with the same pauses.
    channel_->ConfirmSelect([this](const absl::Status& status) {
      if (status.ok()) return;
      connection_.Reconnect(absl::UnavailableError(
          absl::StrCat("cannot open a channel to publish on: ", std::string(status.message()))));
    });
  }

  void Publish(const PublishParams& params, Broker::PublishCallback&& done) {
    // Callbacks of its publishes may publish again before a closed channel reports that itself.
    if (!channel_->is_open() && connection_.is_open()) Open();
    channel_->Publish(params, std::move(done));
  }

  // Drops all callbacks. Earlier publishes are still sent.
  void Forget() {
    Open();
    retired_->clear();
  }

 private:
  // The next publish opens another channel. Opening it here could fail and repeat endlessly.
  void OnChannelClosed(const ChannelError&) override {}

  Connection& connection_;
  const std::shared_ptr<Executor> executor_;
  std::unique_ptr<Channel> channel_;
  // Earlier channels, which may still have to answer publishes that came after they were closed.
  const std::shared_ptr<std::vector<std::unique_ptr<Channel>>> retired_ =
      std::make_shared<std::vector<std::unique_ptr<Channel>>>();
};

// Declares queues and exchanges. Each declare uses its own channel: if it hangs, it does not delay
// others, and if it is refused, only its channel is closed. Channels are reused.
class Topology {
 public:
  // `connection` must outlive this object.
  explicit Topology(Connection& connection) : connection_(connection) {}

  void Declare(const DeclareParams& params, Broker::DeclareCallback done) {
    const auto lane = Take();
    lane->channel().DeclareQueue(
        params.queue, [this, lane, params, done = std::move(done)](absl::StatusOr<DeclareOk> ok) {
          if (ok.ok() && params.exchange) return DeclareExchange(lane, params, *ok, done);
          Release(lane);
          done(std::move(ok));
        });
  }
  void CheckExchange(const std::string& name, std::function<void(absl::Status)> done) {
    const auto lane = Take();
    lane->channel().CheckExchange(name, [this, lane, done = std::move(done)](absl::Status status) {
      Release(lane);
      done(std::move(status));
    });
  }

  // Drops all callbacks.
  void Forget() { busy_.clear(); }

 private:
  static constexpr std::size_t kMostIdle = 8;

  // A channel that is idle or has one declare under way.
  class Lane final : public ChannelListener {
   public:
    explicit Lane(Topology& topology)
        : topology_(topology), channel_(topology.connection_.OpenChannel(this)) {}

    Channel& channel() { return *channel_; }

   private:
    // Its declare has been answered, which has released the lane or soon will.
    void OnChannelClosed(const ChannelError&) override {
      topology_.idle_.remove_if([this](const Lane& lane) { return &lane == this; });
    }

    Topology& topology_;
    std::unique_ptr<Channel> channel_;
  };
  using Lanes = std::list<Lane>;

  // Returns an idle lane, which is busy from then on.
  Lanes::iterator Take() {
    if (idle_.empty()) idle_.emplace_back(*this);
    busy_.splice(busy_.end(), idle_, std::prev(idle_.end()));
    return std::prev(busy_.end());
  }
  void Release(Lanes::iterator lane) {
    if (lane->channel().is_open() && idle_.size() < kMostIdle) {
      idle_.splice(idle_.end(), busy_, lane);
    } else {
      busy_.erase(lane);
    }
  }

  void DeclareExchange(Lanes::iterator lane, const DeclareParams& params, DeclareOk ok,
                       Broker::DeclareCallback done) {
    const auto finish = [this, lane, ok, done = std::move(done)](const absl::Status& status) {
      Release(lane);
      if (!status.ok()) return done(status);
      done(ok);
    };
    lane->channel().DeclareExchange(
        *params.exchange,
        [lane, finish, queue = params.queue.name, exchange = params.exchange->name,
         key = params.binding_key](const absl::Status& status) {
          if (!status.ok()) return finish(status);
          lane->channel().BindQueue(queue, exchange, key, Table(), finish);
        });
  }

  Connection& connection_;
  Lanes idle_;
  Lanes busy_;
};

// Publishes and declares on one connection, and consumes on another.
class RabbitBroker final : public Broker, private ConnectionListener {
 public:
  RabbitBroker(EventLoop& loop, const ConnectionOptions& options, const OptionsSource& source)
      : loop_(loop),
        heartbeat_(options.heartbeat),
        relay_to_{.options = WithFramesOfTheBroker(Named(options, "pass on")),
                  .source = WithFramesOfTheBroker(source, options.frame_max)},
        publishing_(loop, WithFramesOfTheBroker(Named(options, "publish")), this,
                    WithFramesOfTheBroker(source, options.frame_max)),
        consuming_(loop, Named(options, "consume"), &subscriptions_, source) {
    // Publishes come from deliveries, so the prefetch limits both.
    publishing_.FollowPaceOf(consuming_);
  }

  void SetListener(BrokerListener* listener) override {
    listener_ = listener;
    if (listener == nullptr) Forget();
  }

  void Declare(DeclareParams params, DeclareCallback done) override {
    topology_.Declare(params, std::move(done));
  }
  void CheckExchange(std::string name, std::function<void(absl::Status)> done) override {
    topology_.CheckExchange(name, std::move(done));
  }
  void Publish(const PublishParams& params, PublishCallback done) override {
    channel_.Publish(params, std::move(done));
  }

  std::unique_ptr<Subscription> Consume(ConsumeParams params,
                                        SubscriptionListener* listener) override {
    return std::make_unique<QueueSubscription>(loop_, consuming_, subscriptions_, relay_to_,
                                               std::move(params), listener);
  }
  void Ack(DeliveryTag tag) override { subscriptions_.Ack(tag); }
  void Reject(DeliveryTag tag, bool requeue) override { subscriptions_.Reject(tag, requeue); }

  void Reconnect(const absl::Status& why) override { publishing_.Reconnect(why); }

  void Close(std::function<void()> closed) override {
    const auto open = std::make_shared<int>(2);
    const auto one_closed = [open, closed = std::move(closed)] {
      if (--*open == 0) closed();
    };
    Forget();
    publishing_.Close(blocked_ ? kCloseDeadlineIfBlocked : kCloseDeadline, one_closed);
    subscriptions_.Forget();
    consuming_.Close(kCloseDeadline, one_closed);
  }

  std::size_t unsent_bytes() const override { return publishing_.unsent_bytes(); }

  std::size_t max_header_size() const override { return publishing_.max_header_size(); }
  // Deliveries can arrive before the publishing connection is open.
  std::string server_version() const override {
    const std::string version = publishing_.server_version();
    return version.empty() ? consuming_.server_version() : version;
  }
  // The broker may use a shorter interval.
  absl::Duration heartbeat() const override { return heartbeat_; }

 private:
  // Of the connection for publishing.
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

  EventLoop& loop_;
  const absl::Duration heartbeat_;
  const Relay::Target relay_to_;
  BrokerListener* listener_ = nullptr;
  bool blocked_ = false;
  Connection publishing_;
  Topology topology_{publishing_};
  PublishChannel channel_{publishing_, loop_.executor()};
  Subscriptions subscriptions_;
  Connection consuming_;
};

}  // namespace

std::unique_ptr<Broker> MakeBroker(EventLoop& loop, const ConnectionOptions& options,
                                   const OptionsSource& source) {
  return std::make_unique<RabbitBroker>(loop, options, source);
}

}  // namespace retryq::amqp
