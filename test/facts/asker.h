#ifndef RETRYQ_TEST_FACTS_ASKER_H_
#define RETRYQ_TEST_FACTS_ASKER_H_

#include "retryq/amqp/connection.h"
#include "retryq/event_loop.h"
#include "support/test.h"

namespace retryq::testing {

// Sends the broker one request at a time, on its own connection, and waits for the reply. After a
// refusal, which closes the channel, the next request uses a new channel. Ends the test, by an
// exception, if there is no reply within 30 s. Reconnects to a broker that was down.
class Asker final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  // `loop` must outlive it.
  Asker(EventLoop& loop, const std::string& url);

  // Whether the broker's version is this or newer.
  bool IsAtLeast(int major, int minor = 0) const;

  absl::StatusOr<DeclareOk> DeclareQueue(const QueueDeclaration& queue);
  absl::Status DeclareExchange(const ExchangeDeclaration& exchange);
  absl::Status Bind(std::string_view queue, std::string_view exchange,
                    std::string_view routing_key = "");

  struct Answer {
    PublishOutcome outcome = PublishOutcome::kUnknown;
    std::uint16_t code = 0;
  };
  // Persistent.
  Answer Publish(const PublishParams& message);
  // Publishes this number of messages to a queue, with their numbers as bodies; returns whether all
  // were confirmed.
  bool PublishMany(const std::string& queue, int count);

  // Begins to consume, and waits for this many deliveries. They stay unacked, and more may come.
  std::vector<amqp::MessagePtr> Consume(const std::string& queue, std::size_t count);
  const std::vector<amqp::MessagePtr>& deliveries() const { return deliveries_; }
  const std::string& tag() const { return tag_; }  // of that consumer
  // Ends the consumer with the next delivery, and waits for both.
  void CancelAtDelivery();
  // Takes `count` messages from the queue and acks them.
  std::vector<amqp::MessagePtr> Take(const std::string& queue, std::size_t count);
  // Requeues by basic.nack.
  void GiveBack(const amqp::Message& message);
  // Rejects to the queue's dead-letter exchange.
  void RejectForGood(const amqp::Message& message);
  // Requeues the unacked messages, and closes the channel.
  void Drop();

  // The error that ended the connection, once it is lost.
  const std::vector<absl::Status>& lost() const { return lost_; }
  bool blocked() const { return blocked_; }

  amqp::Channel& channel();

 private:
  void OnOpen() override {}
  void OnLost(const absl::Status& why) override { lost_.push_back(why); }
  void OnBlocked(bool blocked, std::string_view /*reason*/) override { blocked_ = blocked; }
  void OnDelivery(std::string_view consumer_tag, amqp::MessagePtr message) override;
  void OnChannelClosed(const amqp::ChannelError& /*why*/) override {}

  // Calls `ask` with a function, and runs the loop until that function is called with the reply.
  template <typename T>
  T Wait(const std::function<void(std::function<void(T)>)>& ask);
  void Until(const std::function<bool()>& condition);

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
