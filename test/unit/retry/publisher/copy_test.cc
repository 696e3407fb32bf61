#include "retry/publisher/copy.h"

#include "retry/delivery/error_text.h"
#include "retryq/amqp/properties.h"
#include "retryq/amqp/table.h"
#include "support/make_message.h"
#include "support/read_facts.h"
#include "support/test.h"
#include "unit/amqp/random_values.h"

namespace retryq::copy_test {

using ::testing::Pair;
using testing::ReadHistory;

constexpr std::size_t kPlenty = 131'072;
const auto kQueue = std::make_shared<const std::string>("orders");
const absl::Time kFirstFailure = absl::FromUnixMillis(1'700'000'000'123);
const absl::Time kParked = absl::FromUnixMillis(1'700'000'009'876);
const absl::Time kNotBefore = absl::FromUnixMillis(1'700'000'004'000);

// The message as a consumer of "orders" receives it.
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

// The headers for `annotation` on the wire, for a message published to "shop" with "order.placed".
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

class Copy : public ::testing::Test {
 protected:
  // Returns the headers of a copy of this message by a consumer of "orders".
  amqp::TableView Build(amqp::MessagePtr message, const Annotation& annotation = Retried()) {
    message_ = std::move(message);
    EXPECT_TRUE(copy_.Build(DeliveryOf(message_), annotation, kPlenty, &properties_));
    return *properties_.headers;
  }
  // The copy as it comes back to "orders".
  amqp::MessagePtr Returned() const {
    return MakeMessage({.exchange = "", .routing_key = "orders", .properties = properties_});
  }

  std::string HeaderBytes() const { return std::string(properties_.headers->bytes()); }
  std::size_t Size() const { return amqp::ContentHeaderSize(properties_); }
  bool Has(std::string_view name) const { return properties_.headers->Find(name).has_value(); }

  amqp::MessagePtr message_;
  retryq::Copy copy_{*kQueue};
  amqp::Properties properties_;  // of the copy
};

TEST_F(Copy, StoresTheRestOfADelayOfSeveralQueuesAndRoundsTimesUp) {
  amqp::Table old = HeadersOfRetried();
  old.Set("x-retry-remaining", std::int64_t{7777});
  Annotation annotation = Retried();
  annotation.remaining = absl::Milliseconds(1500);
  annotation.not_before = kNotBefore + absl::Nanoseconds(1);
  const amqp::TableView headers = Build(MakeMessage({.headers = old}), annotation);
  EXPECT_EQ(headers.FindInt64("x-retry-remaining"), 1500);
  EXPECT_EQ(headers.FindInt64("x-retry-not-before"), 1'700'000'004'001);
  Build(message_);
  EXPECT_FALSE(Has("x-retry-remaining"));
}

TEST_F(Copy, StoresAllFieldsOfTheFailure) {
  Build(MakeMessage());
  EXPECT_EQ(HeaderBytes(), Encoded(HeadersOfRetried()));
}

TEST_F(Copy, OfACopyDoesNotGrow) {
  Build(MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}}));
  const std::string first = HeaderBytes();
  Build(Returned());
  EXPECT_EQ(HeaderBytes(), first);
}

// These headers limit retries: optional headers make room for them.
TEST_F(Copy, KeepsTheFailuresOfOtherQueuesIfSpaceIsShort) {
  const std::string elsewhere =
      Encoded({{"x-retry-elsewhere", amqp::Table{{std::string(200, 'q'), std::int64_t{3}}}}});
  Annotation annotation = Retried();
  annotation.elsewhere = elsewhere;
  Build(MakeMessage(), annotation);
  EXPECT_TRUE(Has("x-retry-error"));
  std::size_t least = Size();
  for (; copy_.Build(DeliveryOf(message_), annotation, least - 1, &properties_); least = Size()) {
    EXPECT_TRUE(Has("x-retry-elsewhere"));
  }
  EXPECT_TRUE(copy_.Build(DeliveryOf(message_), annotation, least, &properties_));
  EXPECT_FALSE(Has("x-retry-delay"));
}

