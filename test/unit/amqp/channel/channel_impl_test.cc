#include "amqp/channel/channel_impl.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "amqp/codec/properties_codec.h"
#include "amqp/transport/outbox.h"
#include "retryq/event_loop.h"

namespace retryq::amqp {
namespace channel_impl_test {

// A channel that the broker has opened.
class ArrivalsTest : public ::testing::Test, public ChannelHost, public ChannelListener {
 protected:
  void SetUp() override {
    Hear(method::ChannelOpenOk{});
    channel_->Call<method::BasicConsumeOk>(method::BasicConsume{.consumer_tag = "me"}, "consuming",
                                           [](auto) {});
    Hear(method::BasicConsumeOk{.consumer_tag = "me"});
    channel_->TakeArrivals();
  }

  void Hear(const ServerMethod& method) { ASSERT_EQ(channel_->OnMethod(method), absl::OkStatus()); }
  void SetPrefetch(std::uint16_t prefetch) {
    channel_->Call<method::BasicQosOk>(method::BasicQos{.prefetch_count = prefetch}, "qos",
                                       [](auto) {});
    Hear(method::BasicQosOk{});
    channel_->TakeArrivals();
  }
  void Deliver(int times) {
    for (int i = 0; i < times; ++i) {
      Hear(method::BasicDeliver{.consumer_tag = "me", .delivery_tag = ++tag_});
      std::string header;
      AppendContentHeader(0, {}, &header);
      ASSERT_EQ(channel_->OnContent({.type = FrameType::kHeader, .channel = 1, .payload = header}),
                absl::OkStatus());
    }
  }
  void Publish(int times) {
    for (int i = 0; i < times; ++i) channel_->Publish({.routing_key = "key"}, [](auto) {});
  }

  Outbox& Write() override { return outbox_; }
  std::size_t frame_max() const override { return 131072; }
  std::size_t unsent_bytes() const override { return 0; }
  void OnDelivery(std::string_view, MessagePtr) override {}
  void OnChannelClosed(const ChannelError&) override {}

  EventLoop loop_;
  Outbox outbox_;
  std::uint64_t tag_ = 0;
  const std::shared_ptr<Channel::Impl> channel_ =
      Channel::Impl::Open(this, 1, this, loop_.executor());
};

TEST_F(ArrivalsTest, AreNoneAtFirst) {
  const Arrivals none = channel_->TakeArrivals();
  EXPECT_EQ(none.count, 0U);
  EXPECT_EQ(none.share, 0);
}

TEST_F(ArrivalsTest, OfMessagesArePartOfThePrefetch) {
  SetPrefetch(8);
  Deliver(2);
  const Arrivals two = channel_->TakeArrivals();
  EXPECT_EQ(two.count, 2U);
  EXPECT_EQ(two.share, 0.25);
  EXPECT_EQ(channel_->TakeArrivals().count, 0U);
}

TEST_F(ArrivalsTest, HaveNoPartWhereNothingIsLimited) {
  Deliver(3);
  const Arrivals three = channel_->TakeArrivals();
  EXPECT_EQ(three.count, 3U);
  EXPECT_EQ(three.share, 0);
}

TEST_F(ArrivalsTest, TellWhetherThePrefetchWasUsedUp) {
  SetPrefetch(8);
  Deliver(7);
  channel_->Ack(1);
  EXPECT_EQ(channel_->TakeArrivals().used_up, 0U);
  Deliver(2);
  channel_->Ack(2);
  EXPECT_EQ(channel_->TakeArrivals().used_up, 8U);
  EXPECT_EQ(channel_->TakeArrivals().used_up, 0U);
}

TEST_F(ArrivalsTest, UseUpNothingThatIsNotLimited) {
  Deliver(3);
  EXPECT_EQ(channel_->TakeArrivals().used_up, 0U);
}

TEST_F(ArrivalsTest, OfConfirmsArePartOfWhatWasUnconfirmed) {
  Publish(8);
  Hear(method::BasicAck{.delivery_tag = 2, .multiple = true});
  Hear(method::BasicAck{.delivery_tag = 5});
  Hear(method::BasicNack{.delivery_tag = 7});
  const Arrivals four = channel_->TakeArrivals();
  EXPECT_EQ(four.count, 4U);
  EXPECT_EQ(four.share, 0.4);  // the two that wait for others count as unconfirmed
  EXPECT_EQ(four.unconfirmed, 6U);
}

TEST_F(ArrivalsTest, OfTheOnlyConfirmAreAll) {
  Publish(1);
  Hear(method::BasicAck{.delivery_tag = 1});
  EXPECT_EQ(channel_->TakeArrivals().share, 1);
}

TEST_F(ArrivalsTest, OfAnAnswerAreAll) {
  SetPrefetch(1000);
  Deliver(1);
  channel_->Call<method::QueueDeclareOk>(method::QueueDeclare{.queue = "queue"}, "declaring",
                                         [](auto) {});
  Hear(method::QueueDeclareOk{.queue = "queue"});
  const Arrivals both = channel_->TakeArrivals();
  EXPECT_EQ(both.count, 2U);
  EXPECT_EQ(both.share, 1);
}

}  // namespace channel_impl_test
}  // namespace retryq::amqp
