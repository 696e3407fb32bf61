// The properties that a republished copy keeps, and their effect in the broker.

#include "facts/facts_test.h"
#include "facts/raw_connection.h"
#include "support/make_message.h"
#include "support/test.h"

namespace retryq::testing::copy_test {

class CopyFacts : public Facts {};

TEST_F(CopyFacts, F15TheSmallerOfMessageTtlAndQueueTtlApplies) {
  peer_->DeclareQueue("dead");
  peer_->DeclareQueue("waiting", Arguments("classic", {{"x-message-ttl", std::int64_t{600'000}},
                                                       {"x-dead-letter-exchange", ""},
                                                       {"x-dead-letter-routing-key", "dead"}}));
  peer_->Publish("", "waiting", "early", {.expiration = "100"});
  EXPECT_EQ(asker_.Take("dead", 1)[0]->body, "early");
}

TEST_F(CopyFacts, F15ACopyOfAnotherUsersMessageIsRefused) {
  peer_->DeclareQueue("work");
  const Asker::Answer answer =
      asker_.Publish({.routing_key = "work", .properties = {.user_id = "somebody-else"}});
  EXPECT_EQ(answer.outcome, PublishOutcome::kUnknown);
  EXPECT_EQ(answer.code, 406);
  EXPECT_TRUE(asker_.lost().empty());
}

TEST_F(CopyFacts, F15CopiesAreRoutedAgainByCcAndBcc) {
  for (const std::string queue : {"work", "cc", "bcc"}) peer_->DeclareQueue(queue);
  const std::string headers =
      amqp::Table{{"CC", amqp::Array{amqp::Value("cc")}}, {"BCC", amqp::Array{amqp::Value("bcc")}}}
          .Encode()
          .value();
  peer_->Publish("", "work", "", {.headers = amqp::TableView(headers)});
  for (const std::string queue : {"work", "cc", "bcc"}) asker_.Take(queue, 1);
}

TEST_F(CopyFacts, F24HeadersNested900DeepAreCarried) {
  peer_->DeclareQueue("work");
  const std::string headers = NestedTableBytes(900);
  peer_->Publish("", "work", "", {.headers = amqp::TableView(headers)});
  EXPECT_EQ(asker_.Take("work", 1)[0]->properties.headers->bytes(), headers);
}

TEST_F(CopyFacts, F34TheBrokerSendsButRefusesHeaderFramesAboveFrameMax) {
  constexpr int kFrameMax = 8192;
  constexpr std::size_t kHeaders = 60'000;
  peer_->DeclareQueue("work");
  const std::string headers = amqp::Table{{"large", std::string(kHeaders, 'x')}}.Encode().value();
  peer_->Publish("", "work", "", {.headers = amqp::TableView(headers)});
  Asker small(loop_, vhost_.Url("frame_max=8192"));
  EXPECT_EQ(small.Take("work", 1)[0]->properties.headers->bytes(), headers);

  EXPECT_EQ(RawConnection(vhost_.Url(), kFrameMax).PublishWithHeaders("work", kHeaders), 501);
  EXPECT_EQ(RawConnection(vhost_.Url()).PublishWithHeaders("work", kHeaders), 0);
}

TEST_F(CopyFacts, F53AFramesHeadAndEndDoNotCountTowardsFrameMax) {
  constexpr int kFrameMax = 8192;
  constexpr std::size_t kWithoutText = 29;  // of the header frame's payload
  peer_->DeclareQueue("work");
  EXPECT_EQ(
      RawConnection(vhost_.Url(), kFrameMax).PublishWithHeaders("work", kFrameMax - kWithoutText),
      0);
  EXPECT_EQ(RawConnection(vhost_.Url(), kFrameMax)
                .PublishWithHeaders("work", kFrameMax + 1 - kWithoutText),
            501);
}

std::vector<std::string> BodiesOf(const std::vector<amqp::MessagePtr>& messages) {
  std::vector<std::string> bodies;
  for (const auto& message : messages) bodies.emplace_back(message->body);
  return bodies;
}

TEST_F(CopyFacts, F63AQuorumQueueExpiresHigherPrioritiesFirst) {
  for (const std::string type : {"classic", "quorum"}) {
    peer_->DeclareQueue(type + ".dead");
    peer_->DeclareQueue(type, Arguments(type, {{"x-message-ttl", std::int64_t{500}},
                                               {"x-dead-letter-exchange", ""},
                                               {"x-dead-letter-routing-key", type + ".dead"}}));
    peer_->DeclareQueue(type + ".kept", Arguments(type));
    for (const std::string& queue : {type, type + ".kept"}) {
      for (const int priority : {0, 3, 4, -1, 5, 31, 200}) {
        amqp::Properties properties;
        if (priority >= 0) properties.priority = static_cast<std::uint8_t>(priority);
        peer_->Publish("", queue, std::to_string(priority), properties);
      }
    }
    const auto kept = BodiesOf(asker_.Take(type + ".kept", 7));
    const auto expired = BodiesOf(asker_.Take(type + ".dead", 7));
    if (type == "classic" || !asker_.IsAtLeast(4)) {
      EXPECT_THAT(kept, ElementsAre("0", "3", "4", "-1", "5", "31", "200"));
      EXPECT_EQ(expired, kept);
    } else if (asker_.IsAtLeast(4, 3)) {
      EXPECT_THAT(kept, ElementsAre("31", "200", "5", "4", "-1", "3", "0"));
    } else {
      EXPECT_THAT(kept, ElementsAre("5", "31", "0", "200", "3", "4", "-1"));
      EXPECT_NE(expired.front(), "0");
    }
  }
}

TEST_F(CopyFacts, F64OnlyQuorumQueuesWriteADeliveryCountAndItIsAnInt64) {
  for (const std::string type : {"classic", "quorum"}) {
    peer_->DeclareQueue(type, Arguments(type));
    const std::string headers =
        amqp::Table{{"x-delivery-count", std::int32_t{12}}, {"x-acquired-count", std::int32_t{7}}}
            .Encode()
            .value();
    peer_->Publish("", type, "", {.headers = amqp::TableView(headers)});
    const auto count = [](const amqp::MessagePtr& message, std::string_view name) {
      const auto field = message->properties.headers->Find(name);
      return std::pair(field->type, field->AsInt64().value());
    };
    const auto theirs = std::pair('I', std::int64_t{12});
    const bool shows_zero = type == "quorum" && !asker_.IsAtLeast(4);
    EXPECT_EQ(count(asker_.Consume(type, 1)[0], "x-delivery-count"),
              shows_zero ? std::pair('l', std::int64_t{0}) : theirs);
    asker_.Drop();
    const amqp::MessagePtr again = asker_.Take(type, 1)[0];
    EXPECT_TRUE(again->redelivered);
    const auto one = std::pair('l', std::int64_t{1});
    // From 4.3 on a quorum queue does not count a requeued delivery (F41), and then the client's
    // number stays.
    EXPECT_EQ(count(again, "x-delivery-count"),
              type == "quorum" && !asker_.IsAtLeast(4, 3) ? one : theirs);
    EXPECT_EQ(count(again, "x-acquired-count"),
              type == "quorum" && asker_.IsAtLeast(4, 3) ? one : std::pair('I', std::int64_t{7}));
  }
}

// This fact has no number yet: 4.0 sorts the header names of a message, and keeps only one of
// several fields with the same name, even if the message was never dead-lettered.
TEST_F(CopyFacts, HeadersAreSortedFrom4) {
  peer_->DeclareQueue("work");
  amqp::Table table;
  table.Append("zulu", std::int64_t{1});
  table.Append("alpha", std::int64_t{2});
  table.Append("mike", std::int64_t{3});
  table.Append("mike", std::int64_t{4});
  const std::string headers = table.Encode().value();
  peer_->Publish("", "work", "", {.headers = amqp::TableView(headers)});
  const auto arrived = asker_.Take("work", 1)[0]->properties.headers->Decode();
  ASSERT_TRUE(arrived.ok()) << arrived.status();
  std::vector<std::string> names;
  for (const auto& [name, value] : arrived->fields()) names.push_back(name);
  if (asker_.IsAtLeast(4)) {
    EXPECT_THAT(names, ElementsAre("alpha", "mike", "zulu"));
  } else {
    EXPECT_THAT(names, ElementsAre("zulu", "alpha", "mike", "mike"));
  }
}

}  // namespace retryq::testing::copy_test