// The context of the last attempt replaces that of the one before; without another attempt it
// stays.
TEST_F(Copy, HasTheTraceOfTheLastAttempt) {
  amqp::Table headers = HeadersOfRetried();
  headers.Set("x-retry-traceparent", "first");
  headers.Set("x-retry-tracestate", "of the first");
  EXPECT_EQ(Build(MakeMessage({.headers = headers})).FindString("x-retry-traceparent"), "first");
  EXPECT_TRUE(Has("x-retry-tracestate"));
  const std::string trace = Encoded({{"x-retry-traceparent", "second"}});
  Annotation annotation = Retried();
  annotation.trace = trace;
  EXPECT_EQ(Build(message_, annotation).FindString("x-retry-traceparent"), "second");
  EXPECT_FALSE(Has("x-retry-tracestate"));
  // If space is short, the error is dropped first, then the trace, then the optional headers of
  // retryq.
  const std::size_t size_of_error = 1 + std::string_view("x-retry-error").size() + 1 + 4;
  const std::size_t without_error = Size() - size_of_error - Retried().error.size();
  ASSERT_TRUE(copy_.Build(DeliveryOf(message_), annotation, without_error, &properties_));
  EXPECT_TRUE(Has("x-retry-traceparent"));
  EXPECT_FALSE(Has("x-retry-error"));
  ASSERT_TRUE(
      copy_.Build(DeliveryOf(message_), annotation, without_error - trace.size(), &properties_));
  EXPECT_FALSE(Has("x-retry-traceparent"));
  EXPECT_TRUE(Has("x-retry-not-before"));
}

TEST_F(Copy, ToBeParkedOmitsTheNextRetry) {
  std::vector<std::string> names;
  for (const amqp::FieldView& field :
       Build(MakeMessage({.headers = HeadersOfRetried()}), Parked())) {
    names.emplace_back(field.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"x-retry-count", "x-retry-first-failure", "x-retry-queue",
                                      "x-retry-exchange", "x-retry-routing-key", "x-retry-id",
                                      "x-retry-parked", "x-retry-error"}));
  EXPECT_EQ(properties_.headers->FindInt64("x-retry-parked"), 1'700'000'009'876);
  // A copy that is retried has no time of parking.
  Build(MakeMessage(), Parked());
  Build(Returned());
  EXPECT_EQ(HeaderBytes(), Encoded(HeadersOfRetried()));
}

TEST_F(Copy, OmitsExpirationAndUserIdAndIsPersistent) {
  Build(
      MakeMessage({.properties = {.delivery_mode = 1, .expiration = "60000", .user_id = "guest"}}));
  EXPECT_FALSE(properties_.expiration || properties_.user_id);
  EXPECT_EQ(properties_.delivery_mode, 2);
}

// The broker refuses it on a channel without a consumer of direct replies.
TEST_F(Copy, OmitsAReplyToThatTheBrokerRefuses) {
  Build(MakeMessage({.properties = {.reply_to = "amq.rabbitmq.reply-to"}}));
  EXPECT_FALSE(properties_.reply_to);
  ASSERT_TRUE(copy_.BuildUnchanged(*message_, kPlenty, &properties_));
  EXPECT_FALSE(properties_.reply_to);
}

