#include "amqp/broker/subscription.h"

#include "retryq/amqp/make_broker.h"
#include "support/test.h"
#include "unit/amqp/lifetime_stage.h"

namespace retryq::amqp::subscription_test {

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
  bool PassOn(const MessagePtr& message, PublishParams* copy) override {
    EXPECT_GT(message->left_out, 0U);
    *copy = {.exchange = "", .routing_key = "parked", .properties = message->properties};
    return true;
  }
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
TEST_F(SubscriptionTest, SettlesNoDeliveryOfAnEarlierChannel) {
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
TEST_F(SubscriptionTest, ResubscribesIfTheBrokerFarExceedsThePrefetch) {
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

// One that is larger than memory is published as it arrives, and delivered once that has ended.
class LargeBodies : public SubscriptionTest {
 protected:
  static constexpr std::uint64_t kMaxBody = 100'000;

  void ConsumeWithLimit() {
    server.on_method = [](std::uint16_t, const ClientMethod& asked) {
      return std::holds_alternative<method::BasicPublish>(asked);  // its body is yet to come
    };
    subscription_ = broker_->Consume(
        {.queue = "queue", .prefetch = 4, .consumer_tag = "me", .max_body = kMaxBody}, this);
    AwaitSubscribed(1);
  }
  void Say(std::uint64_t tag, std::string_view body) {
    AddressTheConsumer();
    server.Say(1, method::BasicDeliver{.consumer_tag = "me", .delivery_tag = tag});
    server.SayContent(1, {.message_id = "m"}, body);
  }
  void AwaitPublished(const std::string& body) {
    Await([&] { return server.content.size() >= body.size(); });
    EXPECT_TRUE(server.content == body);
    EXPECT_THAT(deliveries_, IsEmpty());
    server.Address("1 basic.publish");
  }
  const Message& Answered() {
    Await([this] { return !deliveries_.empty(); });
    EXPECT_EQ(deliveries_.back()->body, "");
    return *deliveries_.back();
  }

  const std::string body_ = [] {
    std::string body;
    for (int i = 0; i < 700'000; ++i) body += absl::StrCat(i, ",");
    return body;
  }();
};

TEST_F(LargeBodies, ArePassedOnWhole) {
  ConsumeWithLimit();
  Say(1, body_);
  AwaitPublished(body_);
  server.Say(1, method::BasicAck{.delivery_tag = 1});
  const Message& message = Answered();
  EXPECT_TRUE(message.passed_on);
  EXPECT_EQ(message.left_out, body_.size());
  EXPECT_EQ(server.excess, 0U);
  server.content.clear();
  deliveries_.clear();
  Say(2, body_);
  AwaitPublished(body_);
  server.Say(1, method::BasicAck{.delivery_tag = 2});
  EXPECT_TRUE(Answered().passed_on);
}

TEST_F(LargeBodies, AreNotPassedOnIfTheBrokerReturnsThem) {
  ConsumeWithLimit();
  Say(1, body_);
  AwaitPublished(body_);
  server.Say(
      1, method::BasicReturn{.reply_code = 312, .reply_text = "NO_ROUTE", .routing_key = "parked"});
  server.SayContent(1, {.message_id = "m"}, body_);
  server.Say(1, method::BasicAck{.delivery_tag = 1});
  EXPECT_FALSE(Answered().passed_on);
  EXPECT_THAT(deliveries_.back()->not_passed_on, HasSubstr("NO_ROUTE"));
}

TEST_F(LargeBodies, AreNotPassedOnIfTheBrokerRefusesThem) {
  ConsumeWithLimit();
  Say(1, body_);
  AwaitPublished(body_);
  server.Say(1, method::ChannelClose{.reply_code = 406, .reply_text = "too large"});
  EXPECT_FALSE(Answered().passed_on);
  EXPECT_TRUE(deliveries_.back()->refused);
}

TEST_F(LargeBodies, AreNotPassedOnWithoutAConnectionOrDuringAnAlarm) {
  ConsumeWithLimit();
  Say(1, body_);
  AwaitPublished(body_);
  server.Say(0, method::ConnectionBlocked{.reason = "low on memory"});
  EXPECT_FALSE(Answered().passed_on);
  EXPECT_THAT(deliveries_.back()->not_passed_on, HasSubstr("low on memory"));
  server.content.clear();
  deliveries_.clear();
  Say(2, body_);
  AwaitPublished(body_);
  server.Say(0, method::ConnectionClose{.reply_code = 320});
  EXPECT_FALSE(Answered().passed_on);
  EXPECT_FALSE(deliveries_.back()->refused);
  EXPECT_EQ(subscribed_, 1);
}

// Twice the largest, together; what is beyond comes again when half of that is free.
TEST_F(LargeBodies, AreBoundedInTotalEvenIfEachFits) {
  ConsumeWithLimit();
  const std::string body(90'000, 'x');
  Say(1, body);
  Say(2, body);
  Say(3, body);
  Say(4, "small");
  Await([this] { return !deliveries_.empty() && deliveries_.back()->body == "small"; });
  ASSERT_EQ(deliveries_.size(), 3U);
  AwaitHeard("1 basic.nack 3 requeue");
  Settle();
  EXPECT_EQ(subscribed_, 1);
  broker_->Ack(deliveries_.front()->delivery_tag);
  deliveries_.erase(deliveries_.begin());
  AwaitSubscribed(2);
  EXPECT_EQ(deliveries_.size(), 2U);
}

// Brokers before 4.3 close the connection for a cancel of a consumer that they have not started.
TEST_F(SubscriptionTest, CancelsOnceTheConsumerHasStarted) {
  std::uint16_t channel = 0;
  server.on_method = [&](std::uint16_t of, const ClientMethod& asked) {
    if (!std::holds_alternative<method::BasicConsume>(asked)) return false;
    channel = of;
    return true;
  };
  Consume();
  Await([&] { return channel != 0; });
  int cancelled = 0;
  subscription_->Cancel([&] { ++cancelled; });
  subscription_->Resume(5);
  subscription_->Cancel([&] { ++cancelled; });
  Settle();
  EXPECT_THAT(server.heard, Not(Contains(StartsWith("1 basic.cancel"))));
  EXPECT_EQ(cancelled, 0);
  AddressTheConsumer();
  server.Say(channel, method::BasicConsumeOk{.consumer_tag = "me"});
  Await([&] { return cancelled == 2; });
  server.on_method = nullptr;
  subscription_->Resume(5);
  AwaitSubscribed(2);
  EXPECT_EQ(std::count(server.heard.begin(), server.heard.end(), "1 basic.qos"), 2);
}

// Each that is settled makes room for another.
TEST_F(SubscriptionTest, CountsOnlyUnsettledDeliveries) {
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

TEST_F(SubscriptionTest, RetriesAfterAPauseIfTheQueueIsRefused) {
  EndEachAttempt([this](std::uint16_t channel) {
    server.Say(channel, method::ChannelClose{.reply_code = 403});
  });
  Consume();
  Await([this] { return attempts_.size() == 3; });
  EXPECT_GE(attempts_[1] - attempts_[0], absl::Milliseconds(50));
  EXPECT_GE(attempts_[2] - attempts_[1], absl::Milliseconds(100));
}

TEST_F(SubscriptionTest, RetriesAfterAPauseIfTheConnectionIsLostEachTime) {
  EndEachAttempt([this](std::uint16_t) { server.HangUp(); });
  Consume();
  Await([this] { return attempts_.size() == 3; });
  EXPECT_GE(attempts_[1] - attempts_[0], absl::Milliseconds(50));
  EXPECT_GE(attempts_[2] - attempts_[1], absl::Milliseconds(100));
}

// No message is the cause: see FailingBrokerTest. Each attempt ends the connection that others use.
TEST_F(SubscriptionTest, ReportsTheHiddenRefusalOfALongNameThatIsNotAsciiAndRetriesRarely) {
  EndEachAttempt([this](std::uint16_t) {
    server.Say(0, method::ConnectionClose{.reply_code = 541, .reply_text = "INTERNAL_ERROR"});
  });
  std::string long_name;
  for (int i = 0; i < 60; ++i) long_name += "\u00fc";
  subscription_ = broker_->Consume({.queue = long_name, .prefetch = 4, .consumer_tag = "me"}, this);
  Await([this] { return attempts_.size() == 2; });
  EXPECT_THAT(interrupted_because_, HasSubstr("refusing a long name that is not ASCII"));
  EXPECT_GE(attempts_[1] - attempts_[0], absl::Milliseconds(500));
}

// As another consumer can do it, over and over, that is no reason for this one to wait for ever.
TEST_F(SubscriptionTest, RetriesEvenIfConnectionsAreShorterThanItsPause) {
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
class PossibleCausesTest : public SubscriptionTest, public ::testing::WithParamInterface<int> {};

// The one that ends the connection each time has begun its own pause later, so it is the other
// one's turn: also where both pauses are over when the connection is back.
TEST_P(PossibleCausesTest, StartTheLongestWaitingFirst) {
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
  // The first time is before there is a possible cause.
  EXPECT_LE(std::count(asked.begin(), asked.end(), "bad"), 2);
}
INSTANTIATE_TEST_SUITE_P(Pauses, PossibleCausesTest, ::testing::Values(5, 150, 800));

// The broker has a quorum queue, and closes the connection with 541 whenever it would deliver
// "bad". What a connection leaves unsettled comes before all else, in the order in which it was
// taken back.
class FailingBrokerTest : public SubscriptionTest {
 protected:
  FailingBrokerTest() {
    server.on_method = [this](std::uint16_t channel, const ClientMethod& asked) {
      if (const auto* const qos = std::get_if<method::BasicQos>(&asked)) {
        prefetch_ = qos->prefetch_count;
      } else if (const auto* const consume = std::get_if<method::BasicConsume>(&asked)) {
        server.Say(channel, method::BasicConsumeOk{.consumer_tag = consume->consumer_tag});
        tag_ = std::string(consume->consumer_tag);
        Serve(channel);
        return true;
      } else if (const auto* const ack = std::get_if<method::BasicAck>(&asked)) {
        while (!unsettled_.empty() && settled_ < ack->delivery_tag) {
          unsettled_.erase(unsettled_.begin());
          ++settled_;
        }
        Serve(channel);
      } else if (std::holds_alternative<method::BasicCancel>(asked)) {
        tag_.clear();
      }
      return false;
    };
    subscription_ = broker_->Consume({.queue = "queue", .prefetch = 4, .consumer_tag = "me"}, this);
  }

  void Serve(std::uint16_t channel) {
    if (tag_.empty()) return;
    std::vector<std::string> next;
    while (unsettled_.size() < prefetch_ && !ready_.empty()) {
      next.push_back(ready_.front());
      unsettled_.push_back(ready_.front());
      ready_.erase(ready_.begin());
    }
    for (const std::string& body : next) {
      if (body == "bad") return Fail();
      server.Say(channel, method::BasicDeliver{.consumer_tag = tag_, .delivery_tag = ++delivered_});
      server.SayContent(channel, {}, body);
    }
  }
  void Fail() {
    ++failures_;
    server.Say(0, method::ConnectionClose{.reply_code = 541, .reply_text = "INTERNAL_ERROR"});
    const auto behind = std::find_if(ready_.begin(), ready_.end(), [this](const std::string& body) {
      return fresh_.contains(body);
    });
    ready_.insert(behind, unsettled_.begin(), unsettled_.end());
    for (const std::string& body : unsettled_) fresh_.erase(body);
    unsettled_.clear();
    delivered_ = settled_ = 0;
    tag_.clear();
  }
  void Put(std::vector<std::string> bodies) {
    fresh_.insert(bodies.begin(), bodies.end());
    ready_.insert(ready_.end(), bodies.begin(), bodies.end());
  }

  void OnDelivery(MessagePtr message) override {
    handled_.emplace_back(message->body);
    broker_->Ack(message->delivery_tag);
  }
  void OnInterrupted(const absl::Status& why) override { why_ = why; }

  std::vector<std::string> ready_;
  std::set<std::string> fresh_;  // of those, what was never delivered
  std::vector<std::string> unsettled_;
  std::uint64_t delivered_ = 0;  // on this channel
  std::uint64_t settled_ = 0;    // the same
  std::uint16_t prefetch_ = 0;
  std::string tag_;  // of the consumer; empty: none
  int failures_ = 0;
  std::vector<std::string> handled_;
  absl::Status why_;
};

TEST_F(FailingBrokerTest, DeliversAllOtherMessagesOnce) {
  Put({"bad", "a", "b", "c", "d", "e", "f"});
  Await([this] { return handled_.size() == 6; });
  Put({"g", "h"});
  Await([this] { return handled_.size() == 8; });
  EXPECT_THAT(handled_, ::testing::UnorderedElementsAre("a", "b", "c", "d", "e", "f", "g", "h"));
  EXPECT_TRUE(absl::IsInternal(why_)) << why_;
  EXPECT_LE(failures_, 16);
}

TEST_F(FailingBrokerTest, RestoresThePrefetchAfterEnoughSettlements) {
  Put({"bad"});
  Await([this] { return failures_ == 1; });
  std::erase(ready_, "bad");
  std::vector<std::string> others;
  for (int i = 0; i < 30; ++i) others.push_back(std::to_string(i));
  Put(others);
  Await([this] { return !handled_.empty(); });
  EXPECT_EQ(prefetch_, 1);
  Await([this] { return handled_.size() == 30; });
  EXPECT_EQ(prefetch_, 4);
  EXPECT_THAT(handled_, ::testing::UnorderedElementsAreArray(others));
}

}  // namespace retryq::amqp::subscription_test
