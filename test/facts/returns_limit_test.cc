// How often a quorum queue delivers a message.

#include "facts/facts_test.h"
#include "facts/raw_connection.h"

namespace retryq::testing::delivery_limit_test {

constexpr std::size_t kLimit = 20;  // of 4.0 and newer

std::int64_t DeliveryCount(const amqp::Message& message) {
  if (!message.properties.headers) return 0;
  const auto table = message.properties.headers->Decode();
  const amqp::Value* count = table->Find("x-delivery-count");
  return count == nullptr ? 0 : std::get<std::int64_t>(count->variant);
}

class DeliveryLimitFacts : public Facts {
 protected:
  void SetUp() override { peer_->DeclareQueue("work", Arguments("quorum")); }

  // Whether the queue is empty for good.
  bool IsGone() {
    return !Eventually([&] { return peer_->Count("work") > 0; }, absl::Seconds(2));
  }
};

TEST_F(DeliveryLimitFacts, F19AMessageRejected21TimesIsDroppedFrom4) {
  peer_->Publish("", "work", "poison");
  RawConnection consumer(vhost_.Url());
  std::size_t deliveries = 0;
  while (deliveries < kLimit + 10 &&
         Eventually([&] { return peer_->Count("work") > 0; }, absl::Seconds(3))) {
    consumer.Reject(consumer.Take("work"));
    ++deliveries;
  }
  EXPECT_EQ(deliveries, asker_.IsAtLeast(4) ? kLimit + 1 : kLimit + 10);
  EXPECT_EQ(IsGone(), asker_.IsAtLeast(4));
}

TEST_F(DeliveryLimitFacts, F33AConsumerThatDies21TimesLosesAllItsPrefetchedMessagesFrom4) {
  ASSERT_TRUE(asker_.PublishMany("work", 2));
  for (std::size_t deaths = 0; deaths <= kLimit; ++deaths) {
    ASSERT_TRUE(Eventually([&] { return peer_->Count("work") == 2; }));
    RawConnection consumer(vhost_.Url());
    consumer.Take("work");
    consumer.Take("work");
  }
  EXPECT_EQ(IsGone(), asker_.IsAtLeast(4));
}

TEST_F(DeliveryLimitFacts, F33ACopysFirstDeliveryShowsTheOldCountFrom4) {
  const std::string headers = amqp::Table{{"x-delivery-count", std::int64_t{7}}}.Encode().value();
  peer_->Publish("", "work", "copy", {.headers = amqp::TableView(headers)});
  EXPECT_EQ(DeliveryCount(*asker_.Consume("work", 1)[0]), 7);
}

}  // namespace retryq::testing::delivery_limit_test
