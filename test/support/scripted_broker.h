#ifndef RETRYQ_TEST_SUPPORT_SCRIPTED_BROKER_H_
#define RETRYQ_TEST_SUPPORT_SCRIPTED_BROKER_H_

#include "retryq/broker/broker.h"
#include "retryq/testing/simulated_time.h"
#include "support/test.h"

namespace retryq::testing {

// A broker that keeps publishes until the test answers them, and answers declares in the next turn
// of the loop, as the test has set.
class ScriptedBroker : public Broker {
 public:
  struct Published {
    std::string exchange;
    std::string routing_key;
    std::string body;
    amqp::Table headers;
    bool persistent = false;
    bool mandatory = false;
    PublishCallback done;

    void Confirm() { Answer({.outcome = PublishOutcome::kConfirmed}); }
    void Return() {
      Answer({.outcome = PublishOutcome::kReturned, .code = 312, .text = "NO_ROUTE"});
    }
    void Nack() { Answer({.outcome = PublishOutcome::kNacked}); }
    void Lose(std::uint16_t code = 0, std::string_view text = "") {
      Answer({.outcome = PublishOutcome::kUnknown, .code = code, .text = text});
    }
    void Answer(const PublishResult& result) { std::exchange(done, nullptr)(result); }
  };

  explicit ScriptedBroker(SimulatedTime& time) : time_(time) {}

  // The records for the test.
  std::vector<Published> publishes;
  std::vector<DeclareParams> declares;
  std::vector<std::uint64_t> acked;
  std::vector<std::uint64_t> rejected;  // not to be requeued
  std::vector<std::uint64_t> requeued;
  std::vector<ConsumeParams> consumes;
  SubscriptionListener* subscriber = nullptr;
  std::vector<absl::Status> reconnects;
  bool cancelled = false;
  std::vector<std::uint16_t> resumed_with;  // prefetch
  bool closed = false;
  bool ends_subscriptions = true;  // else it answers neither a cancel nor a close of one
  std::size_t header_limit = 131064;
  std::size_t unsent = 0;
  std::string version = "4.0.5";
  absl::Duration heartbeat_interval = absl::Seconds(15);

  // The replies by name; requests without an entry are answered with ok.
  std::function<absl::Status(const QueueDeclaration&)> on_declare;
  std::function<absl::Status(const std::string&)> on_check_exchange;
  // Called for each publish.
  std::function<void(const PublishParams&)> on_publish;

  // The publishes that are not answered yet.
  std::vector<Published*> open() {
    std::vector<Published*> open;
    for (Published& published : publishes) {
      if (published.done != nullptr) open.push_back(&published);
    }
    return open;
  }

  void Ready() { listener_->OnReady(); }
  void Lose(const absl::Status& why = absl::UnavailableError("the connection was reset")) {
    listener_->OnLost(why);
    CloseChannel(0, "");
  }
  void Block(bool blocked) { listener_->OnBlocked(blocked, "low on memory"); }

  // All open publishes end as unknown.
  void CloseChannel(std::uint16_t code, std::string_view text) {
    for (std::size_t i = 0, end = publishes.size(); i < end; ++i) {
      if (publishes[i].done != nullptr)
        std::exchange(publishes[i].done,
                      nullptr)({.outcome = PublishOutcome::kUnknown, .code = code, .text = text});
    }
  }

  // Broker.
  void SetListener(BrokerListener* listener) override {
    listener_ = listener;
    if (listener != nullptr) return;
    for (Published& published : publishes) published.done = nullptr;
    timers_.clear();
  }
  void Declare(DeclareParams params, DeclareCallback done) override {
    declares.push_back(params);
    const absl::Status status = on_declare ? on_declare(params.queue) : absl::OkStatus();
    Later([done = std::move(done), status] {
      if (status.ok()) {
        done(DeclareOk{});
      } else {
        done(status);
      }
    });
  }
  void CheckExchange(std::string name, std::function<void(absl::Status)> done) override {
    const absl::Status status = on_check_exchange ? on_check_exchange(name) : absl::OkStatus();
    Later([done = std::move(done), status] { done(status); });
  }
  void Publish(const PublishParams& params, PublishCallback done) override {
    if (on_publish) on_publish(params);
    publishes.push_back(
        {.exchange = std::string(params.exchange),
         .routing_key = std::string(params.routing_key),
         .body = std::string(params.body),
         .headers = params.properties.headers.value_or(amqp::TableView()).Decode().value(),
         .persistent = params.properties.delivery_mode == 2,
         .mandatory = params.mandatory,
         .done = std::move(done)});
  }
  std::unique_ptr<Subscription> Consume(ConsumeParams params,
                                        SubscriptionListener* listener) override {
    consumes.push_back(std::move(params));
    subscriber = listener;
    return std::make_unique<ScriptedSubscription>(*this);
  }
  void Ack(amqp::DeliveryTag tag) override { acked.push_back(tag.tag); }
  void Reject(amqp::DeliveryTag tag, bool requeue) override {
    (requeue ? requeued : rejected).push_back(tag.tag);
  }
  void Reconnect(const absl::Status& why) override { reconnects.push_back(why); }
  void Close(std::function<void()> done) override {
    closed = true;
    Later(std::move(done));
  }
  std::size_t unsent_bytes() const override { return unsent; }
  std::size_t max_header_size() const override { return header_limit; }
  std::string server_version() const override { return version; }
  absl::Duration heartbeat() const override { return heartbeat_interval; }

 private:
  class ScriptedSubscription final : public Subscription {
   public:
    explicit ScriptedSubscription(ScriptedBroker& broker) : broker_(broker) {}
    ~ScriptedSubscription() override { broker_.subscriber = nullptr; }
    void Cancel(std::function<void()> done) override {
      broker_.cancelled = true;
      if (broker_.ends_subscriptions) broker_.Later(std::move(done));
    }
    void Resume(std::uint16_t prefetch) override {
      broker_.cancelled = false;
      broker_.resumed_with.push_back(prefetch);
    }
    void Close(std::function<void()> done) override {
      broker_.subscriber = nullptr;
      if (broker_.ends_subscriptions) broker_.Later(std::move(done));
    }

   private:
    ScriptedBroker& broker_;
  };

  void Later(std::function<void()> call) {
    timers_.push_back(time_.After(absl::ZeroDuration(), std::move(call)));
  }

  SimulatedTime& time_;
  BrokerListener* listener_ = nullptr;
  std::vector<std::unique_ptr<Timer>> timers_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_SCRIPTED_BROKER_H_
