#include <ostream>

#include "retryq/amqp/make_broker.h"
#include "support/test.h"
#include "unit/amqp/hostile/violation.h"
#include "unit/amqp/lifetime_stage.h"

// Inside any callback of a broker its subscriptions may go, and its listener. Meant to be run with
// AddressSanitizer.
namespace retryq::amqp::broker_lifetime_test {

using hostile::BodyFrame;
using hostile::Deliver;
using hostile::Header;
using hostile::Say;

// A broker with a subscription; a publish and a declare are unanswered. The callback that is to
// strike takes away both, subscription and listener.
class Scene : public LifetimeStage, public BrokerListener, public SubscriptionListener {
 public:
  // `strikes`: which of the listeners' calls strikes, if any does.
  explicit Scene(std::string strikes) : strikes_(std::move(strikes)) {
    broker = MakeBroker(loop, OptionsToConnect());
    broker->SetListener(this);
    subscription = broker->Consume({.queue = "q", .consumer_tag = "me"}, this);
  }

  void AwaitSubscribed() {
    Await([this] { return subscribed_ && ready_; });
    AwaitHeard("1 confirm.select");  // of the other connection
    server.obliging = false;
  }
  // To be called behind whatever shall be answered first.
  void AskForMore() {
    broker->Publish({.routing_key = "more", .body = "more"},
                    [this](const PublishResult&) { OnCallOfBroker("an answer"); });
    broker->Declare({.queue = {.name = "more"}},
                    [this](const absl::StatusOr<DeclareOk>&) { OnCallOfBroker("an answer"); });
  }

  auto Strike() {
    return [this](auto&&...) { OnStrike(); };
  }
  bool struck() const { return struck_; }

  std::unique_ptr<Broker> broker;
  std::unique_ptr<Subscription> subscription;

 private:
  void OnStrike() {
    EXPECT_FALSE(std::exchange(struck_, true)) << "called twice";
    subscription.reset();
    listening_ = false;
    broker->SetListener(nullptr);
  }
  void OnCallOfBroker(const char* name) {
    EXPECT_TRUE(listening_) << name << " though nobody listens";
    if (name == strikes_ && !struck_) OnStrike();
  }
  void OnCallOfSubscription(const char* name) {
    EXPECT_NE(subscription, nullptr) << name << " of a subscription that is gone";
    if (name == strikes_ && !struck_) OnStrike();
  }

  void OnReady() override {
    ready_ = true;
    OnCallOfBroker("OnReady");
  }
  void OnLost(const absl::Status& why) override {
    OnCallOfBroker("OnLost");
    EXPECT_FALSE(why.ok());
  }
  void OnBlocked(bool, std::string_view reason) override {
    OnCallOfBroker("OnBlocked");
    EXPECT_EQ(reason, "memory");
  }
  void OnSubscribed() override {
    subscribed_ = true;
    OnCallOfSubscription("OnSubscribed");
  }
  void OnDelivery(MessagePtr message) override {
    OnCallOfSubscription("OnDelivery");
    EXPECT_EQ(message->body, "body");
  }
  void OnInterrupted(const absl::Status& why) override {
    OnCallOfSubscription("OnInterrupted");
    EXPECT_FALSE(why.ok());
  }

