#include <random>

#include "retry/delivery/message_history.h"
#include "retryq/amqp/table.h"
#include "support/make_message.h"
#include "support/read_facts.h"
#include "support/test.h"

namespace retryq::history_test {

using testing::Copied;
using testing::ReadFactsOf;
using testing::ReadHistory;

std::int64_t operator""_i64(unsigned long long number) { return static_cast<std::int64_t>(number); }

amqp::Table FullHistory() {
  return {{"x-retry-count", 3_i64},
          {"x-retry-first-failure", 1'700'000'000'123_i64},
          {"x-retry-not-before", 1'700'000'004'000_i64},
          {"x-retry-delay", 4000_i64},
          {"x-retry-queue", "orders"},
          {"x-retry-exchange", "shop"},
          {"x-retry-routing-key", "order.placed"},
          {"x-retry-error", "UNAVAILABLE: down"},
          {"x-retry-remaining", 1500_i64},
          {"x-retry-id", "r-1"}};
}

constexpr char kMadeId[] = "00112233445566778899aabbccddeeff";

// The copy returns through the default exchange, with the queue's name as routing key.
amqp::MessagePtr Returned(amqp::Table headers) {
  return MakeMessage({.exchange = "", .routing_key = "orders", .headers = std::move(headers)});
}

// Without a history, a message has only the facts that a retrier assumes without reading them.
TEST(History, IsMissingIfThereIsNothingToRead) {
  const auto fresh = MakeMessage({.exchange = "shop", .routing_key = "order.placed"});
  EXPECT_FALSE(HasHistory(*fresh));
  const DeliveryFacts facts =
      ReadFactsOf(*fresh, {.queue = "orders", .retry = {.earlier_counts = {"x-death", "count"}}});
  EXPECT_EQ(facts.history.exchange, "shop");
  EXPECT_EQ(facts.history.routing_key, "order.placed");
  EXPECT_EQ(facts.history.id, "");
  EXPECT_EQ(facts.history.failures, 0u);
  EXPECT_EQ(facts.stated_failures, 0u);
  EXPECT_EQ(facts.redeliveries.count, 0u);
  EXPECT_EQ(facts.left, absl::ZeroDuration());
  EXPECT_FALSE(facts.near_delivery_limit || facts.others_retry || facts.came_back || facts.early);

  EXPECT_TRUE(HasHistory(*MakeMessage({.headers = amqp::Table()})));
  EXPECT_TRUE(HasHistory(*MakeMessage({.redelivered = true})));
  const auto left_out = MakeMessage();
  left_out->left_out = 1;
  EXPECT_TRUE(HasHistory(*left_out));
}

// A message with these headers has no history, except for this id.
void ExpectFresh(const amqp::Table& headers, const std::string& queue = "orders",
                 std::string_view id = "") {
  const auto message = Returned(headers);
  const Delivery::History history = ReadHistory(*message, queue);
  EXPECT_EQ(history.id, id);
  EXPECT_EQ(history.failures, 0u);
  EXPECT_FALSE(history.first_failure);
  EXPECT_FALSE(history.not_before);
  EXPECT_FALSE(history.delay);
  EXPECT_FALSE(history.remaining);
  EXPECT_EQ(history.last_error, "");
  EXPECT_EQ(history.exchange, "");
  EXPECT_EQ(history.routing_key, "orders");
}

TEST(ReadHistory, ReadsAllHeadersOfACopy) {
  const auto message = Returned(FullHistory());
  const Delivery::History history = ReadHistory(*message, "orders");
  EXPECT_EQ(history.failures, 3u);
  EXPECT_EQ(history.first_failure, absl::FromUnixMillis(1'700'000'000'123));
  EXPECT_EQ(history.not_before, absl::FromUnixMillis(1'700'000'004'000));
  EXPECT_EQ(history.delay, absl::Seconds(4));
  EXPECT_EQ(history.remaining, absl::Milliseconds(1500));
  EXPECT_EQ(history.last_error, "UNAVAILABLE: down");
  EXPECT_EQ(history.id, "r-1");
  EXPECT_EQ(history.exchange, "shop");
  EXPECT_EQ(history.routing_key, "order.placed");
}

TEST(ReadHistory, IgnoresTheHistoryOfAnotherQueueOrOfNone) {
  ExpectFresh(FullHistory(), "invoices");
  amqp::Table headers = FullHistory();
  headers.Set("x-retry-queue", 7_i64);
  headers.Set("x-retry-remaining", "none");  // else it could be one that is published with a delay
  ExpectFresh(headers);
}

TEST(ReadHistory, KeepsOnlyTheIdOfAReplayedMessage) {
  ExpectFresh({{"x-retry-id", kMadeId}, {"x-retry-count", 3_i64}}, "orders", kMadeId);
  const auto edited = Returned({{"x-retry-id", "r-1"}, {"x-retry-edited", 3_i64}});
  EXPECT_EQ(ReadHistory(*edited, "orders").id, "r-1");
}

TEST(ReadHistory, ReadsTheDelayOfADelayedPublish) {
  const auto message = Returned({{"x-retry-delay", 4000_i64},
                                 {"x-retry-not-before", 1'700'000'004'000_i64},
                                 {"x-retry-remaining", 1500_i64},
                                 {"x-retry-count", 7_i64},
                                 {"x-retry-id", "r-1"}});
  const Delivery::History history = ReadHistory(*message, "orders");
  EXPECT_EQ(history.delay, absl::Seconds(4));
  EXPECT_EQ(history.not_before, absl::FromUnixMillis(1'700'000'004'000));
  EXPECT_EQ(history.remaining, absl::Milliseconds(1500));
  EXPECT_EQ(history.id, "r-1");
  EXPECT_EQ(history.failures, 0u) << "of no queue";
}

TEST(ReadHistory, IgnoresValuesOfAWrongType) {
  const amqp::Table whole = FullHistory();
  amqp::Table headers;
  for (const auto& [name, value] : whole.fields()) headers.Set(name, amqp::Table{});
  headers.Set("x-retry-queue", "orders");
  ExpectFresh(headers);
}

TEST(ReadHistory, IgnoresNegativeNumbers) {
  amqp::Table headers = Copied({});
  for (const char* name :
       {"x-retry-count", "x-retry-first-failure", "x-retry-not-before", "x-retry-delay"}) {
    headers.Set(name, std::numeric_limits<std::int64_t>::min());
  }
  ExpectFresh(headers, "orders", "r-1");
}

TEST(ReadHistory, ReadsHugeNumbersWithoutOverflow) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const auto message = Returned(Copied({{"x-retry-count", kHuge},
                                        {"x-retry-first-failure", kHuge},
                                        {"x-retry-not-before", kHuge},
                                        {"x-retry-delay", kHuge}}));
  const Delivery::History history = ReadHistory(*message, "orders");
  EXPECT_EQ(history.failures, static_cast<std::uint64_t>(kHuge));
  EXPECT_GT(history.failures + 1, history.failures);
  EXPECT_GT(history.first_failure, absl::UnixEpoch());
  EXPECT_GT(history.not_before, absl::UnixEpoch());
  EXPECT_GT(history.delay, absl::Hours(1));
}

