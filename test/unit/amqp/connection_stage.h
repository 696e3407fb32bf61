#ifndef RETRYQ_TEST_UNIT_AMQP_CONNECTION_STAGE_H_
#define RETRYQ_TEST_UNIT_AMQP_CONNECTION_STAGE_H_

#include <openssl/ssl.h>

#include "retryq/amqp/connection.h"
#include "retryq/event_loop.h"
#include "support/test.h"
#include "unit/amqp/fake_server.h"
#include "unit/amqp/run_until.h"

namespace retryq::amqp {

// A connection with what it reports, and the server that it connects to.
class ConnectionStage : public ::testing::Test, public ConnectionListener, public ChannelListener {
 protected:
  ConnectionStage() { options_.connection_name = "test"; }

  // `tls`: as for the server.
  void Serve(SSL_CTX* tls = nullptr) {
    server_.emplace(loop_, tls);
    options_.endpoints = {{.host = "127.0.0.1", .port = server_->port()}};
  }

  // Anew, with the options of now.
  void Connect() {
    opened_ = 0;
    connection_ = std::make_unique<Connection>(loop_, options_, this);
  }
  void Open() {
    Connect();
    RunUntil([this] { return opened_ == 1; });
  }

  void RunUntil(const std::function<bool()>& condition) { amqp::RunUntil(loop_, condition); }
  void RunUntilHeard(const std::string& line) {
    RunUntil([&] { return std::count(server_->heard.begin(), server_->heard.end(), line) > 0; });
  }

  // An open channel in confirm mode, with the consumer "me"; its number is 1.
  std::unique_ptr<Channel> OpenChannel() {
    auto channel = connection_->OpenChannel(this);
    channel->ConfirmSelect([](const absl::Status&) {});
    bool consumes = false;
    channel->Consume({.queue = "queue", .consumer_tag = "me"},
                     [&consumes](const absl::StatusOr<std::string>&) { consumes = true; });
    RunUntilHeard("1 basic.consume");
    server_->Say(1, method::ChannelOpenOk{});
    server_->Say(1, method::ConfirmSelectOk{});
    server_->Say(1, method::BasicConsumeOk{.consumer_tag = "me"});
    RunUntil([&consumes] { return consumes; });
    server_->heard.clear();
    return channel;
  }
  void Deliver(std::uint64_t tag, std::string_view body = "body") {
    server_->Say(1, method::BasicDeliver{.consumer_tag = "me",
                                         .delivery_tag = tag,
                                         .exchange = "exchange",
                                         .routing_key = "key"});
    server_->SayContent(1, {.content_type = "text/plain"}, body);
  }

  void OnOpen() override { ++opened_; }
  void OnLost(const absl::Status& why) override {
    lost_.push_back(why);
    if (on_lost_) on_lost_();
  }
  void OnBlocked(bool blocked, std::string_view reason) override {
    blocked_.push_back(absl::StrCat(blocked ? "blocked " : "unblocked", std::string(reason)));
  }
  void OnDelivery(std::string_view, MessagePtr message) override {
    deliveries_.push_back(std::move(message));
    if (on_delivery_) on_delivery_();
  }
  void OnChannelClosed(const ChannelError& why) override { closed_.push_back(why); }

  EventLoop loop_;
  std::optional<FakeServer> server_;
  ConnectionOptions options_;
  std::unique_ptr<Connection> connection_;

  int opened_ = 0;
  std::vector<absl::Status> lost_;
  std::function<void()> on_lost_;
  std::vector<std::string> blocked_;
  std::vector<MessagePtr> deliveries_;
  std::function<void()> on_delivery_;
  std::vector<ChannelError> closed_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_UNIT_AMQP_CONNECTION_STAGE_H_
