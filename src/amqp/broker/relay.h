#ifndef RETRYQ_SRC_AMQP_BROKER_RELAY_H_
#define RETRYQ_SRC_AMQP_BROKER_RELAY_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "retryq/amqp/connection.h"
#include "retryq/broker.h"
#include "retryq/event_loop.h"

namespace retryq::amqp {

// Publishes messages that are larger than memory while they arrive, one after the other. That has a
// connection of its own, which is there while it is needed: a publish that has begun can be called
// off only with its connection. It is called off when the broker takes no publishes, or none of its
// bytes for ten seconds: the rest of the body is then thrown away.
class Relay final : private ConnectionListener, private ChannelListener {
 public:
  // How to connect; both are copied.
  struct Target {
    ConnectionOptions options;
    OptionsSource source;
  };
  // Takes the message back, as soon as it has arrived and its publish has ended. It says how.
  using Done = std::function<void(MessagePtr message)>;

  // `loop` must outlive it. `done` may destroy it.
  Relay(EventLoop& loop, Target target, Done done);
  ~Relay() override;

  // For the body of `message`, which is about to arrive and has `left_out` bytes.
  std::shared_ptr<BodySink> Begin(const MessagePtr& message, const PublishParams& copy);

  // The whole of a message has arrived. True: it is one that was begun here, and `done` follows.
  bool Take(const MessagePtr& message);

 private:
  class Copy;

  // ConnectionListener
  void OnOpen() override { Advance(); }
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;
  // ChannelListener
  void OnChannelClosed(const ChannelError& why) override;

  bool IsFull(Copy& copy);
  void Add(Copy& copy, std::string_view part);
  // Begins the publish that is next, if there is none under way.
  void Advance();
  void OnResult(Copy& copy, const PublishResult& result);
  // Ends one before its answer.
  void CallOff(Copy& copy, const std::string& why);
  void CallOffAll(const std::string& why);
  void Disconnect();
  void CloseConnection();
  // Takes back what has ended.
  void FinishEnded();

  EventLoop& loop_;
  const Target target_;
  const Done done_;
  std::deque<std::shared_ptr<Copy>> copies_;  // in order
  std::unique_ptr<Connection> connection_;    // null: not needed
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<Connection> closing_;
  std::unique_ptr<Timer> finish_, idle_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_BROKER_RELAY_H_
