#include "retry/publisher/copy.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "retry/delivery/error_text.h"
#include "retryq/amqp/properties.h"
#include "retryq/amqp/table.h"
#include "support/make_message.h"
#include "support/read_facts.h"
#include "unit/amqp/random_values.h"

namespace retryq {
namespace copy_test {

using testing::MakeMessage;
using testing::MakeMessageWithHeaderBytes;
using testing::ReadHistory;

constexpr std::size_t kPlenty = 131'072;
const auto kQueue = std::make_shared<const std::string>("orders");
const absl::Time kFirstFailure = absl::FromUnixMillis(1'700'000'000'123);
const absl::Time kParked = absl::FromUnixMillis(1'700'000'009'876);
const absl::Time kNotBefore = absl::FromUnixMillis(1'700'000'004'000);

// As a consumer of "orders" sees it.
Delivery DeliveryOf(const amqp::MessagePtr& message) {
  return Delivery(message, kQueue, ReadHistory(*message, *kQueue));
}

Annotation Retried() {
  return {.failures = 3,
          .first_failure = kFirstFailure,
          .not_before = kNotBefore,
          .delay = absl::Seconds(4),
          .error = "UNAVAILABLE: down",
          .id = "r-1"};
}

Annotation Parked() {
  Annotation annotation = Retried();
  annotation.not_before.reset();
  annotation.delay.reset();
  annotation.parked = kParked;
  return annotation;
}

// What `annotation` becomes on the wire, for a message published to "shop" with "order.placed".
amqp::Table HeadersOfRetried() {
  return {{"x-retry-count", std::int64_t{3}},
          {"x-retry-first-failure", std::int64_t{1'700'000'000'123}},
          {"x-retry-queue", "orders"},
          {"x-retry-exchange", "shop"},
          {"x-retry-routing-key", "order.placed"},
          {"x-retry-id", "r-1"},
          {"x-retry-delay", std::int64_t{4000}},
          {"x-retry-not-before", std::int64_t{1'700'000'004'000}},
          {"x-retry-error", "UNAVAILABLE: down"}};
}

std::string Encoded(const amqp::Table& table) { return table.Encode().value(); }

std::string HeaderBytes(const Copy& copy) {
  return std::string(copy.properties().headers->bytes());
}

std::vector<std::string> HeaderNames(const Copy& copy) {
  std::vector<std::string> names;
  for (const amqp::FieldView& field : *copy.properties().headers) names.emplace_back(field.name);
  return names;
}

std::size_t SizeOf(const Copy& copy) { return amqp::ContentHeaderSize(copy.properties()); }

TEST(Copy, StoresTheRestOfADelayOfSeveralQueuesAndRoundsTimesUp) {
  amqp::Table old = HeadersOfRetried();
  old.Set("x-retry-remaining", std::int64_t{7777});
  const auto message = MakeMessage({.headers = old});
  Annotation annotation = Retried();
  annotation.remaining = absl::Milliseconds(1500);
  annotation.not_before = kNotBefore + absl::Nanoseconds(1);
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), annotation, kPlenty));
  const amqp::TableView headers = *copy.properties().headers;
  EXPECT_EQ(headers.FindInt64("x-retry-remaining"), 1500);
  EXPECT_EQ(headers.FindInt64("x-retry-not-before"), 1'700'000'004'001);

  ASSERT_TRUE(copy.Build(DeliveryOf(message), Retried(), kPlenty));
  EXPECT_FALSE(copy.properties().headers->Find("x-retry-remaining"));
}

TEST(Copy, StoresAllFieldsOfTheFailure) {
  const auto message = MakeMessage();
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), Retried(), kPlenty));
  EXPECT_EQ(HeaderBytes(copy), Encoded(HeadersOfRetried()));
}

TEST(Copy, IsReadBackAsItWasWritten) {
  const auto message = MakeMessage();
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), Retried(), kPlenty));
  const auto returned =
      MakeMessage({.exchange = "", .routing_key = "orders", .properties = copy.properties()});
  const Delivery::History history = ReadHistory(*returned, "orders");
  EXPECT_EQ(history.failures, 3u);
  EXPECT_EQ(history.first_failure, kFirstFailure);
  EXPECT_EQ(history.not_before, kNotBefore);
  EXPECT_EQ(history.delay, absl::Seconds(4));
  EXPECT_EQ(history.last_error, "UNAVAILABLE: down");
  EXPECT_EQ(history.id, "r-1");
  EXPECT_EQ(history.exchange, "shop");
  EXPECT_EQ(history.routing_key, "order.placed");
}

