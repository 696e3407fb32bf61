// A message is unchanged after retries, byte for byte. Dead-lettering itself rewrites headers
// (RabbitMQ sorts them by name), so the test compares them with those of the same message after it
// has passed a plain queue with a TTL.

#include "support/consume.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_copy_test {

// The fields' bytes, without those that retrying and dead-lettering add.
std::string WithoutTraces(amqp::TableView headers) {
  std::string bytes;
  for (const amqp::FieldView& field : headers) {
    if (!Headers(headers).IsHidden(field.name)) bytes.append(field.bytes);
  }
  return bytes;
}

std::string Encoded(const amqp::Table& table) { return table.Encode().value(); }

// One field of every wire type that RabbitMQ knows.
amqp::Table EveryKind() {
  const amqp::Array array = {amqp::Value(7), amqp::Value("text"), amqp::Value(amqp::Array{}),
                             amqp::Value(amqp::Table({{"deep", "down"}}))};
  return {
      {"zulu: out of order", "names are not sorted"},
      {"void", amqp::Void()},
      {"yes", true},
      {"no", false},
      {"int8", std::int8_t{-8}},
      {"uint8", std::uint8_t{200}},
      {"int16", std::int16_t{-16000}},
      {"uint16", std::uint16_t{60000}},
      {"int32", std::int32_t{-2'000'000'000}},
      {"uint32", std::uint32_t{4'000'000'000}},
      {"int64", std::numeric_limits<std::int64_t>::min()},
      {"float", 1.5F},
      {"double", -2.25e300},
      {"decimal", amqp::Decimal{.scale = 2, .unscaled = 12345}},
      {"timestamp", amqp::Timestamp{1'700'000'000}},
      {"long string", std::string("\0\xff no text", 10)},
      {"empty string", ""},
      {"bytes", amqp::Bytes{std::string("\x00\x01\x02", 3)}},
      {"array", array},
      {"table", amqp::Table({{"z", 1}, {"a", amqp::Table({{"b", true}})}})},
      {"", "a field without a name"},
      {"x-of-somebody-else", "stays"},
  };
}

class RetryCopy : public OrdersTest {
 protected:
  // The message's headers as the broker delivers them: sorted from 4.0 on.
  std::string AsDelivered(const amqp::Properties& properties) {
    peer_.DeclareQueue("plain");
    peer_.Publish("", "plain", "", properties);
    amqp::MessagePtr message;
    EXPECT_TRUE(RunUntil([&] { return (message = peer_.Get("plain")) != nullptr; }));
    return std::string(message->properties.headers->bytes());
  }

  // The message's headers after the broker alone has dead-lettered it once.
  std::string AfterPlainDeadLettering(const amqp::Properties& properties) {
    peer_.DeclareQueue("plain");
    peer_.DeclareQueue("plain.delay", {{"x-message-ttl", 1},
                                       {"x-dead-letter-exchange", ""},
                                       {"x-dead-letter-routing-key", "plain"}});
    peer_.Publish("", "plain.delay", "", properties);
    amqp::MessagePtr message;
    EXPECT_TRUE(RunUntil([&] { return (message = peer_.Get("plain")) != nullptr; }));
    return WithoutTraces(*message->properties.headers);
  }

  // Publishes the message to "orders", lets it fail three times, and returns the delivery of the
  // fourth call.
  Delivery AfterThreeRetries(const amqp::Properties& properties, std::string_view body = "body") {
    Client client(loop_, Options());
    const Consumer consumer = Consume(
        client, {.queue = "orders", .retry = Every(absl::Milliseconds(50))}, calls_.FailTimes(3));
    peer_.Publish("", "orders", body, properties);
    EXPECT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));
    EXPECT_EQ(calls_.size(), 4U);
    EXPECT_EQ(calls_.back().body(), body);
    return calls_.back();
  }
};

// Fields that a decoded table cannot express: a repeated name, a boolean of 2, a 64-bit integer of
// the type 'L'.
std::string OddFields() {
  using std::string_literals::operator""s;
  return "\5twiceb\1"s + "\5twiceb\2"s + "\5trutht\2"s + "\4longL\xf0\0\0\0\0\0\0\1"s;
}

TEST_F(RetryCopy, KeepsEveryHeaderKindByteForByte) {
  const std::string headers = Encoded(EveryKind()) + OddFields();
  const amqp::Properties properties = {.headers = amqp::TableView(headers)};

  const Delivery delivery = AfterThreeRetries(properties);

  EXPECT_EQ(WithoutTraces(delivery.headers().all()), AfterPlainDeadLettering(properties));
  EXPECT_EQ(calls_[0].headers().all().bytes(), AsDelivered(properties));
}

TEST_F(RetryCopy, KeepsEveryProperty) {
  const amqp::Properties properties = {.content_type = "application/json",
                                       .content_encoding = "gzip",
                                       .delivery_mode = 2,
                                       .priority = 7,
                                       .correlation_id = "c-1",
                                       .reply_to = "answers",
                                       .message_id = "m-1",
                                       .timestamp = 1'700'000'000,
                                       .type = "order.placed",
                                       .app_id = "shop",
                                       .cluster_id = "cluster"};

  const amqp::Properties kept = AfterThreeRetries(properties).properties();

  EXPECT_EQ(kept.content_type, properties.content_type);
  EXPECT_EQ(kept.content_encoding, properties.content_encoding);
  EXPECT_EQ(kept.delivery_mode, properties.delivery_mode);
  EXPECT_EQ(kept.priority, properties.priority);
  EXPECT_EQ(kept.correlation_id, properties.correlation_id);
  EXPECT_EQ(kept.reply_to, properties.reply_to);
  EXPECT_EQ(kept.expiration, std::nullopt);
  EXPECT_EQ(kept.message_id, properties.message_id);
  EXPECT_EQ(kept.timestamp, properties.timestamp);
  EXPECT_EQ(kept.type, properties.type);
  EXPECT_EQ(kept.user_id, std::nullopt);
  EXPECT_EQ(kept.app_id, properties.app_id);
  EXPECT_EQ(kept.cluster_id, properties.cluster_id);
}

TEST_F(RetryCopy, KeepsPropertiesThatAreNotSetAbsentAndMakesItPersistent) {
  const amqp::Properties kept = AfterThreeRetries({.delivery_mode = 1}).properties();

  EXPECT_EQ(kept.delivery_mode, 2);
  EXPECT_EQ(kept.content_type, std::nullopt);
  EXPECT_EQ(kept.priority, std::nullopt);
  EXPECT_EQ(kept.timestamp, std::nullopt);
  EXPECT_EQ(kept.message_id, std::nullopt);
}

TEST_F(RetryCopy, KeepsAnEmptyBody) { AfterThreeRetries({}, ""); }

TEST_F(RetryCopy, KeepsABodyOfManyFrames) {
  std::string body(3'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * i >> 8);
  AfterThreeRetries({}, body);
}

TEST_F(RetryCopy, UsesTheMessageIdAsItsId) {
  EXPECT_EQ(AfterThreeRetries({.message_id = "order-17"}).id(), "order-17");
}

// The broker delivers it in a frame above frame_max, and would not accept it in one.
TEST_F(RetryCopy, MayHaveHeadersLargerThanTheConsumersFrames) {
  const std::string headers = Encoded({{"large", std::string(60'000, 'x')}});
  RetryOptions twice = Every(absl::Milliseconds(50));
  twice.max_attempts = 2;
  std::size_t messages = 0;
  for (const bool has_source : {false, true}) {
    ClientOptions options = Options();
    options.url = vhost_.Url("frame_max=8192");
    if (has_source) {
      options.url_source = [url = std::exchange(options.url, "")] {
        return std::vector<std::string>{url};
      };
    }
    Client client(loop_, options);
    const Consumer consumer =
        Consume(client, {.queue = "orders", .retry = twice, .prefetch = 1}, calls_.FailTimes(9));
    peer_.Publish("", "orders", "large", {.headers = amqp::TableView(headers)});
    peer_.Publish("", "orders", "small");
    messages += 2;
    ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kParked) == messages; }));
    EXPECT_EQ(events_.Count(EventKind::kRetried), messages);
    EXPECT_EQ(events_.Count(EventKind::kDisconnected), 0U);
  }
}

}  // namespace retryq::testing::retry_copy_test
