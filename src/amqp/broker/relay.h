#ifndef RETRYQ_SRC_AMQP_BROKER_RELAY_H_
#define RETRYQ_SRC_AMQP_BROKER_RELAY_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "retryq/amqp/connection.h"
#include "retryq/broker/broker.h"
#include "retryq/event_loop.h"

namespace retryq::amqp {

// Publishes messages that are larger than memory while they arrive, one after the other. It uses
// its own connection while it needs one, because a publish that has begun can be cancelled only by
// closing its connection. A publish is cancelled if the broker blocks publishing, or accepts no
// bytes for ten seconds: the rest of the body is then discarded.
class Relay final : private ConnectionListener, private ChannelListener {
 public:
  // The options of the connection, and their source. Both are copied.
  struct Target {
    ConnectionOptions options;
    OptionsSource source;
  };
  // Called with the message when it has arrived and its publish has ended. The message contains the
  // result.
  using Done = std::function<void(MessagePtr message)>;

  // `timers` and `clock` measure the time limits; they are those of `loop`, except in tests. All
  // three must outlive the relay. `done` may destroy the relay.
  Relay(EventLoop& loop, Timers& timers, const Clock& clock, Target target, Done done);
  ~Relay() override;

  // Returns the sink for the body of `message`, which is about to arrive and has `left_out` bytes.
  std::shared_ptr<BodySink> Begin(const MessagePtr& message, const PublishParams& copy);

  // Call it when a whole message has arrived. Returns true if the relay publishes the message;
  // `done` follows.
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
  // Begins the next publish, if none is under way.
  void Advance();
  void OnResult(Copy& copy, const PublishResult& result);
  // Ends a publish before it is answered.
  void Cancel(Copy& copy, const std::string& why);
  void CancelAll(const std::string& why);
  void Disconnect();
  void CloseConnection();
  // Calls `done` for the messages whose publishes have ended.
  void FinishEnded();

  EventLoop& loop_;
  Timers& timers_;
  const Clock& clock_;
  const Target target_;
  const Done done_;
  std::deque<std::shared_ptr<Copy>> copies_;  // in order
  std::unique_ptr<Connection> connection_;    // null if not needed
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<Connection> closing_;
  std::unique_ptr<Timer> finish_, idle_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_BROKER_RELAY_H_