TEST(Copy, OfACopyDoesNotGrow) {
  const auto message = MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}});
  Copy first;
  ASSERT_TRUE(first.Build(DeliveryOf(message), Retried(), kPlenty));
  const auto returned =
      MakeMessage({.exchange = "", .routing_key = "orders", .properties = first.properties()});
  Copy second;
  ASSERT_TRUE(second.Build(DeliveryOf(returned), Retried(), kPlenty));
  EXPECT_EQ(HeaderBytes(second), HeaderBytes(first));
}

// They keep retries bounded: what is optional makes room for them.
TEST(Copy, KeepsTheFailuresOfOtherQueuesIfSpaceIsShort) {
  const auto message = MakeMessage();
  const std::string elsewhere =
      Encoded({{"x-retry-elsewhere", amqp::Table{{std::string(200, 'q'), std::int64_t{3}}}}});
  Annotation annotation = Retried();
  annotation.elsewhere = elsewhere;
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), annotation, kPlenty));
  EXPECT_TRUE(copy.properties().headers->Find("x-retry-elsewhere"));
  EXPECT_TRUE(copy.properties().headers->Find("x-retry-error"));
  std::size_t least = SizeOf(copy);
  while (copy.Build(DeliveryOf(message), annotation, least - 1)) {
    EXPECT_TRUE(copy.properties().headers->Find("x-retry-elsewhere"));
    least = SizeOf(copy);
  }
  EXPECT_TRUE(copy.Build(DeliveryOf(message), annotation, least));
  EXPECT_FALSE(copy.properties().headers->Find("x-retry-delay"));
}

TEST(Copy, ToBeParkedOmitsTheNextRetry) {
  const auto message = MakeMessage({.headers = HeadersOfRetried()});
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), Parked(), kPlenty));
  EXPECT_EQ(HeaderNames(copy),
            (std::vector<std::string>{"x-retry-count", "x-retry-first-failure", "x-retry-queue",
                                      "x-retry-exchange", "x-retry-routing-key", "x-retry-id",
                                      "x-retry-parked", "x-retry-error"}));
  EXPECT_EQ(copy.properties().headers->FindInt64("x-retry-parked"), 1'700'000'009'876);
}

TEST(Copy, OfAParkedCopyThatIsRetriedDropsTheTimeOfParking) {
  const auto message = MakeMessage();
  Copy parked;
  ASSERT_TRUE(parked.Build(DeliveryOf(message), Parked(), kPlenty));
  const auto returned =
      MakeMessage({.exchange = "", .routing_key = "orders", .properties = parked.properties()});
  Copy retried;
  ASSERT_TRUE(retried.Build(DeliveryOf(returned), Retried(), kPlenty));
  EXPECT_EQ(HeaderBytes(retried), Encoded(HeadersOfRetried()));
}

TEST(Copy, KeepsEveryPropertyExceptExpirationUserIdAndDeliveryMode) {
  const amqp::Properties properties = {.content_type = "application/json",
                                       .content_encoding = "gzip",
                                       .delivery_mode = 1,
                                       .priority = 9,
                                       .correlation_id = "c-1",
                                       .reply_to = "amq.rabbitmq.reply-to.g1h2AA==.k",
                                       .expiration = "60000",
                                       .message_id = std::string_view("m\0\xFF", 3),
                                       .timestamp = std::numeric_limits<std::uint64_t>::max(),
                                       .type = "order",
                                       .user_id = "guest",
                                       .app_id = "shop",
                                       .cluster_id = ""};
  const auto message = MakeMessage({.properties = properties});
  Copy copy;
  const auto expect_kept = [&] {
    const amqp::Properties& kept = copy.properties();
    EXPECT_EQ(kept.content_type, properties.content_type);
    EXPECT_EQ(kept.content_encoding, properties.content_encoding);
    EXPECT_EQ(kept.delivery_mode, 2);
    EXPECT_EQ(kept.priority, properties.priority);
    EXPECT_EQ(kept.correlation_id, properties.correlation_id);
    EXPECT_EQ(kept.reply_to, properties.reply_to);
    EXPECT_FALSE(kept.expiration);
    EXPECT_EQ(kept.message_id, properties.message_id);
    EXPECT_EQ(kept.timestamp, properties.timestamp);
    EXPECT_EQ(kept.type, properties.type);
    EXPECT_FALSE(kept.user_id);
    EXPECT_EQ(kept.app_id, properties.app_id);
    EXPECT_EQ(kept.cluster_id, properties.cluster_id);
  };
  ASSERT_TRUE(copy.Build(DeliveryOf(message), Retried(), kPlenty));
  expect_kept();
  ASSERT_TRUE(copy.BuildUnchanged(*message, kPlenty));
  expect_kept();
  EXPECT_FALSE(copy.properties().headers);
}