TEST(ReadHistory, ReadsEveryTypeOfIntegerUpToInt64) {
  const auto delay = [](const amqp::Value& value) {
    return ReadHistory(*Returned(Copied({{"x-retry-delay", value}})), "orders").delay;
  };
  EXPECT_EQ(delay(std::int8_t{3}), absl::Milliseconds(3));
  EXPECT_EQ(delay(std::numeric_limits<std::uint64_t>::max()), std::nullopt);
}

TEST(ReadHistory, IgnoresNamesThatAreTooLongForAmqp) {
  const std::string longest(255, 'k');
  const std::string too_long(256, 'k');
  amqp::Table headers = FullHistory();
  headers.Set("x-retry-routing-key", longest);
  headers.Set("x-retry-id", longest);
  auto message = Returned(headers);
  EXPECT_EQ(ReadHistory(*message, "orders").routing_key, longest);
  EXPECT_EQ(ReadHistory(*message, "orders").id, longest);

  headers.Set("x-retry-routing-key", too_long);
  headers.Set("x-retry-id", too_long);
  message = Returned(headers);
  EXPECT_EQ(ReadHistory(*message, "orders").exchange, "");
  EXPECT_EQ(ReadHistory(*message, "orders").routing_key, "orders");
  EXPECT_EQ(ReadHistory(*message, "orders").id, "");
}

