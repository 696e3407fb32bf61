#include "cli/messages/queue_reader.h"

#include <random>

#include "support/test.h"
#include "unit/amqp/fake_server.h"

namespace retryq::cli::queue_reader_test {

using namespace amqp::method;  // NOLINT(google-build-using-namespace)

// A reader of a queue, on a broker that serves the channels in any order. The application does
// anything that the reader allows, at any time.
class History {
 public:
  explicit History(unsigned seed) : random_(seed), total_(Pick(20)) {
    for (std::size_t i = 0; i < total_; ++i) ready_.push_back(std::to_string(i));
    server_.obliging = true;
    server_.on_method = [this](std::uint16_t channel, const amqp::ClientMethod& any) {
      if (std::holds_alternative<ConnectionClose>(any)) RequeueAll();
      if (channel > 0) channels_[channel].heard.push_back(any);
      return channel > 0;
    };
    const bool in_order = Pick(4) == 0;
    reader_.emplace(
        loop_, QueueReader::Options{
                   .connection = {.endpoints = {{.host = "127.0.0.1", .port = server_.port()}}},
                   .queue = "q",
                   .window = static_cast<std::uint16_t>(1 + Pick(3)),
                   .may_collect = !in_order,
                   .keep_order = in_order,
                   .on_message = [this](auto message) { OnMessage(std::move(message)); },
                   .on_abandoned = [this] { KeepWaiting(); }});
  }

  // Each message is in the queue once, except for those that were taken.
  void Run() {
    Turn();
    const absl::Status status = reader_->Run();
    EXPECT_TRUE(status.ok() || may_fail_) << status;
    EXPECT_EQ(reader_->total(), total_);
    reader_.reset();
    turn_.reset();
    RequeueAll();
    EXPECT_THAT(ready_, SizeIs(total_ - taken_));
    EXPECT_THAT(std::set<std::string>(ready_.begin(), ready_.end()), SizeIs(ready_.size()));
  }

 private:
  struct Channel {
    std::deque<amqp::ClientMethod> heard = {};  // without what its views point to
    std::uint16_t window = 0;
    bool consumes = false;
    std::uint64_t first = 0;  // delivery tag of this consumer
    std::uint64_t last = 0;
    std::uint64_t published = 0;
    std::map<std::uint64_t, std::string> unacked = {};
  };

  std::size_t Pick(std::size_t count) { return random_() % count; }

  void Turn() {
    turn_ = loop_.After(absl::Microseconds(20), [this] { Turn(); });
    if (Pick(8) == 0) Act();
    if (channels_.empty()) return;
    auto& [number, channel] =
        *std::next(channels_.begin(), static_cast<long>(Pick(channels_.size())));
    if (channel.heard.empty()) return Deliver(number, channel);
    const amqp::ClientMethod any = std::move(channel.heard.front());
    channel.heard.pop_front();
    std::visit([&, n = number, &c = channel](const auto& m) { On(n, c, m); }, any);
  }

  void Deliver(std::uint16_t number, Channel& channel) {
    const auto of_consumer =
        std::distance(channel.unacked.lower_bound(channel.first), channel.unacked.end());
    if (!channel.consumes || ready_.empty() || of_consumer >= channel.window) return;
    std::string& body = channel.unacked[++channel.last] = std::move(ready_.front());
    ready_.pop_front();
    server_.Say(number, BasicDeliver{
                            .consumer_tag = "c", .delivery_tag = channel.last, .routing_key = "q"});
    server_.SayContent(number, {}, body);
  }