// The broker refuses it where no consumer of such answers is on the channel.
TEST(Copy, OmitsAReplyToThatTheBrokerRefuses) {
  const auto message = MakeMessage({.properties = {.reply_to = "amq.rabbitmq.reply-to"}});
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), Retried(), kPlenty));
  EXPECT_FALSE(copy.properties().reply_to);
  ASSERT_TRUE(copy.BuildUnchanged(*message, kPlenty));
  EXPECT_FALSE(copy.properties().reply_to);
}

TEST(Copy, AddsNoProperties) {
  const auto message = MakeMessage();
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), Retried(), kPlenty));
  amqp::Properties only = {.headers = copy.properties().headers, .delivery_mode = 2};
  EXPECT_EQ(SizeOf(copy), amqp::ContentHeaderSize(only));
}

TEST(Copy, ThatReturnsToItsQueueIsTheUnchangedMessage) {
  const auto expiration = [](std::string_view text, absl::Duration waited) {
    const auto message = MakeMessage({.properties = {.delivery_mode = 1, .expiration = text},
                                      .headers = amqp::Table{{"x-retry-count", "theirs"}}});
    Copy copy;
    EXPECT_TRUE(copy.BuildReturn(*message, waited, 10'000));
    EXPECT_EQ(copy.properties().delivery_mode, 1);
    EXPECT_EQ(copy.properties().headers->bytes(), message->properties.headers->bytes());
    return std::string(*copy.properties().expiration);
  };
  EXPECT_EQ(expiration("5000", absl::ZeroDuration()), "5000");
  EXPECT_EQ(expiration("5000", absl::Milliseconds(3001)), "1999");
  EXPECT_EQ(expiration("5000", absl::Seconds(5)), "1");
  EXPECT_EQ(expiration("5000", absl::InfiniteDuration()), "1");
  EXPECT_EQ(expiration("5000", -absl::Seconds(5)), "5000");
  EXPECT_EQ(expiration("0", absl::Seconds(1)), "0");
}

TEST(Copy, OmitsHeadersThatTheBrokerAddedOrRoutesBy) {
  amqp::Table headers = {{"first", "1"}};
  for (const char* name :
       {"x-death", "x-first-death-queue", "x-first-death-reason", "x-first-death-exchange",
        "x-last-death-queue", "CC", "BCC", "x-delivery-count", "x-acquired-count"}) {
    headers.Append(name, "v");
  }
  headers.Append("x-deathly", "2");
  headers.Append("cc", "3");
  headers.Append("x-retry-of-mine", "4");
  const std::string kept =
      Encoded({{"first", "1"}, {"x-deathly", "2"}, {"cc", "3"}, {"x-retry-of-mine", "4"}});
  const auto message = MakeMessage({.headers = headers});
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), Retried(), kPlenty));
  EXPECT_EQ(HeaderBytes(copy), kept + Encoded(HeadersOfRetried()));
  ASSERT_TRUE(copy.BuildUnchanged(*message, kPlenty));
  EXPECT_EQ(HeaderBytes(copy), kept);
}

TEST(Copy, ReplacesItsOwnHeadersHoweverOftenTheyWerePresent) {
  const amqp::Table own = HeadersOfRetried();
  amqp::Table headers;
  for (const auto& [name, value] : own.fields()) {
    headers.Append(name, "old");
    headers.Append(name, std::int64_t{-1});
  }
  const auto message = MakeMessage({.headers = headers});
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), Retried(), kPlenty));
  EXPECT_EQ(HeaderBytes(copy), Encoded(HeadersOfRetried()));
}

