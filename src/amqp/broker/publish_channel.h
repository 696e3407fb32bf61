#ifndef RETRYQ_SRC_AMQP_BROKER_PUBLISH_CHANNEL_H_
#define RETRYQ_SRC_AMQP_BROKER_PUBLISH_CHANNEL_H_

#include <memory>
#include <vector>

#include "retryq/amqp/connection.h"
#include "retryq/broker.h"
#include "retryq/executor.h"

namespace retryq::amqp {

// A channel in confirm mode that is always there while the connection is: when the broker
// closes it over a publish, another one takes over at once, and what is published from then
// on goes there. Where there is none to be had, the connection is given up as well.
class PublishChannel final : public ChannelListener {
 public:
  // `connection` must outlive it.
  PublishChannel(Connection& connection, std::shared_ptr<Executor> executor);

  // The connection is open anew.
  void Open();

  void Publish(const PublishParams& params, Broker::PublishCallback done);

  // Drops all open callbacks, uncalled. What is published already is still sent.
  void Forget();

 private:
  // The next publish opens another. At once it would be done over and over where none can be had.
  void OnChannelClosed(const ChannelError&) override {}

  // Another channel if the broker has closed this one. Those whose publishes it takes along
  // may publish again before the channel itself says that it is closed.
  void EnsureOpen();

  Connection& connection_;
  const std::shared_ptr<Executor> executor_;
  std::unique_ptr<Channel> channel_;
  // Of earlier channels, which may still owe the answer to what was published after their end.
  std::shared_ptr<std::vector<std::unique_ptr<Channel>>> retired_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_BROKER_PUBLISH_CHANNEL_H_
