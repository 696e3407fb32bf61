#include "amqp/publish_channel.h"

#include <utility>

namespace retryq::amqp {

PublishChannel::PublishChannel(Connection& connection, std::shared_ptr<Executor> executor)
    : connection_(connection),
      executor_(std::move(executor)),
      channel_(connection.OpenChannel(this)),
      retired_(std::make_shared<std::vector<std::unique_ptr<Channel>>>()) {}

void PublishChannel::Open() {
  // Behind whatever the old channel has put off.
  retired_->push_back(std::move(channel_));
  executor_->Post([weak = std::weak_ptr(retired_)] {
    if (const auto retired = weak.lock()) retired->clear();
  });
  channel_ = connection_.OpenChannel(this);
  channel_->ConfirmSelect([](const absl::Status&) {});
}

void PublishChannel::Publish(const PublishParams& params, Broker::PublishCallback done) {
  EnsureOpen();
  channel_->Publish(params, std::move(done));
}

void PublishChannel::Forget() {
  Open();
  retired_->clear();
}

void PublishChannel::OnChannelClosed(const ChannelError&) { EnsureOpen(); }

void PublishChannel::EnsureOpen() {
  if (!channel_->is_open() && connection_.is_open()) Open();
}

}  // namespace retryq::amqp
