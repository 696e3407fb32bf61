#include "support/scripted_test.h"
#include "support/test.h"

// The properties for the fields of an OutgoingMessage.

namespace retryq::outgoing_properties_test {

class OutgoingProperties : public testing::ScriptedTest {
 protected:
  OutgoingProperties() { broker_.Ready(); }

  // Publishes the message and passes the publish that the broker receives to `look`.
  void Publish(OutgoingMessage message, std::function<void(const amqp::Properties&)> look) {
    broker_.on_publish = [look = std::move(look)](const PublishParams& params) {
      look(params.properties);
    };
    client_->Publish(std::move(message), {}, nullptr);
    time_.RunReady();
    ASSERT_THAT(broker_.publishes, SizeIs(1));
  }

  std::string Refusal(OutgoingMessage message, const PublishOptions& options = {}) {
    absl::Status answer;
    client_->Publish(std::move(message), options,
                     [&answer](absl::Status status) { answer = std::move(status); });
    time_.RunReady();
    EXPECT_TRUE(absl::IsInvalidArgument(answer)) << answer;
    EXPECT_THAT(broker_.publishes, IsEmpty());
    return std::string(answer.message());
  }
};

// A queue that is full, for example, refuses it each time.
TEST_F(OutgoingProperties, APublishThatIsNackedUntilItsDeadlineNamesTheNack) {
  absl::Status answer;
  client_->Publish({.routing_key = "full"}, {.deadline = absl::Seconds(5)},
                   [&answer](absl::Status status) { answer = std::move(status); });
  for (int second = 0; second < 6; ++second) {
    for (auto* const published : broker_.open()) published->Nack();
    time_.Advance(absl::Seconds(1));
  }
  EXPECT_TRUE(absl::IsUnavailable(answer)) << answer;
  EXPECT_THAT(std::string(answer.message()),
              HasSubstr("was not confirmed in time: the broker nacked the publish"));
}

TEST_F(OutgoingProperties, AreSentUnchanged) {
  OutgoingMessage message{.routing_key = "orders",
                          .body = "b",
                          .content_type = "text/plain",
                          .message_id = "m-1",
                          .headers = {{"n", std::int64_t{7}}},
                          .content_encoding = "gzip",
                          .correlation_id = "c-1",
                          .reply_to = "answers",
                          .type = "order.placed",
                          .app_id = "shop",
                          .user_id = "guest",
                          .priority = 9,
                          .timestamp = absl::FromUnixSeconds(1'700'000'000),
                          .expiration = absl::Milliseconds(1500),
                          .transient = true};
  Publish(std::move(message), [](const amqp::Properties& properties) {
    EXPECT_EQ(properties.content_type, "text/plain");
    EXPECT_EQ(properties.message_id, "m-1");
    EXPECT_EQ(properties.headers->FindInt64("n"), 7);
    EXPECT_EQ(properties.content_encoding, "gzip");
    EXPECT_EQ(properties.correlation_id, "c-1");
    EXPECT_EQ(properties.reply_to, "answers");
    EXPECT_EQ(properties.type, "order.placed");
    EXPECT_EQ(properties.app_id, "shop");
    EXPECT_EQ(properties.user_id, "guest");
    EXPECT_EQ(properties.priority, 9);
    EXPECT_EQ(properties.timestamp, 1'700'000'000U);
    EXPECT_EQ(properties.expiration, "1500");
    EXPECT_EQ(properties.delivery_mode, 1);
  });
}

TEST_F(OutgoingProperties, AreAbsentIfNotGivenAndTheMessageIsPersistent) {
  Publish({.routing_key = "orders"}, [](const amqp::Properties& properties) {
    EXPECT_FALSE(properties.content_type || properties.content_encoding ||
                 properties.correlation_id || properties.reply_to || properties.expiration ||
                 properties.message_id || properties.type || properties.user_id ||
                 properties.app_id || properties.priority || properties.timestamp ||
                 properties.headers);
    EXPECT_EQ(properties.delivery_mode, 2);
  });
}

TEST_F(OutgoingProperties, AreNotThoseOfThePreviousMessage) {
  Publish({.routing_key = "orders", .content_type = "text/plain", .app_id = "shop", .priority = 9},
          [](const amqp::Properties& properties) { EXPECT_EQ(properties.app_id, "shop"); });
  broker_.publishes.clear();
  Publish({.routing_key = "orders"}, [](const amqp::Properties& properties) {
    EXPECT_FALSE(properties.content_type || properties.app_id || properties.priority);
  });
}

TEST_F(OutgoingProperties, AnExpirationIsRoundedUpToAMillisecond) {
  Publish({.routing_key = "orders", .expiration = absl::Microseconds(1)},
          [](const amqp::Properties& properties) { EXPECT_EQ(properties.expiration, "1"); });
}

TEST_F(OutgoingProperties, TextsHaveALimit) {
  const std::string text(256, 't');
  const std::string refusal = Refusal({.routing_key = "orders",
                                       .content_encoding = text,
                                       .correlation_id = text,
                                       .reply_to = text,
                                       .type = text,
                                       .app_id = text,
                                       .user_id = text});
  for (const char* field :
       {"content_encoding", "correlation_id", "reply_to", "type", "app_id", "user_id"}) {
    EXPECT_THAT(refusal, HasSubstr(std::string(field) + " must be at most 255 bytes long"));
  }
}

TEST_F(OutgoingProperties, TimesHaveARange) {
  EXPECT_THAT(Refusal({.routing_key = "orders",
                       .timestamp = absl::UnixEpoch() - absl::Seconds(1),
                       .expiration = absl::Seconds(-1)}),
              ::testing::AllOf(HasSubstr("timestamp"), HasSubstr("expiration")));
  EXPECT_THAT(Refusal({.routing_key = "orders",
                       .timestamp = absl::InfiniteFuture(),
                       .expiration = absl::InfiniteDuration()}),
              ::testing::AllOf(HasSubstr("timestamp"), HasSubstr("expiration")));
}

TEST_F(OutgoingProperties, AnExpirationCannotBeCombinedWithADelay) {
  EXPECT_THAT(Refusal({.routing_key = "orders", .expiration = absl::Seconds(1)},
                      {.delay = absl::Seconds(5)}),
              HasSubstr("expiration cannot be combined with a delay"));
  EXPECT_THAT(Refusal({.routing_key = "orders", .expiration = absl::Seconds(1)},
                      {.at = time_.Now() + absl::Seconds(5)}),
              HasSubstr("expiration cannot be combined with a delay"));
}

}  // namespace retryq::outgoing_properties_test
