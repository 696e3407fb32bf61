#include "retryq/amqp/table.h"
#include "support/make_message.h"
#include "support/read_facts.h"
#include "support/test.h"

namespace retryq::earlier_failures_test {

using testing::ReadFactsOf;

std::int64_t operator""_i64(unsigned long long number) { return static_cast<std::int64_t>(number); }

std::uint64_t EarlierFailures(const amqp::Message& message, const RetryOptions& options) {
  return ReadFactsOf(message, {.queue = "orders", .retry = options}).history.failures;
}

// The number of failures of a message with these headers in the queue "orders".
std::uint64_t Failures(const amqp::Table& headers, std::vector<std::string> counts) {
  const auto message = MakeMessage({.headers = headers});
  return EarlierFailures(*message, {.earlier_counts = std::move(counts)});
}

// As RabbitMQ writes it.
amqp::Value Death(const std::string& queue, const std::string& reason, std::int64_t count) {
  return amqp::Table{{"count", count}, {"reason", reason},
                     {"queue", queue}, {"time", amqp::Timestamp{1'700'000'000}},
                     {"exchange", ""}, {"routing-keys", amqp::Array{amqp::Value(queue)}}};
}

amqp::Table Deaths(amqp::Array deaths) { return {{"x-death", std::move(deaths)}}; }

TEST(EarlierFailures, AreIgnoredUnlessConfigured) {
  const amqp::Table headers = {{"x-retry-count", 3_i64}, {"x-message-retries", 3_i64}};
  EXPECT_EQ(Failures(headers, {}), 0U);
  EXPECT_EQ(Failures(headers, {"x-retries"}), 0U);
}

TEST(EarlierFailures, AreReadFromNumbersAndNumericTextsInAnyHeader) {
  EXPECT_EQ(Failures({{"x-retry-count", 3_i64}}, {"x-retry-count"}), 3U);
  EXPECT_EQ(Failures({{"x-message-retries", std::int32_t{4}}}, {"x-message-retries"}), 4U);
  EXPECT_EQ(Failures({{"attempts", std::uint8_t{5}}}, {"attempts"}), 5U);
  EXPECT_EQ(Failures({{"retries", "7"}}, {"retries"}), 7U);
  EXPECT_EQ(Failures({{"retries", amqp::Bytes{"8"}}}, {"retries"}), 8U);
}

TEST(EarlierFailures, UseTheLargestOfSeveralHeaders) {
  const amqp::Table headers = {{"a", 2_i64}, {"b", 9_i64}, {"c", 3_i64}};
  EXPECT_EQ(Failures(headers, {"a", "b", "c"}), 9U);
}

TEST(EarlierFailures, AreReadFromNestedTablesByAPath) {
  const amqp::Table headers = {
      {"rascal",
       amqp::Table{{"originalQueue", "orders"},
                   {"recovery", amqp::Table{{"orders", amqp::Table{{"republished", 3_i64}}},
                                            {"bills", amqp::Table{{"republished", "5"}}}}}}}};
  EXPECT_EQ(Failures(headers, {"rascal.recovery.orders.republished"}), 3U);
  EXPECT_EQ(Failures(headers, {"rascal.recovery.bills.republished"}), 5U);
}

TEST(EarlierFailures, PreferAHeaderOfThatNameToAPath) {
  const amqp::Table nested = amqp::Table{{"b", 3_i64}};
  EXPECT_EQ(Failures({{"a", nested}, {"a.b", 4_i64}}, {"a.b"}), 4U);
  EXPECT_EQ(Failures({{"a.b", 4_i64}, {"a", nested}}, {"a.b"}), 4U);
  EXPECT_EQ(Failures({{"a.b", "none"}, {"a", nested}}, {"a.b"}), 0U);
}

TEST(EarlierFailures, AreFoundInKeysThatContainDots) {
  const amqp::Table count = {{"republished", 3_i64}};
  const amqp::Table by_name = {{"orders.v1", count}};
  const amqp::Table by_parts = {{"orders", amqp::Table{{"v1", count}}}};
  EXPECT_EQ(Failures({{"recovery", by_name}}, {"recovery.orders.v1.republished"}), 3U);
  EXPECT_EQ(Failures({{"recovery", by_parts}}, {"recovery.orders.v1.republished"}), 3U);
}

TEST(EarlierFailures, FollowTheLongestKeyThatStartsThePath) {
  const amqp::Table five = {{"n", 5_i64}};
  const amqp::Table headers = {{"a", amqp::Table{{"b", amqp::Table{{"n", 4_i64}}}}},
                               {"a.b", five},
                               {"a", amqp::Table{{"b", amqp::Table{{"n", 6_i64}}}}}};
  EXPECT_EQ(Failures(headers, {"a.b.n"}), 5U);
  // A path cannot leave a nested table.
  EXPECT_EQ(Failures({{"a", amqp::Table{{"b.n", 4_i64}}}, {"a.b", amqp::Table{}}}, {"a.b.n"}), 0U);
  // A path ends at a value that is not a table.
  EXPECT_EQ(Failures({{"a", amqp::Table{{"b.n", 4_i64}}}, {"a.b", 7_i64}}, {"a.b.n"}), 4U);
}

TEST(EarlierFailures, AreZeroIfAPathLeadsNowhere) {
  const amqp::Table headers = {{"a", amqp::Table{{"b", amqp::Table{{"n", 4_i64}}}}},
                               {"ab", amqp::Table{{"n", 4_i64}}},
                               {"list", amqp::Array{amqp::Value(amqp::Table{{"n", 4_i64}})}}};
  for (const char* path : {"a", "a.b", "a.n", "a.b.n.", "a.b.n.more", "a..b.n", ".a.b.n", "a.b.",
                           "a.bn", "b.n", "list.n", "list.0.n", ".", ".."}) {
    EXPECT_EQ(Failures(headers, {path}), 0U) << path;
  }
}

TEST(EarlierFailures, AreFoundUpToTheDepthOfDecodedTables) {
  const auto failures_at = [](int levels) {
    amqp::Table table = {{"n", 4_i64}};
    std::string path = "n";
    for (int level = 1; level < levels; ++level) {
      table = amqp::Table{{"t", std::move(table)}};
      path = "t." + path;
    }
    return Failures(table, {path});
  };
  EXPECT_EQ(failures_at(amqp::kMaxTableDepth), 4U);
  // Deeper than a table can be encoded here.
  std::string path = "t";
  for (int level = 1; level < 100; ++level) path += ".t";
  const auto message = MakeMessageWithHeaderBytes(NestedTableBytes(100));
  EXPECT_EQ(EarlierFailures(*message, {.earlier_counts = {path}}), 0U);
}

// Only `x-death` entries of the broker count.
TEST(EarlierFailures, DoNotCountDeathsInsideOfOtherHeaders) {
  EXPECT_EQ(Failures({{"kept", Deaths({Death("orders", "rejected", 3)})}}, {"kept.x-death"}), 0U);
}

TEST(EarlierFailures, AreZeroIfTheHeaderIsInvalid) {
  for (const amqp::Value& nonsense :
       {amqp::Value("many"), amqp::Value("-3"), amqp::Value("3.5"), amqp::Value(""),
        amqp::Value("99999999999999999999999"), amqp::Value(std::int64_t{-1}),
        amqp::Value(std::numeric_limits<std::uint64_t>::max()), amqp::Value(true), amqp::Value(2.0),
        amqp::Value(amqp::Array{amqp::Value(3_i64)}), amqp::Value(amqp::Void{})}) {
    EXPECT_EQ(Failures({{"x-retry-count", nonsense}, {"x-death", nonsense}},
                       {"x-retry-count", "x-death"}),
              0U);
  }
}

// However large a number is, one more can be counted, and a header holds it.
TEST(EarlierFailures, NeverOverflow) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const char* text : {"9223372036854775806", "9223372036854775807", "9223372036854775808",
                           "18446744073709551614", "18446744073709551615"}) {
    const std::uint64_t failures = Failures({{"retries", text}}, {"retries"});
    EXPECT_GE(failures, kMost - 1) << text;
    EXPECT_LE(failures, kMost) << text;
  }
  for (const char* reason : {"expired", "rejected"}) {
    const std::string queue = reason == std::string("expired") ? "elsewhere" : "orders";
    EXPECT_EQ(Failures(Deaths({Death(queue, reason, most), Death(queue, reason, most),
                               Death(queue, reason, most)}),
                       {"x-death"}),
              kMost);
  }
}

TEST(EarlierFailures, CountTheDeathsThatFollowAFailure) {
  const auto count = [](amqp::Array deaths) {
    return Failures(Deaths(std::move(deaths)), {"x-death"});
  };
  // Rejections by the queue.
  EXPECT_EQ(count({Death("orders.retry", "expired", 3), Death("orders", "rejected", 3)}), 3U);
  // Expirations in several delay queues.
  EXPECT_EQ(count({Death("orders.4000", "expired", 2), Death("orders.2000", "expired", 1),
                   Death("orders.1000", "expired", 1)}),
            4U);
  // Deaths that no worker saw.
  EXPECT_EQ(count({Death("orders", "expired", 5), Death("orders", "maxlen", 5),
                   Death("elsewhere", "rejected", 5), Death("elsewhere", "maxlen", 5)}),
            0U);
}

TEST(EarlierFailures, SkipInvalidDeaths) {
  amqp::Table no_count = {{"queue", "orders"}, {"reason", "rejected"}};
  amqp::Table count_is_text = no_count;
  count_is_text.Set("count", "7");
  amqp::Array deaths = {amqp::Value("text"),
                        amqp::Value(no_count),
                        amqp::Value(count_is_text),
                        amqp::Value(amqp::Table{{"count", 7_i64}}),
                        Death("orders", "rejected", -7),
                        Death("orders", "rejected", 2)};
  EXPECT_EQ(Failures(Deaths(std::move(deaths)), {"x-death"}), 2U);
}

TEST(EarlierFailures, AreZeroIfADeathNestsTooDeep) {
  std::string bytes = "\x07x-deathA";
  std::string entry = "F";
  const std::string nested = NestedTableBytes(50);
  const auto append_length = [](std::size_t size, std::string* out) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      out->push_back(static_cast<char>(size >> shift & 0xff));
    }
  };
  append_length(nested.size(), &entry);
  entry += nested;
  append_length(entry.size(), &bytes);
  bytes += entry;
  const auto message = MakeMessageWithHeaderBytes(bytes);
  ASSERT_TRUE(message->properties.headers->Find("x-death").has_value());
  EXPECT_EQ(EarlierFailures(*message, {.earlier_counts = {"x-death"}}), 0U);
}

TEST(EarlierFailures, AreZeroForMessagesThatRetryqCopied) {
  for (const char* queue : {"orders", "other"}) {
    EXPECT_EQ(Failures(testing::Copied({{"x-message-retries", 3_i64}, {"x-retry-queue", queue}}),
                       {"x-message-retries"}),
              0U);
    EXPECT_EQ(
        Failures({{"x-message-retries", 3_i64}, {"x-retry-id", "00112233445566778899aabbccddeeff"}},
                 {"x-message-retries"}),
        0U);
  }
}

TEST(EarlierFailures, UseTheCountOfAQuorumQueueUnlessItCountsAnyway) {
  const auto message = MakeMessage({.headers = amqp::Table{{"x-delivery-count", 6_i64}}});
  RetryOptions options{.count_redeliveries = CountRedeliveries::kNever,
                       .earlier_counts = {"x-delivery-count"}};
  EXPECT_EQ(EarlierFailures(*message, options), 6U);
  message->redelivered = true;
  EXPECT_EQ(EarlierFailures(*message, options), 6U);
  options.count_redeliveries = CountRedeliveries::kWhereCounted;
  EXPECT_EQ(EarlierFailures(*message, options), 0U);
}

}  // namespace retryq::earlier_failures_test