  template <typename Method>
  void On(std::uint16_t, Channel&, const Method&) {
    FAIL() << Method::kId.name;
  }
  void On(std::uint16_t n, Channel&, const ChannelOpen&) { server_.Say(n, ChannelOpenOk{}); }
  void On(std::uint16_t n, Channel&, const ConfirmSelect&) { server_.Say(n, ConfirmSelectOk{}); }
  void On(std::uint16_t n, Channel&, const QueueDeclare&) {
    server_.Say(n, QueueDeclareOk{.queue = "q",
                                  .message_count = static_cast<std::uint32_t>(ready_.size())});
  }
  void On(std::uint16_t n, Channel& channel, const BasicQos& qos) {
    channel.window = qos.prefetch_count;
    server_.Say(n, BasicQosOk{});
  }
  void On(std::uint16_t n, Channel& channel, const BasicConsume&) {
    channel.consumes = true;
    channel.first = channel.last + 1;
    server_.Say(n, BasicConsumeOk{.consumer_tag = "c"});
  }
  void On(std::uint16_t n, Channel& channel, const BasicCancel& cancel) {
    channel.consumes = false;
    if (cancel.nowait) return;
    server_.Say(n, BasicCancelOk{.consumer_tag = "c"});
  }
  void On(std::uint16_t, Channel& channel, const BasicNack&) { Requeue(channel); }
  void On(std::uint16_t, Channel& channel, const BasicAck& ack) {
    std::erase_if(channel.unacked, [&](const auto& entry) {
      return ack.multiple ? entry.first <= ack.delivery_tag : entry.first == ack.delivery_tag;
    });
  }
  void On(std::uint16_t n, Channel& channel, const BasicPublish&) {
    ++channel.published;
    if (Pick(3) > 0) return server_.Say(n, BasicAck{.delivery_tag = channel.published});
    if (Pick(2) > 0) return server_.Say(n, BasicNack{.delivery_tag = channel.published});
    may_fail_ = true;
    channel.heard.clear();
    server_.Say(n, amqp::method::ChannelClose{.reply_code = 404, .reply_text = "no exchange"});
  }
  void On(std::uint16_t n, Channel& channel, const ChannelClose&) {
    server_.Say(n, ChannelCloseOk{});
    On(n, channel, ChannelCloseOk{});
  }
  void On(std::uint16_t n, Channel& channel, const ChannelCloseOk&) {
    Requeue(channel);
    channels_.erase(n);
  }

  void Requeue(Channel& channel) {
    for (auto& [tag, body] : std::exchange(channel.unacked, {})) ready_.push_back(body);
  }
  void RequeueAll() {
    for (auto& [number, channel] : channels_) {
      for (const amqp::ClientMethod& any : channel.heard) {
        if (const auto* ack = std::get_if<BasicAck>(&any)) On(number, channel, *ack);
      }
      Requeue(channel);
    }
    channels_.clear();
  }

  // The application.
  void OnMessage(amqp::MessagePtr message) {
    waiting_.push_back(std::move(message));
    while (!waiting_.empty() && Pick(2) == 0) Decide();
    if (Pick(8) == 0) Act();
  }
  void Decide() {
    const amqp::MessagePtr message = std::move(waiting_.front());
    waiting_.pop_front();
    const std::size_t what = Pick(3);
    if (what == 0) return reader_->Keep(message);
    if (what == 1) return Take(message);
    reader_->publisher().Publish(
        {.message = message, .target = {"x", "key"}}, [this, message](const PublishResult& result) {
          result.outcome == PublishOutcome::kConfirmed ? Take(message) : reader_->Keep(message);
        });
  }
  void Take(const amqp::MessagePtr& message) {
    ++taken_;
    reader_->Take(message);
  }
  void KeepWaiting() {
    for (const amqp::MessagePtr& message : std::exchange(waiting_, {})) reader_->Keep(message);
  }
  void Act() {
    if (!waiting_.empty()) return Decide();
    if (!reader_->began() || Pick(8) > 0) return;
    const std::size_t what = Pick(3);
    if (what == 0) return reader_->Stop();
    if (what == 1) return reader_->CutShort();
    may_fail_ = true;
    reader_->Abandon(absl::AbortedError("enough"));
  }

  std::mt19937 random_;
  const std::size_t total_;
  std::deque<std::string> ready_;
  std::size_t taken_ = 0;
  bool may_fail_ = false;
  EventLoop loop_;
  amqp::FakeServer server_{loop_};
  std::map<std::uint16_t, Channel> channels_;
  std::deque<amqp::MessagePtr> waiting_;  // for the decision of the application
  std::optional<QueueReader> reader_;
  std::unique_ptr<Timer> turn_;
};

TEST(QueueReader, LosesAndRepeatsNoMessageInAnyOrderOfEvents) {
  for (unsigned seed = 0; seed < 100 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    History(seed).Run();
  }
}

}  // namespace retryq::cli::queue_reader_test