TEST(Copy, KeepsAllOtherHeadersByteForByteInTheirOrder) {
  amqp::RandomValues random(5);
  constexpr std::array kRemoved = {"x-death", "CC", "x-retry-count", "x-retry-id", "x-retry-error"};
  Copy copy;
  for (int round = 0; round < 500; ++round) {
    amqp::Table all;
    std::string kept;
    for (std::size_t i = random.Below(12); i > 0; --i) {
      const bool stays = random.Below(3) != 0;
      const std::string name =
          stays ? absl::StrCat("h", random.Below(8)) : kRemoved[random.Below(5)];
      const amqp::Value value = random.MakeValue(4);
      all.Append(name, value);
      if (stays) kept += Encoded({{name, value}});
    }
    const auto message = MakeMessage({.headers = all});
    ASSERT_TRUE(copy.Build(DeliveryOf(message), Retried(), std::size_t{1} << 30));
    ASSERT_EQ(HeaderBytes(copy), kept + Encoded(HeadersOfRetried())) << "round " << round;
  }
}

TEST(Copy, KeepsHeadersThatNestTooDeepToDecode) {
  const std::string bytes = testing::NestedTableBytes(900);
  const auto message = MakeMessageWithHeaderBytes(bytes);
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), Retried(), kPlenty));
  EXPECT_TRUE(HeaderBytes(copy).starts_with(bytes));
}

TEST(Copy, ReusedKeepsNothingOfThePreviousMessage) {
  const auto rich = MakeMessage({.properties = {.content_type = "text/plain", .priority = 3},
                                 .headers = amqp::Table{{"a", 1}}});
  const auto poor = MakeMessage();
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(rich), Retried(), kPlenty));
  ASSERT_TRUE(copy.Build(DeliveryOf(poor), Retried(), kPlenty));
  EXPECT_FALSE(copy.properties().content_type);
  EXPECT_FALSE(copy.properties().priority);
  EXPECT_EQ(HeaderBytes(copy), Encoded(HeadersOfRetried()));
}

TEST(Copy, ReusedWritesIntoTheSameBuffer) {
  const auto message = MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}});
  const Delivery delivery = DeliveryOf(message);
  Copy copy;
  ASSERT_TRUE(copy.Build(delivery, Retried(), kPlenty));
  const char* const buffer = copy.properties().headers->bytes().data();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(copy.Build(delivery, Retried(), kPlenty));
  EXPECT_EQ(copy.properties().headers->bytes().data(), buffer);
}

TEST(Copy, WritesTheLargestInt64ForAHigherCount) {
  const auto message = MakeMessage();
  Annotation annotation = Retried();
  annotation.failures = std::numeric_limits<std::uint64_t>::max();
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), annotation, kPlenty));
  EXPECT_EQ(copy.properties().headers->FindInt64("x-retry-count"),
            std::numeric_limits<std::int64_t>::max());
}

TEST(Copy, HasRoomForAllItsHeaders) {
  const std::string name(255, 'n');
  const std::string error(2000, 'e');
  const std::string id(1000, 'i');
  const std::string kept(10'000, 'k');
  const auto message =
      MakeMessage({.exchange = name, .routing_key = name, .headers = amqp::Table{{"kept", kept}}});
  const Delivery delivery(message, std::make_shared<const std::string>(name),
                          ReadHistory(*message, name));
  Annotation annotation = Retried();
  annotation.parked = kParked;
  annotation.remaining = absl::Milliseconds(1500);
  annotation.error = error;
  annotation.id = id;
  Copy copy;
  ASSERT_TRUE(copy.Build(delivery, annotation, kPlenty));
  EXPECT_EQ(HeaderBytes(copy), Encoded({{"kept", kept},
                                        {"x-retry-count", std::int64_t{3}},
                                        {"x-retry-first-failure", std::int64_t{1'700'000'000'123}},
                                        {"x-retry-queue", name},
                                        {"x-retry-exchange", name},
                                        {"x-retry-routing-key", name},
                                        {"x-retry-id", id},
                                        {"x-retry-delay", std::int64_t{4000}},
                                        {"x-retry-not-before", std::int64_t{1'700'000'004'000}},
                                        {"x-retry-remaining", std::int64_t{1500}},
                                        {"x-retry-parked", std::int64_t{1'700'000'009'876}},
                                        {"x-retry-error", std::string(kMaxErrorSize, 'e')}}));
}

TEST(CopysError, IsValidUtf8) {
  const auto message = MakeMessage();
  Annotation annotation = Retried();
  annotation.error = "caf\xE9\n\x01";
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), annotation, kPlenty));
  EXPECT_EQ(copy.properties().headers->FindString("x-retry-error"), "caf\xEF\xBF\xBD\n\x01");
}

