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

// Publishes copies of messages, mandatory and confirmed, on its own channel. Copies that cannot be
// sent yet wait, so that the unsent data is limited. The caller limits the number of copies, by
// `open`.
class CopyPublisher final : private amqp::ChannelListener {
 public:
  struct Copy {
    amqp::MessagePtr message;
    CopyPlan plan;
    std::string exchange;
    std::string routing_key;
  };
  using Done = std::function<void(const PublishResult&)>;

  // `connection` must be open and outlive it. If the broker closes the channel, `on_closed`
  // receives the reason after the open publishes have received their results; nothing can be
  // published any more.
  CopyPublisher(EventLoop& loop, amqp::Connection& connection,
                std::function<void(const absl::Status&)> on_closed);

  // `done` is called once, unless the publisher is destroyed first.
  void Publish(Copy copy, Done done);

  // The number of copies whose result is not known yet.
  std::size_t open() const { return line_.size() + channel_->unconfirmed(); }

 private:
  void OnChannelClosed(const amqp::ChannelError& why) override;
  void Advance();

  EventLoop& loop_;
  amqp::Connection& connection_;
  const std::function<void(const absl::Status&)> on_closed_;
  std::unique_ptr<amqp::Channel> channel_;
  std::deque<std::pair<Copy, Done>> line_;
  std::unique_ptr<Timer> again_;  // while copies wait for the network
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_COPY_PUBLISHER_H_