TEST_F(Copy, ThatReturnsToItsQueueIsTheUnchangedMessage) {
  const auto expiration = [this](std::string_view text, absl::Duration waited) {
    const auto message = MakeMessage({.properties = {.delivery_mode = 1, .expiration = text},
                                      .headers = amqp::Table{{"x-retry-count", "theirs"}}});
    EXPECT_TRUE(copy_.BuildReturn(*message, waited, 10'000, &properties_));
    EXPECT_EQ(properties_.delivery_mode, 1);
    EXPECT_EQ(properties_.headers->bytes(), message->properties.headers->bytes());
    return std::string(*properties_.expiration);
  };
  EXPECT_EQ(expiration("5000", absl::ZeroDuration()), "5000");
  EXPECT_EQ(expiration("5000", absl::Milliseconds(3001)), "1999");
  EXPECT_EQ(expiration("5000", absl::Seconds(5)), "1");
  EXPECT_EQ(expiration("5000", absl::InfiniteDuration()), "1");
  EXPECT_EQ(expiration("5000", -absl::Seconds(5)), "5000");
  EXPECT_EQ(expiration("0", absl::Seconds(1)), "0");
}

TEST_F(Copy, OmitsHeadersThatTheBrokerAddedOrRoutesBy) {
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
  Build(MakeMessage({.headers = headers}));
  EXPECT_EQ(HeaderBytes(), kept + Encoded(HeadersOfRetried()));
  ASSERT_TRUE(copy_.BuildUnchanged(*message_, kPlenty, &properties_));
  EXPECT_EQ(HeaderBytes(), kept);
}

TEST_F(Copy, KeepsAllOtherHeadersByteForByteInTheirOrder) {
  amqp::RandomValues random(5);
  constexpr std::array kRemoved = {"x-death", "CC", "x-retry-count", "x-retry-id", "x-retry-error"};
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
    ASSERT_TRUE(copy_.Build(DeliveryOf(message), Retried(), std::size_t{1} << 30, &properties_));
    ASSERT_EQ(HeaderBytes(), kept + Encoded(HeadersOfRetried())) << "round " << round;
  }
}

TEST_F(Copy, KeepsHeadersThatNestTooDeepToDecode) {
  const std::string bytes = testing::NestedTableBytes(900);
  Build(MakeMessageWithHeaderBytes(bytes));
  EXPECT_TRUE(HeaderBytes().starts_with(bytes));
}

TEST_F(Copy, ReusedWritesIntoTheSameBuffer) {
  const char* const buffer =
      Build(MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}})).bytes().data();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Build(message_).bytes().data(), buffer);
}

TEST_F(Copy, WritesTheLargestInt64ForAHigherCount) {
  Annotation annotation = Retried();
  annotation.failures = std::numeric_limits<std::uint64_t>::max();
  Build(MakeMessage(), annotation);
  EXPECT_EQ(properties_.headers->FindInt64("x-retry-count"),
            std::numeric_limits<std::int64_t>::max());
}

