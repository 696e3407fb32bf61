#ifndef RETRYQ_SRC_AMQP_BROKER_PUBLISH_CHANNEL_H_
#define RETRYQ_SRC_AMQP_BROKER_PUBLISH_CHANNEL_H_

#include <memory>
#include <vector>

#include "retryq/amqp/connection.h"
#include "retryq/broker/broker.h"
#include "retryq/broker/executor.h"

namespace retryq::amqp {

// A channel in confirm mode that exists as long as the connection does. If the broker closes it
// because of a publish, another channel replaces it at once for later publishes. If no channel can
// be opened, the connection is closed too.
class PublishChannel final : public ChannelListener {
 public:
  // `connection` must outlive this object.
  PublishChannel(Connection& connection, std::shared_ptr<Executor> executor);

  // To be called when the connection is open again.
  void Open();

  void Publish(const PublishParams& params, Broker::PublishCallback&& done);

  // Drops all callbacks. Earlier publishes are still sent.
  void Forget();

 private:
  // The next publish opens another channel. Opening it here would repeat endlessly if that fails.
  void OnChannelClosed(const ChannelError&) override {}

  // Opens another channel if the broker has closed this one. Callbacks of its publishes may publish
  // again before the channel itself reports that it is closed.
  void EnsureOpen();

  Connection& connection_;
  const std::shared_ptr<Executor> executor_;
  std::unique_ptr<Channel> channel_;
  // Earlier channels, which may still have to answer publishes that came after they were closed.
  std::shared_ptr<std::vector<std::unique_ptr<Channel>>> retired_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_BROKER_PUBLISH_CHANNEL_H_
