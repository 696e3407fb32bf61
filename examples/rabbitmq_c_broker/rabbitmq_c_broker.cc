#include "rabbitmq_c_broker.h"

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "publishing.h"
#include "queue_subscription.h"
#include "retryq/amqp/connection_options.h"

namespace examples {
namespace {

class RabbitmqCBroker final : public retryq::Broker {
 public:
  RabbitmqCBroker(std::shared_ptr<retryq::Executor> loop, retryq::amqp::ConnectionOptions options,
                  const std::string& name)
      : loop_(std::move(loop)),
        options_(std::move(options)),
        name_(name),
        publishing_(options_, name + " publish", loop_) {}

  void SetListener(retryq::BrokerListener* listener) override { publishing_.SetListener(listener); }
  void Declare(retryq::DeclareParams params, DeclareCallback done) override {
    publishing_.Declare(std::move(params), std::move(done));
  }
  void CheckExchange(std::string name, std::function<void(absl::Status)> done) override {
    publishing_.CheckExchange(std::move(name), std::move(done));
  }
  void Publish(const retryq::PublishParams& params, PublishCallback done) override {
    publishing_.Publish(params, std::move(done));
  }

  std::unique_ptr<retryq::Subscription> Consume(retryq::ConsumeParams params,
                                                retryq::SubscriptionListener* listener) override {
    return std::make_unique<QueueSubscription>(options_, name_ + " consume", loop_,
                                               std::move(params), listener, subscriptions_);
  }
  // The one whose connection it came by takes it, the others drop it.
  void Ack(retryq::amqp::DeliveryTag tag) override {
    for (QueueSubscription* subscription : subscriptions_) subscription->Ack(tag);
  }
  void Reject(retryq::amqp::DeliveryTag tag, bool requeue) override {
    for (QueueSubscription* subscription : subscriptions_) subscription->Reject(tag, requeue);
  }

  void Reconnect(const absl::Status& why) override { publishing_.Reconnect(why); }

  void Close(std::function<void()> closed) override {
    const auto open = std::make_shared<std::size_t>(1 + subscriptions_.size());
    const auto one_closed = [open, closed = std::move(closed)] {
      if (--*open == 0) closed();
    };
    publishing_.Close(one_closed);
    for (QueueSubscription* subscription : subscriptions_) subscription->Close(one_closed);
  }

  std::size_t unsent_bytes() const override { return publishing_.unsent_bytes(); }
  std::size_t max_header_size() const override { return publishing_.max_header_size(); }
  std::string server_version() const override { return publishing_.server_version(); }
  absl::Duration heartbeat() const override { return options_.heartbeat; }

 private:
  const std::shared_ptr<retryq::Executor> loop_;
  const retryq::amqp::ConnectionOptions options_;
  const std::string name_;
  Subscriptions subscriptions_;
  Publishing publishing_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<retryq::Broker>> MakeRabbitmqCBroker(
    std::shared_ptr<retryq::Executor> loop, std::string_view url, const std::string& name) {
  absl::StatusOr<retryq::amqp::ConnectionOptions> options = retryq::amqp::ParseUri(url);
  if (!options.ok()) return options.status();
  if (options->tls) {
    return absl::InvalidArgumentError("amqps:// is not for this broker; give an amqp:// URL");
  }
  return std::make_unique<RabbitmqCBroker>(std::move(loop), *std::move(options), name);
}

}  // namespace examples