TEST_F(Copy, HasRoomForAllItsHeaders) {
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
  retryq::Copy copy(name);
  ASSERT_TRUE(copy.Build(delivery, annotation, kPlenty, &properties_));
  EXPECT_EQ(HeaderBytes(), Encoded({{"kept", kept},
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

class CopysError : public Copy {};

TEST_F(CopysError, IsValidUtf8) {
  Annotation annotation = Retried();
  annotation.error = "caf\xE9\n\x01";
  Build(MakeMessage(), annotation);
  EXPECT_EQ(properties_.headers->FindString("x-retry-error"), "caf\xEF\xBF\xBD\n\x01");
}

TEST_F(CopysError, IsOmittedIfThereIsNone) {
  Annotation annotation = Retried();
  annotation.error = "";
  Build(MakeMessage(), annotation);
  EXPECT_FALSE(properties_.headers->Find("x-retry-error"));
}

// A copy with less and less space.
class CopyInLittleSpace : public Copy {
 protected:
  static std::size_t FieldSize(const char* name, std::size_t value) {
    return 1 + std::string_view(name).size() + 1 + value;
  }

  // Builds copies with one byte less each time, until one does not fit. Returns the dropped headers
  // in order, each with the largest size that is too small for it.
  std::vector<std::pair<std::string, std::size_t>> Drops(const Annotation& annotation) {
    std::vector<std::pair<std::string, std::size_t>> drops;
    std::size_t size = Size();
    for (; copy_.Build(DeliveryOf(message_), annotation, size, &properties_); --size) {
      EXPECT_LE(Size(), size);
      for (const char* name : {"tenant", "x-retry-count", "x-retry-first-failure", "x-retry-queue",
                               "x-retry-exchange", "x-retry-routing-key", "x-retry-id"}) {
        EXPECT_TRUE(Has(name)) << name << " in " << size;
      }
      if (const auto error = properties_.headers->FindString("x-retry-error")) {
        EXPECT_EQ(Size(), size);  // as much of it as fits
        EXPECT_EQ(*error, annotation.error.substr(0, error->size()));
      }
      for (const char* name :
           {"x-retry-error", "x-retry-parked", "x-retry-not-before", "x-retry-delay"}) {
        const bool is_known = std::any_of(drops.begin(), drops.end(),
                                          [&](const auto& drop) { return drop.first == name; });
        if (!Has(name) && !is_known && absent_.count(name) == 0) drops.emplace_back(name, size);
      }
    }
    for (; size > 0; --size)
      EXPECT_FALSE(copy_.Build(DeliveryOf(message_), annotation, size, &properties_));
    return drops;
  }

  std::set<std::string> absent_;  // from the whole copy
};

TEST_F(CopyInLittleSpace, ShortensTheErrorAndThenDropsOptionalHeaders) {
  Build(MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}}));
  absent_ = {"x-retry-parked"};
  const std::size_t without_text = Size() - Retried().error.size();
  const std::size_t without_error = without_text - FieldSize("x-retry-error", 4);
  const std::size_t without_not_before = without_error - FieldSize("x-retry-not-before", 8);
  EXPECT_THAT(Drops(Retried()), ElementsAre(Pair("x-retry-error", without_text),
                                            Pair("x-retry-not-before", without_error - 1),
                                            Pair("x-retry-delay", without_not_before - 1)));
}

TEST_F(CopyInLittleSpace, DropsTheTimeOfParkingAfterTheError) {
  Build(MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}}), Parked());
  absent_ = {"x-retry-not-before", "x-retry-delay"};
  const std::size_t without_text = Size() - Parked().error.size();
  EXPECT_THAT(Drops(Parked()), ElementsAre(Pair("x-retry-error", without_text),
                                           Pair("x-retry-parked",
                                                without_text - FieldSize("x-retry-error", 4) - 1)));
}

TEST_F(CopyInLittleSpace, CutsTheErrorBetweenCodePoints) {
  Annotation annotation = Retried();
  annotation.error = "\xE2\x82\xAC\xE2\x82\xAC";
  Build(MakeMessage(), annotation);
  ASSERT_TRUE(copy_.Build(DeliveryOf(message_), annotation, Size() - 1, &properties_));
  EXPECT_EQ(properties_.headers->FindString("x-retry-error"), "\xE2\x82\xAC");
}

class CopyUnchanged : public Copy {};

// A message that arrived in one frame is sent in one.
TEST_F(CopyUnchanged, IsNeverLargerThanItsMessage) {
  for (int present = 0; present < 1 << 8; ++present) {
    const auto message = MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}});
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
    const std::size_t size = amqp::ContentHeaderSize(properties);
    EXPECT_TRUE(copy_.BuildUnchanged(*message, size, &properties_)) << present;
    EXPECT_LE(Size(), size) << present;
    EXPECT_TRUE(copy_.BuildUnchanged(*message, size + 1, &properties_)) << present;
    EXPECT_EQ(properties_.delivery_mode, 2) << "where there is room it is persistent";
  }
}

TEST_F(CopyUnchanged, ReportsIfEvenThatDoesNotFit) {
  const auto message = MakeMessage({.headers = amqp::Table{{"tenant", "blue"}}});
  message->properties.delivery_mode = 1;
  ASSERT_TRUE(copy_.BuildUnchanged(*message, kPlenty, &properties_));
  const std::size_t size = Size();
  EXPECT_TRUE(copy_.BuildUnchanged(*message, size, &properties_));
  EXPECT_FALSE(copy_.BuildUnchanged(*message, size - 1, &properties_));
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

}  // namespace retryq::copy_test
