#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "retryq/amqp/connection.h"
#include "unit/amqp/fake_server.h"
#include "unit/amqp/hostile/violation.h"
#include "unit/amqp/run_until.h"

// A whole life of a connection: in whatever pieces the server's bytes come, the user is told the
// same and the server is answered the same.
namespace retryq::amqp {
namespace pieces_test {

using hostile::BodyFrame;
using hostile::Deliver;
using hostile::Say;

std::string LifeOfAServer() {
  using namespace method;  // NOLINT(google-build-using-namespace)
  const std::string headers = Table{{"x", Table{{"y", Array{1, "two"}}}}}.Encode().value();
  const std::string version = Table{{"version", "4.0.5"}}.Encode().value();
  std::string body;
  while (body.size() < 30'000) absl::StrAppend(&body, body.size(), " ");
  std::string bytes = Say(0, ConnectionStart{.server_properties = TableView(version),
                                             .mechanisms = {"PLAIN"},
                                             .locales = {"en_US"}});
  bytes += Say(0, ConnectionTune{.channel_max = 10, .frame_max = 131072});
  bytes += Say(0, ConnectionOpenOk{});
  bytes += Say(1, ChannelOpenOk{});
  bytes += Say(1, ConfirmSelectOk{});
  bytes += Say(1, BasicConsumeOk{.consumer_tag = "me"});
  bytes += Deliver(1);
  AppendContentHeaderFrame(1, body.size(), {.headers = TableView(headers), .priority = 3}, &bytes);
  bytes += BodyFrame(1, body.substr(0, 2000));
  AppendHeartbeat(&bytes);
  bytes += Say(0, ConnectionBlocked{.reason = "memory"});
  bytes += BodyFrame(1, body.substr(2000, 18'000)) + BodyFrame(1, body.substr(20'000));
  bytes += Say(0, ConnectionUnblocked{});
  bytes += Say(1, QueueDeclareOk{.queue = "q", .message_count = 7, .consumer_count = 8});
  bytes += Say(1, BasicReturn{.reply_code = 312, .reply_text = "NO_ROUTE", .routing_key = "b"});
  AppendContentHeaderFrame(1, 1, {}, &bytes);
  bytes += BodyFrame(1, "b");
  bytes += Say(1, BasicAck{.delivery_tag = 2, .multiple = true});
  bytes += Say(1, BasicNack{.delivery_tag = 3});
  bytes += Say(1, ChannelFlow{.active = true});
  bytes += Deliver(2);
  AppendContentHeaderFrame(1, 0, {}, &bytes);
  bytes += Say(1, BasicCancel{.consumer_tag = "me"});
  bytes += Say(1, ChannelClose{.reply_code = 404, .reply_text = "NOT_FOUND"});
  bytes += Say(0, ConnectionClose{.reply_code = 320, .reply_text = "CONNECTION_FORCED"});
  return bytes;
}

// What a user was told, and what the server was.
struct Life {
  std::vector<std::string> calls;
  std::string answers;
};

class User : public ConnectionListener, public ChannelListener {
 public:
  Life Live(std::string_view bytes, std::size_t piece_size) {
    server_.on_step = [](FakeServer::Step) { return true; };
    connection_ = std::make_unique<Connection>(
        loop_,
        ConnectionOptions{.endpoints = {{.host = "127.0.0.1", .port = server_.port()}},
                          .connection_name = "test",
                          .heartbeat = absl::ZeroDuration(),
                          .reconnect_initial = absl::Seconds(10)},
        this);
    RunUntil(loop_, [&] {
      if (server_.connections == 1 && server_.unsent() == 0) {
        server_.SayBytes(bytes.substr(0, piece_size));
        bytes.remove_prefix(std::min(piece_size, bytes.size()));
      }
      return lost_ && server_.open_connections() == 0;
    });
    return {calls_, server_.heard_bytes};
  }

 private:
  void Note(std::string call) { calls_.push_back(std::move(call)); }

  void OnOpen() override {
    Note("open");
    channel_ = connection_->OpenChannel(this);
    channel_->ConfirmSelect([this](const absl::Status& status) { Note(status.ToString()); });
    channel_->Consume(
        {.queue = "q", .consumer_tag = "me"},
        [this](const absl::StatusOr<std::string>& tag) { Note("consumes " + tag.value()); });
    channel_->DeclareQueue({.name = "q"}, [this](const absl::StatusOr<DeclareOk>& ok) {
      Note(absl::StrCat("declared ", ok->message_count, " ", ok->consumer_count));
    });
    for (const char* key : {"a", "b", "c", "d"}) {
      channel_->Publish(
          {.routing_key = key, .body = key}, [this, key](const PublishResult& result) {
            Note(absl::StrCat(key, " ", static_cast<int>(result.outcome), " ", result.code));
          });
    }
  }
  void OnLost(const absl::Status& why) override {
    Note("lost " + std::string(why.message()).substr(why.message().find(' ')));
    lost_ = true;
  }
  void OnBlocked(bool blocked, std::string_view reason) override {
    Note(absl::StrCat("blocked ", blocked, " ", std::string(reason)));
  }
  void OnDelivery(std::string_view tag, MessagePtr message) override {
    Note(absl::StrCat("delivery to ", std::string(tag), ": ", message->delivery_tag.tag, " ",
                      std::string(message->header), " ", std::string(message->body)));
  }
  void OnConsumerCancelled(std::string_view tag) override { Note("cancelled " + std::string(tag)); }
  void OnChannelClosed(const ChannelError& why) override { Note(why.status.ToString()); }

  EventLoop loop_;
  FakeServer server_{loop_};
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Channel> channel_;
  std::vector<std::string> calls_;
  bool lost_ = false;
};

TEST(Pieces, MakeNoDifference) {
  const std::string bytes = LifeOfAServer();
  const Life expected = User().Live(bytes, bytes.size());
  EXPECT_EQ(expected.calls.size(), 15U);
  for (const std::size_t size :
       {std::size_t{5}, std::size_t{97}, std::size_t{4096}, std::size_t{10'000}}) {
    const Life life = User().Live(bytes, size);
    EXPECT_EQ(life.calls, expected.calls) << size;
    EXPECT_EQ(life.answers, expected.answers) << size;
  }
}

TEST(Pieces, MayBeSingleBytes) {
  const std::string bytes = LifeOfAServer();
  const Life expected = User().Live(bytes, bytes.size());
  const Life life = User().Live(bytes, 1);
  EXPECT_EQ(life.calls, expected.calls);
  EXPECT_EQ(life.answers, expected.answers);
}

}  // namespace pieces_test
}  // namespace retryq::amqp
