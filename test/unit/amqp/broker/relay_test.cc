#include "amqp/broker/relay.h"

#include "retryq/testing/simulated_time.h"
#include "support/test.h"
#include "unit/amqp/lifetime_stage.h"

namespace retryq::amqp::relay_test {

// The limits of a relay are measured in simulated time, its connection is a real one.
class RelayTest : public ::testing::Test, public LifetimeStage {
 protected:
  RelayTest() {
    server.on_method = [](std::uint16_t, const ClientMethod& asked) {
      return std::holds_alternative<method::BasicPublish>(asked);  // its body is yet to come
    };
  }

  std::shared_ptr<BodySink> Begin() {
    const auto message = std::make_shared<Message>();
    message->left_out = body_.size();
    message_ = message;
    return relay_.Begin(message_, {.routing_key = "parked"});
  }
  void PublishAll() {
    const std::shared_ptr<BodySink> sink = Begin();
    Await([&] { return !sink->IsFull(); });
    sink->Add(body_);
    ASSERT_TRUE(relay_.Take(message_));
    Await([this] { return server.content.size() == body_.size(); });
    time_.RunReady();
    EXPECT_EQ(done_, nullptr);
  }
  std::string WhyNotPassedOn() {
    time_.RunReady();
    if (done_ == nullptr) return "not done";
    EXPECT_FALSE(done_->passed_on);
    return done_->not_passed_on;
  }

  const std::string body_ = std::string(std::size_t{32} << 20, 'x');  // more than sockets take
  testing::SimulatedTime time_;
  MessagePtr message_;
  MessagePtr done_;
  Relay relay_{loop, time_, time_, {.options = OptionsToConnect()}, [this](MessagePtr message) {
                 done_ = std::move(message);
               }};
};

TEST_F(RelayTest, WaitsTenSecondsForAConnection) {
  const std::shared_ptr<BodySink> sink = Begin();
  EXPECT_TRUE(sink->IsFull());
  time_.Advance(absl::Seconds(9.9));
  EXPECT_TRUE(sink->IsFull());
  time_.Advance(absl::Seconds(0.1));
  ASSERT_FALSE(sink->IsFull());
  sink->Add(body_);
  EXPECT_EQ(WhyNotPassedOn(), "not done");
  ASSERT_TRUE(relay_.Take(message_));
  EXPECT_THAT(WhyNotPassedOn(), HasSubstr("has not accepted any part of it for ten seconds"));
}

TEST_F(RelayTest, GivesUpIfTheBrokerAcceptsNothingForTenSeconds) {
  const std::shared_ptr<BodySink> sink = Begin();
  Await([&] { return !sink->IsFull(); });
  sink->Add(body_);
  EXPECT_TRUE(sink->IsFull());
  time_.Advance(absl::Seconds(9));
  EXPECT_TRUE(sink->IsFull());
  Await([this] { return !server.content.empty(); });
  EXPECT_TRUE(sink->IsFull());  // but the broker has taken a part of it
  time_.Advance(absl::Seconds(9));
  EXPECT_TRUE(sink->IsFull());
  time_.Advance(absl::Seconds(1));
  EXPECT_FALSE(sink->IsFull());
  Await([this] { return server.open_connections() == 0; });
  ASSERT_TRUE(relay_.Take(message_));
  EXPECT_THAT(WhyNotPassedOn(), HasSubstr("has not accepted any part of it for ten seconds"));
}

TEST_F(RelayTest, WaitsAMinuteForTheConfirm) {
  PublishAll();
  time_.Advance(absl::Seconds(59));
  EXPECT_EQ(WhyNotPassedOn(), "not done");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(WhyNotPassedOn(), "no confirm in time");
  Await([this] { return server.open_connections() == 0; });
}

TEST_F(RelayTest, ClosesItsConnectionAfterFiveSecondsWithoutAMessage) {
  PublishAll();
  time_.Advance(absl::Seconds(59));
  server.Say(1, method::BasicAck{.delivery_tag = 1});
  Settle();
  time_.RunReady();
  ASSERT_NE(done_, nullptr);
  EXPECT_TRUE(done_->passed_on);
  time_.Advance(absl::Seconds(4.9));
  Settle();
  EXPECT_EQ(server.open_connections(), 1U);
  time_.Advance(absl::Seconds(0.1));
  AwaitHeard("0 connection.close 200");
}

}  // namespace retryq::amqp::relay_test
