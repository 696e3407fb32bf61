#include "retry/delay_queues/route_declaration.h"

#include "support/test.h"

namespace retryq::delay_queue_name_test {

constexpr DelayRoute kSecond{.ttl = absl::Seconds(1), .dead_letter_exchange = "work"};

std::string PlainName(const DelayRoute& route, const DelayQueueOptions& options = {}) {
  return DelayQueueDeclaration(route, options, NameFamily::kPlain).queue.name;
}

std::string HashedName(const DelayRoute& route, const DelayQueueOptions& options = {}) {
  return DelayQueueDeclaration(route, options, NameFamily::kHashed).queue.name;
}

// Brokers have queues with these names: no version may change them.
TEST(DelayQueueName, HashesTheArgumentsStably) {
  EXPECT_EQ(HashedName(kSecond), "retry.1000.6bfed81f");
  EXPECT_EQ(HashedName({.ttl = absl::Seconds(1)}), "retry.1000.4a9b4d44");
  EXPECT_EQ(HashedName({.ttl = absl::Seconds(1), .direct = true}), "retry.1000.direct.4a9b4d44");
}

TEST(DelayQueueName, HashesEverythingThatChangesTheArguments) {
  const std::set<std::string> names = {
      HashedName(kSecond),
      HashedName({.ttl = absl::Seconds(1), .dead_letter_exchange = "other"}),
      HashedName(kSecond, {.margin = absl::Minutes(2)}),
      HashedName(kSecond, {.min_window = absl::Minutes(5)}),
  };
  EXPECT_EQ(names.size(), 4U);
  for (const std::string& name : names) EXPECT_THAT(name, MatchesRegex("retry\\.1000\\.[0-9a-f]*"));
  for (const std::string& name : names)
    EXPECT_EQ(name.size(), std::string("retry.1000.").size() + 8);
}

TEST(DelayQueueName, IsTheSameForOptionsWithoutEffect) {
  EXPECT_EQ(HashedName(kSecond), HashedName(kSecond, {.max_window = absl::Minutes(20)}));
}

TEST(DelayQueueName, OfAQuorumQueueEndsWithItsSlot) {
  const DelayQueueOptions quorum{.queue_type = QueueType::kQuorum};
  const auto name = [&](NameFamily family, std::int64_t epoch, int slot) {
    return DelayQueueDeclaration(kSecond, quorum, family, {.epoch = epoch, .slot = slot})
        .queue.name;
  };
  EXPECT_EQ(name(NameFamily::kPlain, 6, 2), "retry.1000.q2");
  // The hash does not include the stamp: names of quorum queues stay in the broker's memory
  // forever, so there must be few.
  EXPECT_EQ(name(NameFamily::kHashed, 6, 2), name(NameFamily::kHashed, 10, 2));
  EXPECT_THAT(name(NameFamily::kHashed, 6, 2), MatchesRegex("retry\\.1000\\.[0-9a-f]*\\.q2"));
}

// F37: a deleted work queue blocks a shared quorum delay queue for all work queues.
TEST(DelayQueueName, OfAQuorumQueueContainsItsOwner) {
  const DelayQueueOptions quorum{.queue_type = QueueType::kQuorum};
  const auto name = [](DelayRoute route, const DelayQueueOptions& options) {
    route.ttl = absl::Seconds(1);
    return PlainName(route, options);
  };
  EXPECT_EQ(name({.owner = "orders"}, quorum), "retry.1000.orders.q0");
  EXPECT_EQ(name({.direct = true, .owner = "orders"}, quorum), "retry.1000.direct.orders.q0");
  EXPECT_EQ(name({.owner = "work", .owner_key = "order.placed"}, quorum),
            "retry.1000.exchange.work.key.order.placed.q0");
  EXPECT_EQ(name({.owner = "work", .owner_key = ""}, quorum), "retry.1000.exchange.work.key..q0");
  EXPECT_EQ(HashedName({.ttl = absl::Seconds(1), .owner = "orders"}, quorum),
            "retry.1000.18f6adcd.orders.q0");
  EXPECT_EQ(name({.owner = "orders"}, {.queue_type = QueueType::kQuorum, .declare = false}),
            "retry.1000.orders.q");
  // Shared.
  EXPECT_EQ(name({.owner = "orders"}, {}), "retry.1000");
  EXPECT_EQ(name({.owner = "orders"}, {.queue_type = QueueType::kQuorum, .share = true}),
            "retry.1000.q0");
  EXPECT_EQ(name({}, quorum), "retry.1000.q0");
}

// F63: a quorum queue of RabbitMQ 4 releases messages of a higher priority first, however late the
// others are.
TEST(DelayQueueName, SeparatesThePrioritiesOfAQuorumQueueAsTheBrokerDoes) {
  const DelayQueueOptions quorum{.queue_type = QueueType::kQuorum};
  const auto name = [&](std::optional<std::uint8_t> priority, std::string_view version,
                        std::string_view owner = "orders") {
    return PlainName({.ttl = absl::Seconds(1),
                      .owner = owner,
                      .priority = PriorityLevel(priority, BrokerVersion::Parse(version), quorum)},
                     quorum);
  };
  for (const char* const version : {"4.3.6", "4.10.0", "5.0.0"}) {
    EXPECT_EQ(name({}, version), "retry.1000.orders.q0");
    EXPECT_EQ(name(4, version), "retry.1000.orders.q0");
    EXPECT_EQ(name(0, version), "retry.1000.p0.orders.q0");
    EXPECT_EQ(name(31, version), "retry.1000.p31.orders.q0");
    EXPECT_EQ(name(255, version), "retry.1000.p31.orders.q0");
    EXPECT_EQ(name(9, version, ""), "retry.1000.p9.q0");
  }
  for (const char* const version : {"4.0.5", "4.2.0"}) {
    EXPECT_EQ(name(4, version), "retry.1000.orders.q0");
    EXPECT_EQ(name(0, version), "retry.1000.orders.q0");
    EXPECT_EQ(name(5, version), "retry.1000.p5.orders.q0");
    EXPECT_EQ(name(255, version), "retry.1000.p5.orders.q0");
  }
  EXPECT_EQ(name(9, "3.10.8"), "retry.1000.orders.q0");
  EXPECT_EQ(name(9, ""), "retry.1000.orders.q0");
  EXPECT_EQ(PriorityLevel(9, {4, 3, 6}, {}), std::nullopt);  // classic
  EXPECT_EQ(PriorityLevel(9, {4, 3, 6}, {.queue_type = QueueType::kQuorum, .declare = false}),
            std::nullopt);
}

// Brokers have queues with these names too.
TEST(DelayQueueName, HashesAWorkQueueNameThatIsTooLongOrAmbiguous) {
  const DelayQueueOptions quorum{.queue_type = QueueType::kQuorum};
  const auto name = [&](const std::string& owner) {
    return PlainName({.ttl = absl::Seconds(1), .owner = owner}, quorum);
  };
  EXPECT_EQ(name("direct"), "retry.1000.#1ef2d34570fda3fc.q0");
  for (const std::string owner : {"direct.orders", "exchange", "exchange.orders", "c0ffee00",
                                  "c0ffee00.orders", "#48b28a6d0f8a1e4e", "#"}) {
    EXPECT_THAT(name(owner), MatchesRegex("retry\\.1000\\.#[0-9a-f]*\\.q0")) << owner;
    EXPECT_EQ(name(owner).size(), std::string("retry.1000.#0123456789abcdef.q0").size());
  }
  for (const std::string owner : {"directly", "exchanges", "c0ffee0", "c0ffee001", "q1",
                                  "orders.q1", "1000", "a.b..c", "."}) {
    EXPECT_EQ(name(owner), "retry.1000." + owner + ".q0");
  }
  const std::size_t room = 255 - std::string("retry.1000..q0").size();
  EXPECT_EQ(name(std::string(room, 'x')).size(), 255U);
  EXPECT_THAT(name(std::string(room + 1, 'x')), MatchesRegex("retry\\.1000\\.#[0-9a-f]*\\.q0"));
  EXPECT_NE(name(std::string(room + 1, 'x')), name(std::string(room + 2, 'x')));
}

// Undeliverable messages of one destination must not block those of another (F37).
TEST(DelayQueueName, DistinguishesDestinationsBehindAnExchange) {
  const DelayQueueOptions quorum{.queue_type = QueueType::kQuorum};
  std::set<std::string> names;
  std::size_t destinations = 0;
  for (const std::string exchange : {"a", "a.key", "a.key.b", "key", ".key.", "#", "#a", "a.b"}) {
    for (const std::string& key : {std::string(), std::string("b"), std::string("key.b"),
                                   std::string(255, 'k'), std::string(254, 'k')}) {
      names.insert(
          PlainName({.ttl = absl::Seconds(1), .owner = exchange, .owner_key = key}, quorum));
      ++destinations;
    }
  }
  EXPECT_EQ(names.size(), destinations);
}

TEST(DelayQueueName, IsNeverLongerThanRabbitMqAllows) {
  for (const bool exchange : {false, true}) {
    for (std::size_t length = 1; length <= 255; ++length) {
      const std::string owner(length, 'x');
      const DelayRoute route{
          .ttl = kMaxQueueLifetime,
          .direct = !exchange,
          .owner = owner,
          .owner_key = exchange ? std::optional<std::string_view>(owner) : std::nullopt};
      const DelayQueueOptions options{.prefix = std::string(100, 'p'),
                                      .queue_type = QueueType::kQuorum};
      EXPECT_LE(PlainName(route, options).size(), 255U);
      EXPECT_LE(HashedName(route, options).size(), 255U);
    }
  }
}

TEST(DelayQueueDeclaration, HasAllArgumentsOfAQuorumDelayQueue) {
  const DelayQueueOptions quorum{.queue_type = QueueType::kQuorum, .outage = absl::Hours(1)};
  const DeclareParams params =
      DelayQueueDeclaration(kSecond, quorum, NameFamily::kPlain, {.epoch = 2 * 997 + 5, .slot = 3});
  EXPECT_EQ(params.queue.arguments, (amqp::Table{{"x-queue-type", "quorum"},
                                                 {"x-message-ttl", std::int64_t{1000}},
                                                 {"x-expires", std::int64_t{2 * 3'601'000 + 5}},
                                                 {"x-dead-letter-exchange", "work"},
                                                 {"x-dead-letter-strategy", "at-least-once"},
                                                 {"x-overflow", "reject-publish"}}));
  EXPECT_EQ(params.exchange->name, "retry.1000.q3");
}

TEST(DelayQueueDeclaration, HasAllArgumentsOfAClassicDelayQueue) {
  const DeclareParams params = DelayQueueDeclaration(kSecond, {}, NameFamily::kPlain);
  EXPECT_TRUE(params.queue.durable);
  EXPECT_FALSE(params.queue.passive);
  EXPECT_EQ(params.queue.arguments, (amqp::Table{{"x-queue-type", "classic"},
                                                 {"x-message-ttl", std::int64_t{1000}},
                                                 {"x-expires", std::int64_t{121'000}},
                                                 {"x-dead-letter-exchange", "work"}}));
}

// The argument wins over a policy with reject-publish-dlx.
TEST(DelayQueueDeclaration, RefusesCopiesWithoutDeadLetteringThemAfterANack) {
  const DeclareParams params = DelayQueueDeclaration(kSecond, {}, NameFamily::kHashed);
  const amqp::Value* overflow = params.queue.arguments.Find("x-overflow");
  ASSERT_NE(overflow, nullptr);
  EXPECT_EQ(*overflow, amqp::Value("reject-publish"));
}

TEST(DelayQueueDeclaration, HasAFanoutExchangeOfTheSameNameThatIsDeletedWithTheQueue) {
  for (const NameFamily family : {NameFamily::kPlain, NameFamily::kHashed}) {
    const DeclareParams params = DelayQueueDeclaration(kSecond, {}, family);
    ASSERT_TRUE(params.exchange.has_value());
    EXPECT_EQ(params.exchange->name, params.queue.name);
    EXPECT_EQ(params.exchange->type, "fanout");
    EXPECT_TRUE(params.exchange->durable);
    EXPECT_TRUE(params.exchange->auto_delete);
  }
}

}  // namespace retryq::delay_queue_name_test
