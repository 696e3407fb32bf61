#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "retryq/amqp/connection.h"
#include "unit/amqp/hostile/violation.h"
#include "unit/amqp/lifetime_stage.h"

// Inside any callback its connection, channel or consumer may go. Meant to be run with
// AddressSanitizer, which tells whether anything is touched behind that.
namespace retryq::amqp {
namespace callback_lifetime_test {

using hostile::BodyFrame;
using hostile::Deliver;
using hostile::Header;
using hostile::Say;

enum class Destroyed {
  kConnection,
  kChannel,
  kConnectionThenChannel,
  kChannelThenConnection,
  kConsumer
};
constexpr Destroyed kEach[] = {Destroyed::kConnection, Destroyed::kChannel,
                               Destroyed::kConnectionThenChannel, Destroyed::kChannelThenConnection,
                               Destroyed::kConsumer};

std::string TooLong() { return std::string(256, 'n'); }

// A connection with a channel, number 1, that confirms and consumes as "me"; a publish and a
// declare are unanswered. The callback that is to strike destroys what it is told to.
class Scene : public LifetimeStage, public ConnectionListener, public ChannelListener {
 public:
  // `strikes`: which of the listeners' calls strikes, if any does.
  Scene(Destroyed destroyed, std::string strikes)
      : destroyed_(destroyed), strikes_(std::move(strikes)) {
    connection = std::make_unique<Connection>(loop, options, this);
  }

  void OpenAll() {
    Await([this] { return opened_; });
    channel = connection->OpenChannel(this);
    bool consumes = false;
    channel->ConfirmSelect([](const absl::Status&) {});
    channel->Consume({.queue = "q", .consumer_tag = "me"},
                     [&](const absl::StatusOr<std::string>& tag) { consumes = tag.ok(); });
    Await([&] { return consumes; });
    server.obliging = false;
  }
  // To be called behind whatever shall be answered first.
  void AskForMore() {
    channel->Publish({.routing_key = "more", .body = "more"},
                     [this](const PublishResult&) { OnCallOfChannel(); });
    channel->DeclareQueue({.name = "more"},
                          [this](const absl::StatusOr<DeclareOk>&) { OnCallOfChannel(); });
    if (channel->is_open()) AwaitHeard("1 queue.declare");
  }

  // A callback, whatever its arguments, that strikes.
  auto Strike() {
    return [this](auto&&...) { OnStrike(); };
  }
  bool struck() const { return struck_; }

  ConnectionOptions options = OptionsToConnect();
  std::unique_ptr<Connection> connection;
  std::unique_ptr<Channel> channel;

 private:
  void OnStrike() {
    EXPECT_FALSE(std::exchange(struck_, true)) << "called twice";
    switch (destroyed_) {
      case Destroyed::kConnection:
        connection.reset();
        break;
      case Destroyed::kChannel:
        channel.reset();
        break;
      case Destroyed::kConnectionThenChannel:
        connection.reset();
        channel.reset();
        break;
      case Destroyed::kChannelThenConnection:
        channel.reset();
        connection.reset();
        break;
      case Destroyed::kConsumer:
        if (channel != nullptr) channel->Cancel("me", [](const absl::Status&) {});
    }
  }

  void OnCallOfConnection(const char* name) {
    EXPECT_NE(connection, nullptr) << name << " of a connection that is gone";
    if (name == strikes_ && !struck_) OnStrike();
  }
  void OnCallOfChannel(const char* name = "an answer") {
    EXPECT_NE(channel, nullptr) << name << " of a channel that is gone";
    if (name == strikes_ && !struck_) OnStrike();
  }

  void OnOpen() override {
    opened_ = true;
    OnCallOfConnection("OnOpen");
  }
  void OnLost(const absl::Status& why) override {
    OnCallOfConnection("OnLost");
    EXPECT_FALSE(why.ok());  // it must be there still
  }
  void OnBlocked(bool blocked, std::string_view reason) override {
    OnCallOfConnection(blocked ? "OnBlocked" : "OnUnblocked");
    EXPECT_EQ(reason, blocked ? "memory" : "");
  }
  void OnDelivery(std::string_view consumer_tag, MessagePtr message) override {
    OnCallOfChannel("OnDelivery");
    EXPECT_EQ(consumer_tag, "me");
    EXPECT_EQ(message->body, "body");
  }
  void OnConsumerCancelled(std::string_view consumer_tag) override {
    OnCallOfChannel("OnConsumerCancelled");
    EXPECT_EQ(consumer_tag, "me");
  }
  void OnChannelClosed(const ChannelError& why) override {
    OnCallOfChannel("OnChannelClosed");
    EXPECT_FALSE(why.status.ok());
  }