// An application may use headers with these names: an incomplete set is not retryq's.
TEST(ReadHistory, TrustsAllHeadersOfACopyOrNone) {
  const amqp::Table whole = FullHistory();
  for (const char* name : {"x-retry-count", "x-retry-queue", "x-retry-exchange",
                           "x-retry-routing-key", "x-retry-id"}) {
    for (const bool is_there : {false, true}) {
      amqp::Table headers;
      for (const auto& [each, value] : whole.fields()) {
        if (each == "x-retry-remaining") continue;
        if (each != name) headers.Set(each, value);
        if (each == name && is_there) headers.Set(each, std::int32_t{3});
      }
      SCOPED_TRACE(name);
      ExpectFresh(headers);
    }
  }
  for (const char* name :
       {"x-retry-delay", "x-retry-not-before", "x-retry-remaining", "x-retry-id"}) {
    amqp::Table headers = {{"x-retry-delay", 4000_i64},
                           {"x-retry-not-before", 1'700'000'004'000_i64},
                           {"x-retry-remaining", 1500_i64},
                           {"x-retry-id", "r-1"}};
    headers.Set(name, std::int32_t{3});
    ExpectFresh(headers);
  }
}

TEST(ReadHistory, CutsAnErrorLongerThanACopysBetweenCodePoints) {
  std::string error(1023, 'e');
  error += "\xE2\x82\xAC and so on";
  const auto message = Returned(Copied({{"x-retry-error", error}}));
  EXPECT_EQ(ReadHistory(*message, "orders").last_error, std::string(1023, 'e'));
}

bool IsOthersRetry(const amqp::Message& message, const std::string& queue) {
  return ReadFactsOf(message, {.queue = queue}).others_retry;
}

// Either wholly random bytes, or a valid history with some bytes changed.
TEST(ReadHistory, SurvivesAnyBytes) {
  std::mt19937 random(11);  // NOLINT: the same bytes each time
  const std::string valid = FullHistory().Encode().value();
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = valid;
    if (round % 4 == 0) bytes.assign(random() % 200, '\0');
    const bool all = round % 4 == 0;
    for (char& byte : bytes) {
      if (all || random() % 40 == 0) byte = static_cast<char>(random());
    }
    const auto message = MakeMessageWithHeaderBytes(bytes);
    const Delivery::History history = ReadHistory(*message, "orders");
    ASSERT_LE(history.failures,
              static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    ASSERT_LE(history.last_error.size(), 1024u);
    ASSERT_LE(history.id.size(), 255u);
    ASSERT_LE(history.exchange.size(), 255u);
    ASSERT_LE(history.routing_key.size(), 255u);
    ASSERT_GE(history.first_failure.value_or(absl::UnixEpoch()), absl::UnixEpoch());
    ASSERT_GE(history.delay.value_or(absl::ZeroDuration()), absl::ZeroDuration());
    IsOthersRetry(*message, "invoices");
  }
}

// A retry of the queue "orders", as a consumer of another queue sees it behind
// the same topic exchange: 4 s in retry.4000, then back through "shop".
class IsOthersRetryTest : public ::testing::Test {
 protected:
  IsOthersRetryTest() : headers_(FullHistory()) { SetDeath("expired", "retry.4000"); }

  void SetDeath(const char* reason, std::string_view queue) {
    SetDeaths({amqp::Table{{"reason", reason}, {"queue", queue}, {"exchange", queue}},
               amqp::Table{{"reason", "rejected"}, {"queue", "somewhere"}}});
  }

