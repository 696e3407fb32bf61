// Messages that return to a quorum queue, and how the queue counts the returns.

#include "facts/private_broker_facts_test.h"
#include "facts/raw_connection.h"
#include "support/test.h"

namespace retryq::testing::returns_test {

class ReturnFacts : public Facts {
 protected:
  void SetUp() override {
    peer_->DeclareQueue("work", Arguments("quorum"));
    peer_->Publish("", "work", "message");
  }

  // The value of a header in the next delivery; nullopt if the header is missing.
  struct Counts {
    std::optional<std::int64_t> failed;
    std::optional<std::int64_t> acquired;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  static Counts CountsOf(const amqp::Message& message) {
    if (!message.properties.headers) return {};
    return {.failed = message.properties.headers->FindInt64("x-delivery-count"),
            .acquired = message.properties.headers->FindInt64("x-acquired-count")};
  }
  Counts Next() {
    Asker next(loop_, vhost_.Url());
    return CountsOf(*next.Consume("work", 1)[0]);
  }
  // The headers of a message that failed this number of times, and was also requeued this number of
  // times.
  Counts Expected(std::int64_t failed, std::int64_t given_back) const {
    if (!asker_.IsAtLeast(4, 3)) return {.failed = failed + given_back, .acquired = std::nullopt};
    return {.failed = failed == 0 ? std::nullopt : std::optional(failed),
            .acquired = failed + given_back};
  }
};

TEST_F(ReturnFacts, F41AFirstDeliveryShowsNoCount) { EXPECT_EQ(Next(), Counts()); }

TEST_F(ReturnFacts, F41ARequeuingRejectCountsAsAFailure) {
  RawConnection consumer(vhost_.Url());
  consumer.Reject(consumer.Take("work"));
  EXPECT_EQ(Next(), Expected(1, 0));
}

TEST_F(ReturnFacts, F41ARequeuingNackDoesNotCountFrom43) {
  RawConnection consumer(vhost_.Url());
  consumer.Nack(consumer.Take("work"));
  EXPECT_EQ(Next(), Expected(0, 1));
}

TEST_F(ReturnFacts, F41AConnectionThatIsLostCountsAsAFailure) {
  { RawConnection(vhost_.Url()).Take("work"); }
  EXPECT_EQ(Next(), Expected(1, 0));
}

TEST_F(ReturnFacts, F74AcksBehindManyRequeuesAreLostWithTheChannel) {
  constexpr std::uint32_t kRequeued = 1000;
  constexpr std::uint32_t kAcked = 200;
  for (std::uint32_t i = 1; i < kRequeued + kAcked; ++i) peer_->Send("", "work", "message");
  peer_->AwaitConfirms();
  {
    RawConnection consumer(vhost_.Url());
    for (std::uint32_t i = 0; i < kRequeued + kAcked; ++i) consumer.Take("work");
    for (std::uint32_t i = 0; i < kRequeued; ++i) consumer.Nack(i + 1);
    for (std::uint32_t i = 0; i < kAcked; ++i) consumer.Ack(kRequeued + i + 1);
  }
  EXPECT_TRUE(Eventually([&] { return peer_->Count("work") > kRequeued; }, absl::Seconds(5)))
      << peer_->Count("work");
}

// As our client does at a stop: a cancel, a nack of all, and a close, right behind one another.
TEST_F(ReturnFacts, F41MessagesRequeuedBeforeTheChannelClosesDoNotCountFrom43) {
  asker_.Consume("work", 1);
  asker_.Drop();
  EXPECT_EQ(Next(), Expected(0, 1));
}

// This does not happen each time, so the test repeats it until it happens. Our client treats it as
// a protocol violation.
TEST_F(ReturnFacts, F60ACancelRightAfterAcksMayBeConfirmedAfterLaterRequests) {
  constexpr int kRounds = 100;
  bool reversed = false;
  for (int round = 0; round < kRounds && !reversed; ++round) {
    const std::string queue = "round " + std::to_string(round);
    peer_->DeclareQueue(queue, Arguments("quorum"));
    for (int i = 0; i < 20; ++i) peer_->Send("", queue, "message");
    peer_->AwaitConfirms();
    Asker consumer(loop_, vhost_.Url());
    consumer.channel().Qos(10, [](const absl::Status&) {});
    for (const amqp::MessagePtr& message : consumer.Consume(queue, 10)) {
      consumer.channel().Ack(message->delivery_tag.tag);
    }
    bool answered = false;
    consumer.channel().Cancel(consumer.tag(), [](const absl::Status&) {});
    consumer.channel().Qos(1, [&](const absl::Status&) { answered = true; });
    ASSERT_TRUE(Eventually([&] { return answered || !consumer.lost().empty(); }));
    reversed = !consumer.lost().empty();
    if (reversed) {
      EXPECT_THAT(consumer.lost().front().message(), HasSubstr("basic.qos-ok"));
    }
    peer_->Delete(queue);
  }
  EXPECT_TRUE(reversed);
}

// As a program does that resumes a consumer and pauses it at once. Not in each case.
TEST_F(ReturnFacts, F69ACancelBeforeConsumeOkClosesTheConnectionOrFrom43SuppressesConsumeOk) {
  constexpr int kRounds = 20;
  const bool is_since_43 = asker_.IsAtLeast(4, 3);
  for (const char* const type : {"classic", "quorum"}) {
    peer_->DeclareQueue(type, Arguments(type));
    int odd = 0;
    for (int round = 0; round < kRounds; ++round) {
      const RawConnection::Answers answers =
          RawConnection(vhost_.Url()).CancelBeforeConsumeOk(type);
      if (answers.code == 0 && answers.consume_ok) continue;
      ++odd;
      EXPECT_EQ(answers.code, is_since_43 ? 0 : 541);
    }
    EXPECT_GT(odd, 0) << type;
    EXPECT_EQ(peer_->Consumers(type), 0U);
  }
}

// A message is on its way at that moment only by chance, so the test repeats this until one is.
TEST_F(ReturnFacts, F61MessagesInFlightToACancelledConsumerAreRequeuedAndCountBefore43) {
  constexpr int kRounds = 300;
  constexpr std::size_t kMessages = 8;
  Counts counts;
  for (int round = 0; round < kRounds && counts == Counts(); ++round) {
    const std::string queue = "round " + std::to_string(round);
    peer_->DeclareQueue(queue, Arguments("quorum"));
    Asker consumer(loop_, vhost_.Url());
    consumer.Consume(queue, 0);
    for (std::size_t i = 0; i < kMessages; ++i) peer_->Send("", queue, "message");
    consumer.CancelAtDelivery();
    peer_->AwaitConfirms();
    ASSERT_TRUE(Eventually(
        [&] { return peer_->Count(queue) + consumer.deliveries().size() == kMessages; }));
    // The consumer keeps its deliveries, uncounted.
    while (const amqp::MessagePtr left = peer_->Get(queue)) {
      if (counts == Counts()) counts = CountsOf(*left);
    }
    peer_->Delete(queue);
  }
  EXPECT_EQ(counts, Expected(0, 1));
}

TEST_F(ReturnFacts, F61MessagesPublishedAfterCancelOkAreNotAffected) {
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    const std::string queue = "round " + std::to_string(round);
    peer_->DeclareQueue(queue, Arguments("quorum"));
    Asker consumer(loop_, vhost_.Url());
    consumer.Consume(queue, 0);
    peer_->Send("", queue, "before");
    consumer.CancelAtDelivery();
    for (int i = 0; i < 4; ++i) peer_->Send("", queue, "after");
    peer_->AwaitConfirms();
    for (int i = 0; i < 4; ++i) {
      const amqp::MessagePtr after = peer_->Get(queue);
      ASSERT_NE(after, nullptr);
      EXPECT_EQ(after->body, "after");
      EXPECT_EQ(CountsOf(*after).failed.value_or(0), 0);
      EXPECT_EQ(CountsOf(*after).acquired.value_or(0), 0);
    }
    peer_->Delete(queue);
  }
}

// Messages expire only at the head of a queue: a message that is requeued in the wrong place is
// late.
class PlaceFacts : public Facts {
 protected:
  // The messages of a queue, in order, after the first of four was delivered and requeued.
  std::string OrderAfter(const amqp::Table& more, bool by_nack) {
    peer_->DeclareQueue("delay", Arguments("quorum", more));
    for (const char* body : {"a", "b", "c", "d"}) peer_->Publish("", "delay", body);
    {
      RawConnection consumer(vhost_.Url());
      const std::uint64_t tag = consumer.Take("delay");
      if (by_nack) {
        consumer.Nack(tag);
        Eventually([&] { return peer_->Count("delay") == 4; });
      }
    }
    EXPECT_TRUE(Eventually([&] { return peer_->Count("delay") == 4; }));
    std::string order;
    for (int i = 0; i < 4; ++i) order += peer_->Get("delay")->body;
    peer_->Delete("delay");
    return order;
  }
};

TEST_F(PlaceFacts, F58MessagesOfAClosedConnectionReturnToTheFront) {
  EXPECT_EQ(OrderAfter({}, /*by_nack=*/false), "abcd");
  EXPECT_EQ(OrderAfter({{"x-delivery-limit", 10}}, /*by_nack=*/false), "abcd");
}

TEST_F(PlaceFacts, F58ANackPutsAMessageLastBefore43WithoutADeliveryLimit) {
  amqp::Table unlimited;
  if (asker_.IsAtLeast(4)) unlimited.Set("x-delivery-limit", -1);
  EXPECT_EQ(OrderAfter(unlimited, /*by_nack=*/true), asker_.IsAtLeast(4, 3) ? "abcd" : "bcda");
  EXPECT_EQ(OrderAfter({{"x-delivery-limit", 10}}, /*by_nack=*/true), "abcd");
}

class ConsumerTimeoutFacts : public PrivateBrokerFacts {
 protected:
  void SetUp() override {
    PrivateBrokerFacts::SetUp();
    if (IsSkipped()) return;
    broker_->SetConsumerTimeout(absl::Seconds(2));
  }

