#ifndef RETRYQ_TEST_FACTS_ASKER_H_
#define RETRYQ_TEST_FACTS_ASKER_H_

#include <cstdio>

#include "retryq/amqp/connection.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/event_loop.h"
#include "support/test.h"

namespace retryq::testing {

// Sends the broker one request at a time, on its own connection, and waits for the reply. After a
// refusal, which closes the channel, the next request uses a new channel. Ends the test, by an
// exception, if there is no reply within 30 s. Reconnects to a broker that was down.
class Asker final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  // `loop` must outlive it.
  Asker(EventLoop& loop, const std::string& url)
      : loop_(loop), connection_(loop, amqp::ParseUri(url).value(), this) {
    Until([this] { return connection_.is_open(); });
  }

  // Whether the broker's version is this or newer.
  bool IsAtLeast(int major, int minor = 0) const {
    int is_major = 0;
    int is_minor = 0;
    std::sscanf(connection_.server_version().c_str(), "%d.%d", &is_major, &is_minor);
    return is_major > major || (is_major == major && is_minor >= minor);
  }

  absl::StatusOr<DeclareOk> DeclareQueue(const QueueDeclaration& queue) {
    return Wait<absl::StatusOr<DeclareOk>>(
        [&](auto done) { channel().DeclareQueue(queue, std::move(done)); });
  }
  absl::Status DeclareExchange(const ExchangeDeclaration& exchange) {
    return Wait<absl::Status>(
        [&](auto done) { channel().DeclareExchange(exchange, std::move(done)); });
  }
  absl::Status Bind(std::string_view queue, std::string_view exchange,
                    std::string_view routing_key = "") {
    return Wait<absl::Status>(
        [&](auto done) { channel().BindQueue(queue, exchange, routing_key, {}, std::move(done)); });
  }

  struct Answer {
    PublishOutcome outcome = PublishOutcome::kUnknown;
    std::uint16_t code = 0;
  };
  // Persistent.
  Answer Publish(const PublishParams& message) {
    PublishParams persistent = message;
    persistent.properties.delivery_mode = 2;
    return Wait<Answer>([&](const auto& done) {
      channel().Publish(persistent, [done](const PublishResult& result) {
        done({.outcome = result.outcome, .code = result.code});
      });
    });
  }
  // Publishes this number of messages to a queue, with their numbers as bodies; returns whether all
  // were confirmed.
  bool PublishMany(const std::string& queue, int count) {
    int answered = 0;
    int confirmed = 0;
    for (int i = 0; i < count; ++i) {
      const std::string body = std::to_string(i);
      channel().Publish({.routing_key = queue, .properties = {.delivery_mode = 2}, .body = body},
                        [&](const PublishResult& result) {
                          ++answered;
                          if (result.outcome == PublishOutcome::kConfirmed) ++confirmed;
                        });
    }
    Until([&] { return answered == count; });
    return confirmed == count;
  }

  // Begins to consume, and waits for this many deliveries. They stay unacked, and more may come.
  std::vector<amqp::MessagePtr> Consume(const std::string& queue, std::size_t count) {
    deliveries_.clear();
    const auto tag = Wait<absl::StatusOr<std::string>>(
        [&](auto done) { channel().Consume({.queue = queue}, std::move(done)); });
    if (!tag.ok()) throw std::runtime_error(tag.status().ToString());
    tag_ = *tag;
    Until([&] { return deliveries_.size() >= count; });
    return deliveries_;
  }
  const std::vector<amqp::MessagePtr>& deliveries() const { return deliveries_; }
  const std::string& tag() const { return tag_; }  // of that consumer
  // Ends the consumer with the next delivery, and waits for both.
  void CancelAtDelivery() {
    bool is_cancelled = false;
    cancel_at_delivery_ = [&](std::string_view tag) {
      channel().Cancel(tag, [&](const absl::Status&) { is_cancelled = true; });
    };
    Until([&] { return is_cancelled; });
  }
  // Takes `count` messages from the queue and acks them.
  std::vector<amqp::MessagePtr> Take(const std::string& queue, std::size_t count) {
    std::vector<amqp::MessagePtr> taken = Consume(queue, count);
    for (const auto& message : taken) channel().Ack(message->delivery_tag.tag);
    bool closed = false;
    channel_->Close([&] { closed = true; });
    Until([&] { return closed; });
    channel_ = nullptr;
    return taken;
  }
  // Requeues by basic.nack.
  void GiveBack(const amqp::Message& message) {
    channel().Reject(message.delivery_tag.tag, /*requeue=*/true);
  }
  // Rejects to the queue's dead-letter exchange.
  void RejectForGood(const amqp::Message& message) {
    channel().Reject(message.delivery_tag.tag, /*requeue=*/false);
  }
  // Requeues the unacked messages, and closes the channel.
  void Drop() {
    channel_ = nullptr;
    deliveries_.clear();
  }

  // The error that ended the connection, once it is lost.
  const std::vector<absl::Status>& lost() const { return lost_; }
  bool blocked() const { return blocked_; }

  amqp::Channel& channel() {
    if (channel_ == nullptr || !channel_->is_open()) {
      Until([this] { return connection_.is_open(); });
      channel_ = connection_.OpenChannel(this);
      channel_->ConfirmSelect([](const absl::Status& /*answer*/) {});
    }
    return *channel_;
  }

 private:
  static constexpr absl::Duration kPatience = absl::Seconds(30);
  static constexpr absl::Duration kLook = absl::Milliseconds(1);

  void OnOpen() override {}
  void OnLost(const absl::Status& why) override { lost_.push_back(why); }
  void OnBlocked(bool blocked, std::string_view /*reason*/) override { blocked_ = blocked; }
  void OnDelivery(std::string_view consumer_tag, amqp::MessagePtr message) override {
    deliveries_.push_back(std::move(message));
    if (cancel_at_delivery_ != nullptr) std::exchange(cancel_at_delivery_, nullptr)(consumer_tag);
  }
  void OnChannelClosed(const amqp::ChannelError& /*why*/) override {}

  // Calls `ask` with a function, and runs the loop until that function is called with the reply.
  template <typename T>
  T Wait(const std::function<void(std::function<void(T)>)>& ask) {
    std::optional<T> answer;
    ask([&answer](T given) { answer.emplace(std::move(given)); });
    Until([&answer] { return answer.has_value(); });
    return *std::move(answer);
  }
  void Until(const std::function<bool()>& condition) {
    const absl::Duration end = loop_.clock().SinceBoot() + kPatience;
    std::unique_ptr<Timer> timer;
    const std::function<void()> look = [&] {
      if (condition() || loop_.clock().SinceBoot() > end) return loop_.Stop();
      timer = loop_.After(kLook, look);
    };
    timer = loop_.After(absl::ZeroDuration(), look);
    const absl::Status run = loop_.Run();
    if (!run.ok()) throw std::runtime_error(run.ToString());
    if (!condition()) throw std::runtime_error("the broker does not answer");
  }

  EventLoop& loop_;
  amqp::Connection connection_;
  std::unique_ptr<amqp::Channel> channel_;
  std::vector<amqp::MessagePtr> deliveries_;
  std::string tag_;
  std::function<void(std::string_view tag)> cancel_at_delivery_;  // null: not to be
  std::vector<absl::Status> lost_;
  bool blocked_ = false;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_FACTS_ASKER_H_