  void SetDeaths(amqp::Array deaths) { headers_.Set("x-death", std::move(deaths)); }

  bool IsSkippedBy(const std::string& queue) const {
    return IsOthersRetry(
        *MakeMessage({.exchange = exchange_, .routing_key = key_, .headers = headers_}), queue);
  }

  std::string exchange_ = "shop";
  std::string key_ = "order.placed";
  amqp::Table headers_;
};

TEST_F(IsOthersRetryTest, IsTrueForARetryOfAnotherQueueOnly) {
  EXPECT_TRUE(IsSkippedBy("invoices"));
  EXPECT_FALSE(IsSkippedBy("orders"));
  EXPECT_FALSE(IsOthersRetry(*MakeMessage(), "invoices"));
}

TEST_F(IsOthersRetryTest, RecognizesEveryNameOfADelayQueue) {
  for (const char* name : {"retry.4000", "retry.4000.direct", "retry.4000.1f3a", "retry.4000.q2",
                           "later.4000", "my.retry.4000", "4.4000", "4000.4000.orders.q0"}) {
    SetDeath("expired", name);
    EXPECT_TRUE(IsSkippedBy("invoices")) << name;
  }
}

TEST_F(IsOthersRetryTest, IsFalseForNamesOfOtherQueues) {
  for (const char* name : {"retry.40001", "retry.400", "retry.", "retry", "4000", ".4000",
                           "retry.4000direct", "retry.04000", ""}) {
    SetDeath("expired", name);
    EXPECT_FALSE(IsSkippedBy("invoices")) << name;
  }
}

// The exchange of a delay queue has the name of the queue; other queues whose messages expire are
// not reached through an exchange of their name.
TEST_F(IsOthersRetryTest, IsFalseForAQueueReachedThroughAnotherExchange) {
  for (const char* exchange : {"", "shop"}) {
    SetDeaths(
        {amqp::Table{{"reason", "expired"}, {"queue", "orders.4000"}, {"exchange", exchange}}});
    EXPECT_FALSE(IsSkippedBy("invoices")) << exchange;
  }
}

TEST_F(IsOthersRetryTest, IsFalseIfTheNewestDeathHasAnotherReason) {
  SetDeath("rejected", "retry.4000");
  EXPECT_FALSE(IsSkippedBy("invoices"));
  SetDeaths({amqp::Table{{"reason", "rejected"}, {"queue", "orders"}},
             amqp::Table{{"reason", "expired"}, {"queue", "retry.4000"}}});
  EXPECT_FALSE(IsSkippedBy("invoices"));
}

TEST_F(IsOthersRetryTest, IsFalseIfPublishedElsewhereMeanwhile) {
  exchange_ = "archive";
  EXPECT_FALSE(IsSkippedBy("invoices"));
  exchange_ = "shop";
  key_ = "order.changed";
  EXPECT_FALSE(IsSkippedBy("invoices"));
}

TEST_F(IsOthersRetryTest, RequiresEachHeader) {
  const amqp::Table whole = headers_;
  for (const char* name :
       {"x-retry-queue", "x-retry-exchange", "x-retry-routing-key", "x-retry-delay", "x-death"}) {
    headers_ = whole;
    headers_.Set(name, false);
    EXPECT_FALSE(IsSkippedBy("invoices")) << name;
  }
}

TEST_F(IsOthersRetryTest, IsFalseForInvalidDeaths) {
  for (const amqp::Array& deaths :
       {amqp::Array{}, amqp::Array{"expired"}, amqp::Array{amqp::Table{}},
        amqp::Array{amqp::Table{{"reason", "expired"}, {"queue", 4_i64}}}}) {
    SetDeaths(deaths);
    EXPECT_FALSE(IsSkippedBy("invoices"));
  }
}

amqp::Table Rejected(const std::string& queue, std::int64_t times) {
  return {{"queue", queue}, {"reason", "rejected"}, {"count", times}};
}

