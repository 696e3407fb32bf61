#ifndef RETRYQ_CLI_MESSAGES_COPY_PUBLISHER_H_
#define RETRYQ_CLI_MESSAGES_COPY_PUBLISHER_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "cli/messages/message_copy.h"
#include "retryq/amqp/connection.h"
#include "retryq/broker.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// Publishes copies of messages, mandatory and confirmed, on a channel of its own. What
// cannot be sent yet waits in line, so that the network's pace bounds what is written, and the one
// that looks at `open` bounds the rest.
class CopyPublisher final : private amqp::ChannelListener {
 public:
  struct Copy {
    amqp::MessagePtr message;
    CopyPlan plan;
    std::string exchange;
    std::string routing_key;
  };
  using Done = std::function<void(const PublishResult&)>;

  // On an open connection, which must outlive it. `on_closed` hears why the broker has closed the
  // channel, once what was open on it has been answered: nothing can be published any more.
  CopyPublisher(EventLoop& loop, amqp::Connection& connection,
                std::function<void(const absl::Status&)> on_closed);

  // `done` is called once, unless the publisher is destroyed before.
  void Publish(Copy copy, Done done);

  // Copies whose end is not known yet.
  std::size_t open() const { return line_.size() + channel_->unconfirmed(); }

 private:
  void OnChannelClosed(const amqp::ChannelError& why) override;
  void Advance();

  EventLoop& loop_;
  amqp::Connection& connection_;
  const std::function<void(const absl::Status&)> on_closed_;
  std::unique_ptr<amqp::Channel> channel_;
  std::deque<std::pair<Copy, Done>> line_;
  std::unique_ptr<Timer> again_;  // while the line waits for the network
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_COPY_PUBLISHER_H_