  const Destroyed destroyed_;
  const std::string strikes_;
  bool opened_ = false;
  bool struck_ = false;
};

// A callback, and what makes it come.
struct Callback {
  std::string name;
  // Of the listeners: which call it is. Else empty, and `ask` passes it on.
  std::string of_listener = {};
  std::function<void(Scene&)> ask = nullptr;
  std::string answer = {};  // what the server says then
  bool hangs_up = false;    // or it does this
};

std::ostream& operator<<(std::ostream& out, const Callback& callback) {
  return out << callback.name;
}

class CallbackLifetimeTest : public ::testing::TestWithParam<Callback> {};

// What the server goes on with, all in one piece with what brings the callback.
std::string WhatFollows() {
  return Deliver(5) + Header(4) + BodyFrame(1, "body") +
         Say(0, method::ConnectionBlocked{.reason = "memory"}) +
         Say(0, method::ConnectionUnblocked{});
}

TEST_P(CallbackLifetimeTest, CallbacksMayDestroyEverything) {
  const Callback& callback = GetParam();
  for (const Destroyed destroyed : kEach) {
    SCOPED_TRACE(static_cast<int>(destroyed));
    Scene scene(destroyed, callback.of_listener);
    scene.OpenAll();
    if (callback.ask) callback.ask(scene);
    if (scene.channel != nullptr) scene.AskForMore();
    if (callback.hangs_up) {
      scene.server.HangUp();
    } else if (!callback.answer.empty()) {
      scene.server.SayBytes(callback.answer + WhatFollows());
    }
    scene.Await([&] { return scene.struck(); });
    scene.Settle();
  }
}

std::vector<Callback> Listeners() {
  using namespace method;  // NOLINT(google-build-using-namespace)
  return {
      {"OnLost", "OnLost", nullptr, "", true},
      {"OnLostWithAGoodbye", "OnLost", nullptr, Say(0, ConnectionClose{.reply_code = 320})},
      {"OnLostOverABreach", "OnLost", nullptr, Say(9, BasicAck{})},
      {"OnBlocked", "OnBlocked", nullptr, Say(0, ConnectionBlocked{.reason = "memory"})},
      {"OnUnblocked", "OnUnblocked", nullptr, Say(0, ConnectionUnblocked{})},
      {"OnDelivery", "OnDelivery", nullptr, Deliver(1) + Header(4) + BodyFrame(1, "body")},
      {"OnConsumerCancelled", "OnConsumerCancelled", nullptr,
       Say(1, BasicCancel{.consumer_tag = "me", .nowait = true})},
      {"OnChannelClosed", "OnChannelClosed", nullptr, Say(1, ChannelClose{.reply_code = 404})},
      {"OnChannelClosedOverABreach", "OnChannelClosed", nullptr,
       Say(1, BasicAck{.delivery_tag = 99})},
      {"OnChannelClosedWithTheConnection", "OnChannelClosed", nullptr, "", true},
  };
}

std::vector<Callback> Answers() {
  using namespace method;  // NOLINT(google-build-using-namespace)
  const std::string refusal = Say(1, ChannelClose{.reply_code = 404});
  const auto declare = [](Scene& scene) {
    scene.channel->DeclareQueue({.name = "q"}, scene.Strike());
  };
  const auto publish = [](Scene& scene) {
    scene.channel->Publish({.routing_key = "k", .body = "b"}, scene.Strike());
  };
  const auto close = [](Scene& scene) {
    const auto strike = scene.Strike();
    scene.channel->Close([strike] { strike(); });
    scene.AwaitHeard("1 channel.close");
  };
  return {
      {"DeclareQueue", "", declare, Say(1, QueueDeclareOk{.queue = "q"})},
      {"DeclareQueueRefused", "", declare, refusal},
      {"DeclareQueueLost", "", declare, "", true},
      {"DeclareQueueUnsent", "",
       [](Scene& scene) { scene.channel->DeclareQueue({.name = TooLong()}, scene.Strike()); }},
      {"BindQueue", "",
       [](Scene& scene) { scene.channel->BindQueue("q", "e", "k", {}, scene.Strike()); },
       Say(1, QueueBindOk{})},
      {"DeleteQueue", "", [](Scene& scene) { scene.channel->DeleteQueue("q", scene.Strike()); },
       Say(1, QueueDeleteOk{})},
      {"PurgeQueue", "", [](Scene& scene) { scene.channel->PurgeQueue("q", scene.Strike()); },
       Say(1, QueuePurgeOk{})},
      {"DeclareExchange", "",
       [](Scene& scene) { scene.channel->DeclareExchange({.name = "e"}, scene.Strike()); },
       Say(1, ExchangeDeclareOk{})},
      {"CheckExchange", "", [](Scene& scene) { scene.channel->CheckExchange("e", scene.Strike()); },
       Say(1, ExchangeDeclareOk{})},
      {"DeleteExchange", "",
       [](Scene& scene) { scene.channel->DeleteExchange("e", scene.Strike()); },
       Say(1, ExchangeDeleteOk{})},
      {"ConfirmSelect", "", [](Scene& scene) { scene.channel->ConfirmSelect(scene.Strike()); },
       Say(1, ConfirmSelectOk{})},
      {"Qos", "", [](Scene& scene) { scene.channel->Qos(1, scene.Strike()); },
       Say(1, BasicQosOk{})},
      {"Consume", "",
       [](Scene& scene) {
         scene.channel->Consume({.queue = "q", .consumer_tag = "you"}, scene.Strike());
       },
       Say(1, BasicConsumeOk{.consumer_tag = "you"})},
      {"Cancel", "", [](Scene& scene) { scene.channel->Cancel("me", scene.Strike()); },
       Say(1, BasicCancelOk{.consumer_tag = "me"})},

      {"PublishConfirmed", "", publish, Say(1, BasicAck{.delivery_tag = 1})},
      {"PublishConfirmedWithOthers", "", publish,
       Say(1, BasicAck{.delivery_tag = 2, .multiple = true})},
      {"PublishNacked", "", publish, Say(1, BasicNack{.delivery_tag = 1})},
      {"PublishReturned", "", publish,
       Say(1, BasicReturn{.reply_code = 312, .reply_text = "NO_ROUTE", .routing_key = "k"}) +
           Header(1) + BodyFrame(1, "b") + Say(1, BasicAck{.delivery_tag = 1})},
      {"PublishRefused", "", publish, refusal},
      {"PublishLost", "", publish, "", true},
      {"PublishUnsent", "",
       [](Scene& scene) { scene.channel->Publish({.routing_key = TooLong()}, scene.Strike()); }},

      {"ChannelClose", "", close, Say(1, ChannelCloseOk{})},
      {"ChannelCloseLost", "", close, "", true},
      {"ChannelCloseOfAClosedOne", "",
       [](Scene& scene) {
         scene.server.Say(1, ChannelClose{.reply_code = 404});
         scene.AwaitHeard("1 channel.close-ok");
         const auto strike = scene.Strike();
         scene.channel->Close([strike] { strike(); });
       }},
      {"UpdateSecret", "",
       [](Scene& scene) { scene.connection->UpdateSecret("new", scene.Strike()); },
       Say(0, ConnectionUpdateSecretOk{})},
      {"UpdateSecretLost", "",
       [](Scene& scene) { scene.connection->UpdateSecret("new", scene.Strike()); }, "", true},
      {"UpdateSecretUnsent", "",
       [](Scene& scene) {
         scene.connection->UpdateSecret(std::string(100'000, 's'), scene.Strike());
       }},
      {"ConnectionClose", "",
       [](Scene& scene) {
         const auto strike = scene.Strike();
         scene.connection->Close(absl::Seconds(20), [strike] { strike(); });
         scene.AwaitHeard("0 connection.close 200");
       },
       Say(0, ConnectionCloseOk{})},
      {"ConnectionCloseWithoutAnAnswer", "",
       [](Scene& scene) {
         const auto strike = scene.Strike();
         scene.connection->Close(absl::Milliseconds(5), [strike] { strike(); });
       }},
      {"ConnectionCloseLost", "",
       [](Scene& scene) {
         const auto strike = scene.Strike();
         scene.connection->Close(absl::Seconds(20), [strike] { strike(); });
         scene.AwaitHeard("0 connection.close 200");
       },
       "", true},
  };
}

std::string NameOf(const ::testing::TestParamInfo<Callback>& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(Listener, CallbackLifetimeTest, ::testing::ValuesIn(Listeners()), NameOf);
INSTANTIATE_TEST_SUITE_P(Answer, CallbackLifetimeTest, ::testing::ValuesIn(Answers()), NameOf);

// ---- those that come before there is a channel

TEST(CallbackLifetime, OnOpenMayDestroyItsConnection) {
  Scene scene(Destroyed::kConnection, "OnOpen");
  scene.Await([&] { return scene.struck(); });
  scene.Settle();
  EXPECT_EQ(scene.server.connections, 1);
}

TEST(CallbackLifetime, OnLostMayDestroyAConnectionThatWasNeverEstablished) {
  Scene scene(Destroyed::kConnection, "OnLost");
  scene.server.on_step = [&](FakeServer::Step) {
    scene.server.SayBytes("HTTP/1.1 400 Bad Request\r\n\r\n");
    return true;
  };
  scene.Await([&] { return scene.struck(); });
  scene.Settle();
  EXPECT_EQ(scene.server.connections, 1);
}

TEST(CallbackLifetime, OnLostMayDestroyAConnectionWithWrongOptions) {
  Scene scene(Destroyed::kConnection, "OnLost");
  scene.options.endpoints.clear();
  scene.connection = std::make_unique<Connection>(scene.loop, scene.options, &scene);
  scene.Await([&] { return scene.struck(); });
  scene.Settle();
}

TEST(CallbackLifetime, OnLostMayDestroyAConnectionThatNobodyAccepted) {
  Scene scene(Destroyed::kConnection, "OnLost");
  scene.options.endpoints = {{.host = "127.0.0.1", .port = 1}};
  scene.connection = std::make_unique<Connection>(scene.loop, scene.options, &scene);
  scene.Await([&] { return scene.struck(); });
  scene.Settle();
}

TEST(CallbackLifetime, OnChannelClosedMayDestroyAChannelThatWasNeverOpen) {
  for (const Destroyed destroyed : kEach) {
    Scene scene(destroyed, "OnChannelClosed");
    scene.channel = scene.connection->OpenChannel(&scene);
    scene.AskForMore();
    scene.Await([&] { return scene.struck(); });
    scene.Settle();
  }
}

// ---- the loop's own

TEST(CallbackLifetime, PostedWorkMayDestroyEverything) {
  for (const Destroyed destroyed : kEach) {
    Scene scene(destroyed, "");
    scene.OpenAll();
    scene.AskForMore();
    scene.loop.executor()->Post(scene.Strike());
    scene.server.SayBytes(WhatFollows());
    scene.Await([&] { return scene.struck(); });
    scene.Settle();
  }
}

TEST(CallbackLifetime, ATimerMayDestroyEverythingAndItself) {
  for (const Destroyed destroyed : kEach) {
    Scene scene(destroyed, "");
    scene.OpenAll();
    scene.AskForMore();
    std::unique_ptr<Timer> timer;
    std::unique_ptr<Timer> due_as_well;
    timer = scene.loop.After(absl::ZeroDuration(), [&, strike = scene.Strike()] {
      timer.reset();
      due_as_well.reset();
      strike();
    });
    due_as_well = scene.loop.After(absl::ZeroDuration(), [] { FAIL() << "cancelled"; });
    scene.server.SayBytes(WhatFollows());
    scene.Await([&] { return scene.struck(); });
    scene.Settle();
  }
}

TEST(CallbackLifetime, ADrainMayDestroyEverythingAndItself) {
  for (const Destroyed destroyed : kEach) {
    Scene scene(destroyed, "");
    scene.OpenAll();
    scene.AskForMore();
    std::shared_ptr<void> other = scene.loop.OnDrain([](const EventLoop::DrainDone&) {});
    std::shared_ptr<void> handle;
    handle = scene.loop.OnDrain([&, strike = scene.Strike()](const EventLoop::DrainDone& done) {
      handle.reset();
      other.reset();
      strike();
      done();
    });
    scene.loop.Drain();
    EXPECT_TRUE(scene.loop.Run().ok());
    EXPECT_TRUE(scene.struck());
    scene.Settle();
  }
}

TEST(CallbackLifetime, ADrainMayFinishAfterTheLoopIsDestroyed) {
  EventLoop::DrainDone end;
  std::shared_ptr<void> handle;
  {
    EventLoop loop;
    handle = loop.OnDrain([&](const EventLoop::DrainDone& done) {
      end = done;
      loop.Stop();
    });
    loop.Drain();
    EXPECT_TRUE(loop.Run().ok());
  }
  end();
  handle.reset();
}

}  // namespace callback_lifetime_test
}  // namespace retryq::amqp