// The failures in other queues that a copy of a consumer of "orders" states.
amqp::Table Elsewhere(const amqp::Table& headers, const std::vector<std::string>& former = {}) {
  const auto message = MakeMessage({.headers = Copied(headers)});
  const std::string bytes =
      FailuresElsewhere(*message, {.queue = "orders", .former_queues = former});
  if (bytes.empty()) return {};
  const amqp::TableView view(bytes);
  EXPECT_EQ(std::distance(view.begin(), view.end()), 1);
  return view.Find("x-retry-elsewhere").value().AsTable().value().Decode().value();
}

TEST(FailuresElsewhere, ContainFailuresOfOtherQueues) {
  EXPECT_EQ(Elsewhere({}), amqp::Table{});
  EXPECT_EQ(Elsewhere(FullHistory()), amqp::Table{});
  EXPECT_EQ(Elsewhere({{"x-retry-queue", "mails"},
                       {"x-retry-count", 2_i64},
                       {"x-retry-elsewhere", amqp::Table{{"bills", 4_i64}, {"orders", 5_i64}}},
                       {"x-death", amqp::Array{Rejected("mails", 1), Rejected("orders", 1)}}}),
            (amqp::Table{{"mails", 3_i64}, {"bills", 4_i64}}));
}

TEST(FailuresElsewhere, AreEmptyForAFormerName) {
  EXPECT_EQ(Elsewhere({{"x-retry-queue", "mails"}, {"x-retry-count", 2_i64}}, {"mails"}),
            amqp::Table{});
}

TEST(FailuresElsewhere, KeepTheLargestOfManyQueues) {
  amqp::Table many;
  for (int i = 1; i <= 20; ++i) many.Set("q" + std::to_string(i), std::int64_t{i});
  const amqp::Table kept = Elsewhere({{"x-retry-elsewhere", many}});
  EXPECT_EQ(kept.fields().size(), 17U);
  EXPECT_EQ(*kept.Find("q20"), amqp::Value(20_i64));
  EXPECT_EQ(kept.Find("q4"), nullptr);
  EXPECT_EQ(*kept.Find(""), amqp::Value(4_i64));
  EXPECT_EQ(Elsewhere({{"x-retry-elsewhere", kept}}), kept);
}

TEST(FailuresElsewhere, AreRestoredInTheirOwnQueue) {
  const amqp::Table table = {{"orders", 3_i64}, {"bills", 7_i64}, {"", 2_i64}};
  const auto message = MakeMessage(
      {.headers = Copied(
           {{"x-retry-queue", "mails"}, {"x-retry-count", 9_i64}, {"x-retry-elsewhere", table}})});
  EXPECT_EQ(ReadHistory(*message, "orders").failures, 3U);
  EXPECT_TRUE(ReadFactsOf(*message, {.queue = "orders"}).came_back);
  EXPECT_EQ(ReadHistory(*message, "mails").failures, 9U);
  EXPECT_FALSE(ReadFactsOf(*message, {.queue = "mails"}).came_back);
  // The queue may be one of those that were left out.
  EXPECT_EQ(ReadHistory(*message, "any").failures, 2U);
}

