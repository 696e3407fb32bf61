#include "amqp/broker/publish_channel.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace retryq::amqp {

PublishChannel::PublishChannel(Connection& connection, std::shared_ptr<Executor> executor)
    : connection_(connection),
      executor_(std::move(executor)),
      channel_(connection.OpenChannel(this)),
      retired_(std::make_shared<std::vector<std::unique_ptr<Channel>>>()) {}

void PublishChannel::Open() {
  // Destroy the old channel after its postponed work.
  retired_->push_back(std::move(channel_));
  executor_->Post([weak = std::weak_ptr(retired_)] {
    if (const auto retired = weak.lock()) retired->clear();
  });
  channel_ = connection_.OpenChannel(this);
  // Without a channel nothing can be published, as without a connection, so the connection is
  // replaced, with the same pauses.
  channel_->ConfirmSelect([this](const absl::Status& status) {
    if (status.ok()) return;
    connection_.Reconnect(absl::UnavailableError(
        absl::StrCat("cannot open a channel to publish on: ", std::string(status.message()))));
  });
}

void PublishChannel::Publish(const PublishParams& params, Broker::PublishCallback&& done) {
  EnsureOpen();
  channel_->Publish(params, std::move(done));
}

void PublishChannel::Forget() {
  Open();
  retired_->clear();
}

void PublishChannel::EnsureOpen() {
  if (!channel_->is_open() && connection_.is_open()) Open();
}

}  // namespace retryq::amqp
