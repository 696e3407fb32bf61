#include "amqp/broker/subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "retryq/amqp/make_broker.h"
#include "unit/amqp/lifetime_stage.h"

namespace retryq::amqp {
namespace subscription_test {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// A broker on connections that come back within milliseconds. The pauses are those of the
// subscription: 100 ms after the first failure, then twice as long, or half of that.
class SubscriptionTest : public ::testing::Test, public LifetimeStage, public SubscriptionListener {
 protected:
  void Consume() {
    subscription_ = broker_->Consume({.queue = "queue", .consumer_tag = "me"}, this);
  }
  void AwaitSubscribed(int times) {
    Await([this, times] { return subscribed_ == times; });
    AddressTheConsumer();
  }
  // The connection for publishes may have spoken meanwhile.
  void AddressTheConsumer() { server.Address("1 basic.consume"); }
  MessagePtr Delivered(std::uint64_t tag) {
    deliveries_.clear();
    AddressTheConsumer();
    server.Say(1, method::BasicDeliver{.consumer_tag = "me", .delivery_tag = tag});
    server.SayContent(1, {}, "body");
    Await([this] { return !deliveries_.empty(); });
    return deliveries_.front();
  }
  // From now on each attempt to consume ends like that.
  void EndEachAttempt(std::function<void(std::uint16_t channel)> end) {
    server.on_method = [this, end = std::move(end)](std::uint16_t channel,
                                                    const ClientMethod& asked) {
      if (!std::holds_alternative<method::BasicConsume>(asked)) return false;
      attempts_.push_back(loop.clock().SinceBoot());
      end(channel);
      return true;
    };
  }

  void OnSubscribed() override { ++subscribed_; }
  void OnDelivery(MessagePtr message) override { deliveries_.push_back(std::move(message)); }
  void OnInterrupted(const absl::Status& why) override {
    interrupted_because_ = std::string(why.message());
  }