  const std::string strikes_;
  bool ready_ = false;
  bool subscribed_ = false;
  bool listening_ = true;
  bool struck_ = false;
};

// A callback, and what makes it come once the broker works.
struct Callback {
  std::string name;
  // Of the listeners: which call it is. Else empty, and `ask` passes it on.
  std::string of_listener = {};
  std::function<void(Scene&)> ask = nullptr;
  std::string answer = {};  // what the server says then, to whoever of both spoke last
  bool hangs_up = false;    // or it does this
};

std::ostream& operator<<(std::ostream& out, const Callback& callback) {
  return out << callback.name;
}

class BrokerLifetimeTest : public ::testing::TestWithParam<Callback> {};

TEST_P(BrokerLifetimeTest, CallbacksMayDestroyTheSubscriptionAndTheListener) {
  const Callback& callback = GetParam();
  Scene scene(callback.of_listener);
  scene.AwaitSubscribed();
  if (callback.ask) callback.ask(scene);
  if (callback.hangs_up) {
    scene.AskForMore();
    scene.server.HangUp();
  } else {
    scene.server.SayBytes(callback.answer);
  }
  scene.Await([&] { return scene.struck(); });
  scene.Settle();
}

std::vector<Callback> Listeners() {
  using namespace method;  // NOLINT(google-build-using-namespace)
  const auto address_publishing = [](Scene& scene) { scene.server.Address("1 confirm.select"); };
  const auto address_consuming = [](Scene& scene) { scene.server.Address("1 basic.consume"); };
  return {
      {"OnLost", "OnLost", nullptr, "", true},
      {"OnBlocked", "OnBlocked", address_publishing, Say(0, ConnectionBlocked{.reason = "memory"})},
      {"OnDelivery", "OnDelivery", address_consuming,
       Deliver(1) + Header(4) + BodyFrame(1, "body") + Deliver(2) + Header(4) +
           BodyFrame(1, "body")},
      {"OnInterruptedByACancel", "OnInterrupted", address_consuming,
       Say(1, BasicCancel{.consumer_tag = "me", .nowait = true})},
      {"OnInterruptedByAClosedChannel", "OnInterrupted", address_consuming,
       Say(1, ChannelClose{.reply_code = 404})},
      {"OnInterruptedByALostConnection", "OnInterrupted", address_consuming,
       Say(0, ConnectionClose{.reply_code = 320})},
  };
}

std::vector<Callback> Answers() {
  using namespace method;  // NOLINT(google-build-using-namespace)
  const auto declare = [](Scene& scene) {
    scene.server.obliging = true;
    scene.broker->Declare({.queue = {.name = "q"}, .exchange = ExchangeDeclaration{.name = "e"}},
                          scene.Strike());
    scene.AskForMore();
  };
  const auto check = [](Scene& scene) {
    scene.server.obliging = true;
    scene.broker->CheckExchange("e", scene.Strike());
    scene.AskForMore();
  };
  const auto publish = [](Scene& scene) {
    scene.broker->Publish({.routing_key = "k", .body = "b"}, scene.Strike());
    scene.AskForMore();
    scene.AwaitHeard("1 basic.publish");
  };
  const auto cancel = [](Scene& scene) {
    const auto strike = scene.Strike();
    scene.subscription->Cancel([strike] { strike(); });
    scene.AwaitHeard("1 basic.cancel");
  };
  const auto close = [](Scene& scene) {
    const auto strike = scene.Strike();
    scene.subscription->Close([strike] { strike(); });
    scene.AwaitHeard("1 channel.close");
  };
  return {
      {"Declare", "", declare},
      {"DeclareLost", "",
       [](Scene& scene) { scene.broker->Declare({.queue = {.name = "q"}}, scene.Strike()); }, "",
       true},
      {"CheckExchange", "", check},
      {"PublishConfirmed", "", publish, Say(1, BasicAck{.delivery_tag = 2, .multiple = true})},
      {"PublishRefused", "", publish, Say(1, ChannelClose{.reply_code = 404})},
      {"PublishLost", "",
       [](Scene& scene) {
         scene.broker->Publish({.routing_key = "k", .body = "b"}, scene.Strike());
       },
       "", true},
      {"Cancel", "", cancel, Say(1, BasicCancelOk{.consumer_tag = "me"})},
      {"CancelLost", "", cancel, "", true},
      {"CloseOfASubscription", "", close, Say(1, ChannelCloseOk{})},
      {"CloseOfASubscriptionLost", "", close, "", true},
      {"CancelWithoutAConsumer", "",
       [](Scene& scene) {
         scene.server.HangUp();
         scene.AwaitHeard("1 channel.open");
         const auto strike = scene.Strike();
         scene.subscription->Cancel([strike] { strike(); });
       }},
  };
}

std::string NameOf(const ::testing::TestParamInfo<Callback>& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(Listener, BrokerLifetimeTest, ::testing::ValuesIn(Listeners()), NameOf);
INSTANTIATE_TEST_SUITE_P(Answer, BrokerLifetimeTest, ::testing::ValuesIn(Answers()), NameOf);

TEST(BrokerLifetime, OnReadyMayDestroyEverything) {
  Scene scene("OnReady");
  scene.Await([&] { return scene.struck(); });
  scene.Settle();
}

TEST(BrokerLifetime, OnSubscribedMayDestroyEverything) {
  Scene scene("OnSubscribed");
  scene.Await([&] { return scene.struck(); });
  scene.Settle();
}

TEST(BrokerLifetime, MayEndWithEverythingOpen) {
  Scene scene("");
  scene.AwaitSubscribed();
  scene.AskForMore();
  scene.subscription.reset();
  scene.broker.reset();
  scene.Settle();
}

}  // namespace retryq::amqp::broker_lifetime_test