  // Consumes one message, with arguments, and waits for its second delivery; null if it comes not
  // within the time.
  amqp::MessagePtr AwaitTimeout(const std::string& queue, const amqp::Table& arguments,
                                absl::Duration patience) {
    peer_->Publish("", queue, "message");
    asker_.channel().Consume({.queue = queue, .arguments = arguments}, [](const auto&) {});
    if (!Eventually([&] { return !asker_.deliveries().empty(); })) return nullptr;
    if (!Eventually([&] { return peer_->Count(queue) > 0; }, patience)) return nullptr;
    return peer_->Get(queue);
  }
};

TEST_F(ConsumerTimeoutFacts, F42AConsumerTimeoutIsCountedBefore4_3) {
  Declare("work", "quorum");
  const amqp::MessagePtr again = AwaitTimeout("work", {}, absl::Seconds(20));
  ASSERT_NE(again, nullptr);
  EXPECT_TRUE(again->redelivered);
  const amqp::TableView headers = again->properties.headers.value_or(amqp::TableView());
  if (asker_.IsAtLeast(4, 3)) {
    EXPECT_EQ(headers.FindInt64("x-delivery-count"), std::nullopt);
    EXPECT_EQ(headers.FindInt64("x-acquired-count"), 1);
  } else {
    EXPECT_EQ(headers.FindInt64("x-delivery-count"), 1);
  }
}

TEST_F(ConsumerTimeoutFacts, F42ClassicQueuesHaveNoConsumerTimeoutFrom43) {
  Declare("classic", "classic");
  EXPECT_EQ(AwaitTimeout("classic", {}, absl::Seconds(8)) == nullptr, asker_.IsAtLeast(4, 3));
}

TEST_F(ConsumerTimeoutFacts, F42AConsumerArgumentSetsTheTimeoutFrom43) {
  Declare("work", "quorum");
  const amqp::Table arguments = {{"x-consumer-timeout", std::int64_t{3'600'000}}};
  EXPECT_EQ(AwaitTimeout("work", arguments, absl::Seconds(8)) == nullptr, asker_.IsAtLeast(4, 3));
}

// Some nodes forget nearly every timeout but the first of a queue, others none.
TEST_F(ConsumerTimeoutFacts, F62ATimeoutTakesEffectAtTheLatestAtTheNextQueueActivityFrom43) {
  if (!asker_.IsAtLeast(4, 3)) GTEST_SKIP() << "before, channels have timeouts, not queues";
  Declare("work", "quorum");
  peer_->Publish("", "work", "first");
  asker_.Consume("work", 1);
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    const auto is_back = [&] { return peer_->Count("work") > 0; };
    std::size_t published = 1;
    if (!Eventually(is_back, absl::Seconds(5))) {
      peer_->Publish("", "work", "another");
      ++published;
      ASSERT_TRUE(Eventually(is_back, absl::Seconds(5)));
    }
    asker_.Drop();
    asker_.Take("work", published);
    peer_->Publish("", "work", "next");
    asker_.Consume("work", 1);
  }
}

// If the socket is closed right after the acks, some of them are lost only by chance.
TEST_F(ReturnFacts, F47ClosingAChannelProperlyLosesNoAck) {
  ASSERT_TRUE(asker_.PublishMany("work", 79));
  asker_.Take("work", 80);
  EXPECT_TRUE(Throughout(absl::Seconds(1), [&] { return peer_->Count("work") == 0; }));
}

}  // namespace retryq::testing::returns_test
