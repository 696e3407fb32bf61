#ifndef RETRYQ_TEST_FAULT_PRODUCER_H_
#define RETRYQ_TEST_FAULT_PRODUCER_H_

#include "fault/message_name.h"
#include "retryq/amqp/connection.h"
#include "retryq/event_loop.h"
#include "support/standard.h"

namespace retryq::fault {

// Publishes numbered messages directly to a work queue, persistent and mandatory, at a steady rate,
// and keeps each message until the broker has confirmed it, whatever happens meanwhile. Used on the
// loop's thread.
class Producer final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  // The messages to publish.
  struct Load {
    std::string queue;
    Kind kind = Kind::kOrder;
    int messages_a_second = 0;
  };

  Producer(EventLoop& loop, amqp::ConnectionOptions options, Load load);

  // Creates no more messages, and publishes none, until it is resumed.
  void Pause() { paused_ = true; }
  void Resume() { paused_ = false; }

  // Creates no more messages, but still publishes the existing ones.
  void Finish() { load_.messages_a_second = 0; }

  // Creates one more message, even after `Finish`.
  void SendOneMore() { waiting_.push_back({.kind = load_.kind, .number = next_++}); }

  // The number of created messages, which are numbered from 0.
  std::uint64_t sent() const { return next_; }
  // The messages that the broker has not confirmed yet.
  std::uint64_t unconfirmed() const { return open_ + waiting_.size(); }
  // The published messages without a reply.
  std::uint64_t open() const { return open_; }

 private:
  void OnOpen() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;
  void OnChannelClosed(const amqp::ChannelError& why) override;

  void OpenChannel();
  void OnTick();
  void Publish(const MessageName& name);

  EventLoop& loop_;
  Load load_;
  double due_ = 0;
  absl::Time last_tick_;
  std::uint64_t next_ = 0;
  std::uint64_t open_ = 0;
  std::deque<MessageName> waiting_;  // to be published, perhaps again
  absl::Time publishes_from_ = absl::InfinitePast();
  bool paused_ = false;
  bool ready_ = false;
  bool blocked_ = false;
  std::unique_ptr<Timer> tick_;
  amqp::Connection connection_;
  std::unique_ptr<amqp::Channel> channel_;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_PRODUCER_H_
