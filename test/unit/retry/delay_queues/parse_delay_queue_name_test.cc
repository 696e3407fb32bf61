#include "absl/strings/str_split.h"
#include "retry/delay_queues/route_declaration.h"
#include "retryq/broker/delay_queue_name.h"
#include "support/test.h"

namespace retryq::parse_delay_queue_name_test {

TEST(ParseDelayQueueName, ParsesTheOwnerOfAQuorumQueue) {
  const std::vector<std::string> owners = absl::StrSplit(
      "orders,a.b,q1,a.q1,q,1000,direct,direct.a,directly,exchange,exchange.a,c0ffee00,"
      "c0ffee00.a,c0ffee001,p9,p9.a,p32,#,#48b28a6d0f8a1e4e,.,..,ä b,retry.1000.q0,"
      "retry.1000.direct.q0",
      ',');
  for (const std::string& owner : owners) {
    for (const bool exchange : {false, true}) {
      for (const bool direct : {false, true}) {
        if (direct && exchange) continue;
        for (const NameFamily family : {NameFamily::kPlain, NameFamily::kHashed}) {
          for (const bool declare : {true, false}) {
            const auto priority = direct ? std::optional<std::uint8_t>(31) : std::nullopt;
            const DelayQueueOptions options{
                .prefix = "a.prefix", .queue_type = QueueType::kQuorum, .declare = declare};
            const DelayRoute route{
                .ttl = absl::Seconds(30),
                .direct = direct,
                .owner = owner,
                .owner_key = exchange ? std::optional<std::string_view>(owner) : std::nullopt,
                .priority = priority};
            const std::string name =
                DelayQueueDeclaration(route, options, family, {.epoch = 7, .slot = 3}).queue.name;
            SCOPED_TRACE(name);
            const std::optional<DelayQueueName> parsed = ParseDelayQueueName(name, "a.prefix");
            ASSERT_TRUE(parsed.has_value());
            EXPECT_EQ(parsed->ttl, absl::Seconds(30));
            EXPECT_EQ(parsed->direct, direct);
            EXPECT_EQ(parsed->priority, priority);
            EXPECT_EQ(parsed->hash.size(), family == NameFamily::kHashed ? 8U : 0U);
            EXPECT_EQ(parsed->slot.has_value(), declare);
            EXPECT_EQ(parsed->slot.value_or(3), 3);
            const std::string& named = exchange ? parsed->exchange : parsed->work_queue;
            EXPECT_TRUE(named == owner || named.starts_with('#')) << named;
            EXPECT_EQ(exchange ? parsed->work_queue : parsed->exchange, "");
            EXPECT_EQ(parsed->routing_key, exchange && named == owner ? owner : "");
          }
        }
      }
    }
  }
}

// No two queues share a name, whatever their work queues are called.
TEST(ParseDelayQueueName, DistinguishesTheNamesOfDifferentWorkQueues) {
  EXPECT_EQ(ParseDelayQueueName("retry.1000.direct.q1", "retry"),
            (DelayQueueName{.ttl = absl::Seconds(1), .direct = true, .slot = 1}));
  EXPECT_EQ(ParseDelayQueueName("retry.1000.c0ffee00.q1", "retry"),
            (DelayQueueName{.ttl = absl::Seconds(1), .hash = "c0ffee00", .slot = 1}));
  EXPECT_EQ(ParseDelayQueueName("retry.1000.q1", "retry"),
            (DelayQueueName{.ttl = absl::Seconds(1), .slot = 1}));
  EXPECT_EQ(ParseDelayQueueName("retry.1000.q1.q1", "retry"),
            (DelayQueueName{.ttl = absl::Seconds(1), .slot = 1, .work_queue = "q1"}));
  EXPECT_EQ(ParseDelayQueueName("retry.1000.direct.c0ffee00.a.b.q1", "retry"),
            (DelayQueueName{.ttl = absl::Seconds(1),
                            .direct = true,
                            .hash = "c0ffee00",
                            .slot = 1,
                            .work_queue = "a.b"}));
  EXPECT_EQ(ParseDelayQueueName("retry.1000.exchange.a.key.b.key.c.q", "retry"),
            (DelayQueueName{.ttl = absl::Seconds(1), .exchange = "a", .routing_key = "b.key.c"}));
  EXPECT_EQ(ParseDelayQueueName("retry.1000.exchange.a.key..q", "retry"),
            (DelayQueueName{.ttl = absl::Seconds(1), .exchange = "a"}));
}

TEST(ParseDelayQueueName, RefusesAllOtherNames) {
  const std::vector<std::string> names = absl::StrSplit(
      ",retry,retry.,retry.1000.,retry.01,retry.0,retry.-1,retry.+1,retry. 1,retry.1s,"
      "retry.315360000001,retry.99999999999999999999,retry.1000.parked,retry.1000.directly,"
      "retry.1000.q4,retry.1000.q,retry.1000.q11,retry.1000.C0FFEE00,retry.1000.c0ffee,"
      "retry.1000.p9,retry.1000.p9.c0ffee00,retry.1000.c0ffee001,retry.1000.q1.direct,"
      "retry.1000.direct.q,retry.1000.c0ffee00.q,retry.1000..q1,retry.1000.exchange.q1,"
      "retry.1000.exchange..q1,retry.1000.#c0ffee.q1,retry.1000.orders,retry.1000.orders.q4,"
      "retry.1000orders.q1,retry.1000.q1.00c0ffee,retry.orders,orders,Retry.1000,retry1000,"
      "other.retry.1000",
      ',');
  for (const std::string& name : names) {
    EXPECT_FALSE(ParseDelayQueueName(name, "retry").has_value()) << name;
  }
  EXPECT_FALSE(ParseDelayQueueName("retry.1000", "retr").has_value());
  EXPECT_FALSE(ParseDelayQueueName("retry.1000", "retry.1000").has_value());
}

}  // namespace retryq::parse_delay_queue_name_test