TEST(CopysError, IsOmittedIfThereIsNone) {
  const auto message = MakeMessage();
  Annotation annotation = Retried();
  annotation.error = "";
  Copy copy;
  ASSERT_TRUE(copy.Build(DeliveryOf(message), annotation, kPlenty));
  EXPECT_FALSE(copy.properties().headers->Find("x-retry-error"));
}

// One byte less at a time than the whole copy needs: what is lost, and when.
class CopyInLittleSpace : public ::testing::Test {
 protected:
  CopyInLittleSpace() : message_(MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}})) {
    EXPECT_TRUE(copy_.Build(DeliveryOf(message_), Retried(), kPlenty));
    whole_ = SizeOf(copy_);
  }

  static std::size_t FieldSize(const char* name, std::size_t value) {
    return 1 + std::string_view(name).size() + 1 + value;
  }

  bool Build(std::size_t max_header_size) {
    return copy_.Build(DeliveryOf(message_), Retried(), max_header_size);
  }

  bool Has(std::string_view name) const {
    return copy_.properties().headers->Find(name).has_value();
  }

  const std::string_view error_ = "UNAVAILABLE: down";
  const std::size_t error_field_ = FieldSize("x-retry-error", 4);  // without the text
  const std::size_t not_before_field_ = FieldSize("x-retry-not-before", 8);
  const std::size_t delay_field_ = FieldSize("x-retry-delay", 8);
  amqp::MessagePtr message_;
  Copy copy_;
  std::size_t whole_ = 0;
};

TEST_F(CopyInLittleSpace, FitsExactly) {
  ASSERT_TRUE(Build(whole_));
  EXPECT_EQ(SizeOf(copy_), whole_);
}

TEST_F(CopyInLittleSpace, ShortensTheErrorFirst) {
  for (std::size_t missing = 1; missing < error_.size(); ++missing) {
    ASSERT_TRUE(Build(whole_ - missing));
    EXPECT_EQ(SizeOf(copy_), whole_ - missing);
    EXPECT_EQ(copy_.properties().headers->FindString("x-retry-error"),
              error_.substr(0, error_.size() - missing));
  }
}

TEST_F(CopyInLittleSpace, ThenDropsTheError) {
  ASSERT_TRUE(Build(whole_ - error_.size()));
  EXPECT_FALSE(Has("x-retry-error"));
  EXPECT_TRUE(Has("x-retry-not-before"));
  ASSERT_TRUE(Build(whole_ - error_.size() - error_field_));
  EXPECT_FALSE(Has("x-retry-error"));
  EXPECT_TRUE(Has("x-retry-not-before"));
}

TEST_F(CopyInLittleSpace, ThenDropsOptionalHeaders) {
  const std::size_t without_error = whole_ - error_.size() - error_field_;
  ASSERT_TRUE(Build(without_error - 1));
  EXPECT_FALSE(Has("x-retry-not-before"));
  EXPECT_TRUE(Has("x-retry-delay"));

  const std::size_t without_not_before = without_error - not_before_field_;
  ASSERT_TRUE(Build(without_not_before));
  EXPECT_TRUE(Has("x-retry-delay"));
  ASSERT_TRUE(Build(without_not_before - 1));
  EXPECT_FALSE(Has("x-retry-delay"));
}

TEST_F(CopyInLittleSpace, DropsTheTimeOfParkingBehindTheError) {
  Annotation annotation = Parked();
  annotation.error = error_;
  ASSERT_TRUE(copy_.Build(DeliveryOf(message_), annotation, kPlenty));
  const std::size_t without_error = SizeOf(copy_) - error_.size() - error_field_;
  ASSERT_TRUE(copy_.Build(DeliveryOf(message_), annotation, without_error));
  EXPECT_FALSE(Has("x-retry-error"));
  EXPECT_TRUE(Has("x-retry-parked"));
  ASSERT_TRUE(copy_.Build(DeliveryOf(message_), annotation, without_error - 1));
  EXPECT_FALSE(Has("x-retry-parked"));
  EXPECT_TRUE(Has("x-retry-id"));
}

