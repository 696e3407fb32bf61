#ifndef RETRYQ_TEST_BENCH_CALLS_QUIET_BROKER_H_
#define RETRYQ_TEST_BENCH_CALLS_QUIET_BROKER_H_

#include "retryq/broker/broker.h"
#include "retryq/broker/executor.h"
#include "support/standard.h"

namespace retryq::bench {

// A broker whose calls cost the same however many came before: it declares in the next turn of the
// loop and keeps publishes until they are confirmed.
class QuietBroker final : public Broker {
 public:
  explicit QuietBroker(std::shared_ptr<Executor> executor) : executor_(std::move(executor)) {}

  void Ready() { listener_->OnReady(); }
  void Block() { listener_->OnBlocked(true, "low on memory"); }
  std::size_t open() const { return open_.size(); }
  void ConfirmOne() {
    const PublishCallback done = std::move(open_.front());
    open_.pop_front();
    if (done != nullptr) done({.outcome = PublishOutcome::kConfirmed});
  }
  void ConfirmAll() {
    while (!open_.empty()) ConfirmOne();
  }
  SubscriptionListener& subscriber() { return *subscriber_; }

  void SetListener(BrokerListener* listener) override {
    listener_ = listener;
    if (listener == nullptr) open_.clear();
  }
  void Declare(DeclareParams /*params*/, DeclareCallback done) override {
    executor_->Post([done = std::move(done)] { done(DeclareOk{}); });
  }
  void CheckExchange(std::string /*name*/, std::function<void(absl::Status)> done) override {
    executor_->Post([done = std::move(done)] { done(absl::OkStatus()); });
  }
  void Publish(const PublishParams& /*params*/, PublishCallback done) override {
    open_.push_back(std::move(done));
  }
  std::unique_ptr<Subscription> Consume(ConsumeParams /*params*/,
                                        SubscriptionListener* listener) override {
    subscriber_ = listener;
    return std::make_unique<QuietSubscription>(executor_);
  }
  void Ack(amqp::DeliveryTag /*tag*/) override {}
  void Reject(amqp::DeliveryTag /*tag*/, bool /*requeue*/) override {}
  void Close(std::function<void()> closed) override { executor_->Post(std::move(closed)); }
  std::size_t max_header_size() const override { return 131064; }
  std::string server_version() const override { return "4.0.5"; }

 private:
  class QuietSubscription final : public Subscription {
   public:
    explicit QuietSubscription(std::shared_ptr<Executor> executor)
        : executor_(std::move(executor)) {}
    void Cancel(std::function<void()> cancelled) override { executor_->Post(std::move(cancelled)); }
    void Resume(std::uint16_t /*prefetch*/) override {}
    void Close(std::function<void()> closed) override { executor_->Post(std::move(closed)); }

   private:
    const std::shared_ptr<Executor> executor_;
  };

  const std::shared_ptr<Executor> executor_;
  BrokerListener* listener_ = nullptr;
  SubscriptionListener* subscriber_ = nullptr;
  std::deque<PublishCallback> open_;
};

}  // namespace retryq::bench

#endif  // RETRYQ_TEST_BENCH_CALLS_QUIET_BROKER_H_