  const std::unique_ptr<Broker> broker_ = MakeBroker(loop, OptionsToConnect());
  std::unique_ptr<Subscription> subscription_;
  int subscribed_ = 0;
  std::vector<MessagePtr> deliveries_;
  std::string interrupted_because_;
  std::vector<absl::Duration> attempts_;
};

// The numbers of the new channel are those of the old one: it would be another message that is
// settled.
TEST_F(SubscriptionTest, SettlesNothingThatCameOnAnEarlierChannel) {
  Consume();
  AwaitSubscribed(1);
  const MessagePtr stale = Delivered(1);
  AddressTheConsumer();
  server.Say(1, method::ChannelClose{.reply_code = 404});
  AwaitSubscribed(2);
  const MessagePtr fresh = Delivered(1);
  broker_->Ack(stale->delivery_tag);
  broker_->Reject(stale->delivery_tag, /*requeue=*/true);
  Settle();
  EXPECT_THAT(server.heard, Not(Contains(StartsWith("1 basic.ack"))));
  EXPECT_THAT(server.heard, Not(Contains(StartsWith("1 basic.nack"))));
  broker_->Ack(fresh->delivery_tag);
  AwaitHeard("1 basic.ack 1");
}

// Of a broker that does not mind it memory would be without limit.
TEST_F(SubscriptionTest, LeavesABrokerThatDeliversFarMoreThanThePrefetch) {
  constexpr std::size_t kPrefetch = 4;
  constexpr std::size_t kMost = 2 * kPrefetch + 100;
  subscription_ = broker_->Consume({.queue = "queue", .prefetch = 4, .consumer_tag = "me"}, this);
  AwaitSubscribed(1);
  for (std::uint64_t tag = 1; tag <= 3 * kMost; ++tag) {
    server.Say(1, method::BasicDeliver{.consumer_tag = "me", .delivery_tag = tag});
    server.SayContent(1, {}, "body");
  }
  Await([this] { return !interrupted_because_.empty(); });
  EXPECT_EQ(deliveries_.size(), kMost);
  EXPECT_THAT(interrupted_because_, HasSubstr("the broker has delivered 109 messages"));
  AwaitSubscribed(2);
}

// Each that is settled makes room for another.
TEST_F(SubscriptionTest, CountsWhatIsNotSettled) {
  constexpr std::uint64_t kMessages = 500;
  subscription_ = broker_->Consume({.queue = "queue", .prefetch = 1, .consumer_tag = "me"}, this);
  AwaitSubscribed(1);
  for (std::uint64_t tag = 1; tag <= kMessages; ++tag) {
    const MessagePtr message = Delivered(tag);
    tag % 2 == 0 ? broker_->Ack(message->delivery_tag)
                 : broker_->Reject(message->delivery_tag, /*requeue=*/true);
  }
  EXPECT_THAT(interrupted_because_, IsEmpty());
}

TEST_F(SubscriptionTest, TriesAgainAfterAPauseWhereTheQueueIsRefused) {
  EndEachAttempt([this](std::uint16_t channel) {
    server.Say(channel, method::ChannelClose{.reply_code = 403});
  });
  Consume();
  Await([this] { return attempts_.size() == 3; });
  EXPECT_GE(attempts_[1] - attempts_[0], absl::Milliseconds(50));
  EXPECT_GE(attempts_[2] - attempts_[1], absl::Milliseconds(100));
}

TEST_F(SubscriptionTest, TriesAgainAfterAPauseWhereTheConnectionIsLostEachTime) {
  EndEachAttempt([this](std::uint16_t) { server.HangUp(); });
  Consume();
  Await([this] { return attempts_.size() == 3; });
  EXPECT_GE(attempts_[1] - attempts_[0], absl::Milliseconds(50));
  EXPECT_GE(attempts_[2] - attempts_[1], absl::Milliseconds(100));
}

// As another consumer can do it, over and over, that is no reason for this one to wait for ever.
TEST_F(SubscriptionTest, TriesAgainThoughConnectionsEndSoonerThanItsPause) {
  constexpr std::size_t kFailures = 4;
  EndEachAttempt([this](std::uint16_t) {
    if (attempts_.size() <= kFailures) server.HangUp();
  });
  Consume();
  Await([this] { return attempts_.size() == kFailures; });
  std::unique_ptr<Timer> next;
  const std::function<void()> cut = [&] {
    server.HangUp();
    next = loop.After(absl::Milliseconds(150), cut);
  };
  cut();
  Await([this] { return attempts_.size() > kFailures; });
}

// Whatever the connection's pause is, in milliseconds.
class SuspectsTest : public SubscriptionTest, public ::testing::WithParamInterface<int> {};

// The one that ends the connection each time has begun its own pause later, so it is the other
// one's turn: also where both pauses are over when the connection is back.
TEST_P(SuspectsTest, WhoHasWaitedLongestGoesFirst) {
  std::vector<std::string> asked;
  server.on_method = [this, &asked](std::uint16_t, const ClientMethod& request) {
    const auto* const consume = std::get_if<method::BasicConsume>(&request);
    if (consume == nullptr) return false;
    asked.emplace_back(consume->queue);
    if (consume->queue == "bad") server.HangUp();
    return consume->queue == "bad";
  };
  ConnectionOptions options = OptionsToConnect();
  options.reconnect_initial = options.reconnect_max = absl::Milliseconds(GetParam());
  const std::unique_ptr<Broker> broker = MakeBroker(loop, options);
  const auto bad = broker->Consume({.queue = "bad", .consumer_tag = "bad"}, this);
  const auto good = broker->Consume({.queue = "good", .consumer_tag = "good"}, this);
  Await([this] { return subscribed_ == 1; });
  // The first time is before there is a suspect.
  EXPECT_LE(std::count(asked.begin(), asked.end(), "bad"), 2);
}
INSTANTIATE_TEST_SUITE_P(Pauses, SuspectsTest, ::testing::Values(5, 150, 800));

}  // namespace subscription_test
}  // namespace retryq::amqp