TEST_F(CopyInLittleSpace, NeverExceedsItAndNeverLosesRequiredHeaders) {
  const std::size_t necessary =
      whole_ - error_.size() - error_field_ - not_before_field_ - delay_field_;
  for (std::size_t size = 0; size < necessary; ++size) ASSERT_FALSE(Build(size)) << size;
  for (std::size_t size = necessary; size <= whole_ + 5; ++size) {
    ASSERT_TRUE(Build(size)) << size;
    ASSERT_LE(SizeOf(copy_), size);
    for (const char* name : {"tenant", "x-retry-count", "x-retry-first-failure", "x-retry-queue",
                             "x-retry-exchange", "x-retry-routing-key", "x-retry-id"}) {
      ASSERT_TRUE(Has(name)) << name << " in " << size;
    }
  }
}

TEST_F(CopyInLittleSpace, CutsTheErrorBetweenCodePoints) {
  Annotation annotation = Retried();
  annotation.error = "\xE2\x82\xAC\xE2\x82\xAC";
  ASSERT_TRUE(copy_.Build(DeliveryOf(message_), annotation, kPlenty));
  const std::size_t whole = SizeOf(copy_);
  ASSERT_TRUE(copy_.Build(DeliveryOf(message_), annotation, whole - 1));
  EXPECT_EQ(copy_.properties().headers->FindString("x-retry-error"), "\xE2\x82\xAC");
}

TEST(CopyUnchanged, KeepsTheRetryHeadersUnchanged) {
  amqp::Table headers = HeadersOfRetried();
  headers.Append("tenant", "blue");
  const auto message = MakeMessage({.headers = headers});
  Copy copy;
  ASSERT_TRUE(copy.BuildUnchanged(*message, kPlenty));
  EXPECT_EQ(HeaderBytes(copy), Encoded(headers));
}

// What came in one frame leaves in one.
TEST(CopyUnchanged, IsNeverLargerThanItsMessage) {
  for (int present = 0; present < 1 << 8; ++present) {
    const auto message = std::const_pointer_cast<amqp::Message>(
        MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}}));
    amqp::Properties& properties = message->properties;
    const auto is_there = [&](int property) { return (present >> property & 1) != 0; };
    if (!is_there(0)) properties.headers.reset();
    if (is_there(1)) properties.delivery_mode = 1;
    if (is_there(2)) properties.expiration = "1000";
    if (is_there(3)) properties.user_id = "guest";
    if (is_there(4)) properties.message_id = "m";
    if (is_there(5)) properties.priority = 3;
    if (is_there(6)) properties.content_type = "text/plain";
    if (is_there(7)) properties.timestamp = 1;
    Copy copy;
    const std::size_t size = amqp::ContentHeaderSize(properties);
    EXPECT_TRUE(copy.BuildUnchanged(*message, size)) << present;
    EXPECT_LE(SizeOf(copy), size) << present;
    EXPECT_TRUE(copy.BuildUnchanged(*message, size + 1)) << present;
    EXPECT_EQ(copy.properties().delivery_mode, 2) << "where there is room it is persistent";
  }
}

TEST(CopyUnchanged, ReportsIfEvenThatDoesNotFit) {
  const auto message = std::const_pointer_cast<amqp::Message>(
      MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}}));
  message->properties.delivery_mode = 1;
  Copy copy;
  ASSERT_TRUE(copy.BuildUnchanged(*message, kPlenty));
  const std::size_t size = SizeOf(copy);
  EXPECT_TRUE(copy.BuildUnchanged(*message, size));
  EXPECT_FALSE(copy.BuildUnchanged(*message, size - 1));
}

class ScriptedRandom : public Random {
 public:
  explicit ScriptedRandom(std::vector<std::uint64_t> numbers) : numbers_(std::move(numbers)) {}
  std::uint64_t Next() override { return numbers_.at(next_++); }

 private:
  std::vector<std::uint64_t> numbers_;
  std::size_t next_ = 0;
};

TEST(NewRetryId, Is128RandomBitsInHex) {
  ScriptedRandom random({0x0123456789abcdef, 1});
  EXPECT_EQ(NewRetryId(random), "0123456789abcdef0000000000000001");
}

}  // namespace copy_test
}  // namespace retryq