TEST(FailuresElsewhere, AReturnedMessageDoesNotRepeatAFinishedDelay) {
  for (const bool came_back : {false, true}) {
    amqp::Table headers = Copied(
        {{"x-retry-queue", "orders"}, {"x-retry-count", 2_i64}, {"x-retry-remaining", 60'000_i64}});
    if (came_back) headers.Set("x-death", amqp::Array{Rejected("orders", 1)});
    RetrierOptions options{.queue = "orders"};
    options.retry.on_limit = OnLimit::kReject;
    const DeliveryFacts facts = ReadFactsOf(*MakeMessage({.headers = headers}), options);
    EXPECT_EQ(facts.came_back, came_back);
    EXPECT_EQ(facts.left > absl::ZeroDuration(), !came_back);
  }
}

TEST(FailuresElsewhere, IncludeRejectionsOfAConsumerThatRejects) {
  const auto message =
      MakeMessage({.headers = Copied({{"x-retry-queue", "orders"},
                                      {"x-retry-count", 2_i64},
                                      {"x-death", amqp::Array{Rejected("orders", 1)}}})});
  const auto failures = [&](RetryOptions options) {
    return ReadFactsOf(*message, {.queue = "orders", .retry = std::move(options)}).history.failures;
  };
  EXPECT_EQ(failures({}), 2U);
  EXPECT_EQ(failures({.on_limit = OnLimit::kReject}), 3U);
  EXPECT_EQ(failures({.on_permanent = OnLimit::kReject}), 3U);
  EXPECT_EQ(failures({.for_errors = {{.codes = {absl::StatusCode::kAborted},
                                      .on_limit = OnLimit::kReject}}}),
            3U);
}

TEST(FailuresElsewhere, AreEmptyForInvalidHeaders) {
  for (const amqp::Value& value :
       {amqp::Value(3_i64), amqp::Value("orders"), amqp::Value(amqp::Table{{"orders", -1_i64}}),
        amqp::Value(amqp::Table{{"orders", "3"}}),
        amqp::Value(amqp::Table{{std::string(255, 'q'), 0_i64}})}) {
    const auto message = MakeMessage({.headers = Copied({{"x-retry-elsewhere", value}})});
    EXPECT_EQ(ReadHistory(*message, "orders").failures, 0U);
    EXPECT_EQ(Elsewhere({{"x-retry-elsewhere", value}}), amqp::Table{});
  }
}

amqp::Table Stated() {
  return {{"x-retry-count", std::int64_t{8}},
          {"x-retry-first-failure", std::int64_t{1'700'000'000'123}},
          {"x-retry-parked", std::int64_t{1'700'000'600'456}},
          {"x-retry-error", "no\tpaper"},
          {"x-retry-queue", "orders"},
          {"x-retry-exchange", "shop"},
          {"x-retry-routing-key", "order.placed"},
          {"x-retry-id", "5f0c"}};
}

TEST(MessageHistory, IgnoresWrongValues) {
  const auto message = MakeMessage({.properties = {.message_id = "m"},
                                    .headers = Copied({{"x-retry-count", std::int64_t{-1}},
                                                       {"x-retry-first-failure", "yesterday"},
                                                       {"x-retry-parked", "today"},
                                                       {"x-retry-error", std::int64_t{7}},
                                                       {"x-retry-queue", std::string(256, 'q')},
                                                       {"x-retry-id", std::string(256, 'i')}})});
  const MessageHistory history(*message);
  EXPECT_EQ(history.id, "m");
  EXPECT_FALSE(history.attempt || history.first_failure || history.parked || history.error ||
               history.queue);
}

TEST(MessageHistory, IsOfAParkedMessageIfRetryqParkedIt) {
  EXPECT_TRUE(MessageHistory(*MakeMessage({.headers = Stated()})).is_parked());
  const amqp::Table history = Stated();
  for (const std::string missing : {"x-retry-parked", "x-retry-queue"}) {
    amqp::Table headers;
    for (const auto& [name, value] : history.fields()) {
      if (name != missing) headers.Set(name, value);
    }
    EXPECT_FALSE(MessageHistory(*MakeMessage({.headers = headers})).is_parked()) << missing;
  }
}

TEST(MessageHistory, SurvivesInvalidHeaders) {
  const auto message = MakeMessageWithHeaderBytes("\x0dx-retry-queueS\xff\xff\xff\xffq");
  EXPECT_FALSE(MessageHistory(*message).queue.has_value());
}

TEST(MessageHistory, IgnoresTheCountOfAFirstDelivery) {
  const amqp::Table headers = {{"x-delivery-count", std::int64_t{7}}};
  EXPECT_EQ(MessageHistory(*MakeMessage({.headers = headers})).returns, 0);
  const auto again = MakeMessage({.headers = headers, .redelivered = true});
  EXPECT_EQ(MessageHistory(*again).returns, 7);
}

}  // namespace retryq::history_test
