// How long a failed message waits, measured by its consumer.

#include "support/consume.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_delays_test {

using ::testing::Lt;

// Never early, except for a millisecond of the broker; a busy machine may be late.
auto About(absl::Duration delay) {
  return AllOf(Ge(delay - absl::Milliseconds(1)), Lt(delay + absl::Seconds(10)));
}

class RetryDelays : public OrdersTest {};

TEST_F(RetryDelays, GrowByFactorFromBaseUpToMax) {
  Client client(loop_, Options());
  const Consumer consumer = Consume(client,
                                    {.queue = "orders",
                                     .retry = {.backoff = {.base = absl::Milliseconds(250),
                                                           .factor = 2,
                                                           .max = absl::Seconds(1)}}},
                                    calls_.FailTimes(4));

  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 5; }));

  EXPECT_THAT(calls_.Gaps(),
              ElementsAre(About(absl::Milliseconds(250)), About(absl::Milliseconds(500)),
                          About(absl::Seconds(1)), About(absl::Seconds(1))));
  EXPECT_THAT(vhost_.QueuesBeginning("retry."),
              ElementsAre("retry.1000", "retry.250", "retry.500"));
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

TEST_F(RetryDelays, DoNotDependOnMessagesAheadInTheQueue) {
  Client client(loop_, Options());
  const Consumer consumer =
      Consume(client, {.queue = "orders", .retry = Every(absl::Milliseconds(300))},
              [&](const Delivery& delivery) -> Outcome {
                calls_.Note(delivery);
                if (delivery.attempt() > 0) return Outcome::Ok();
                if (delivery.body() == "quick") return absl::UnavailableError("soon");
                return Outcome::RetryAfter(absl::Seconds(3), absl::UnavailableError("later"));
              });

  peer_.Publish("", "orders", "slow");
  peer_.Publish("", "orders", "quick");
  ASSERT_TRUE(RunUntil([&] { return calls_.size() == 4; }));

  EXPECT_EQ(calls_[2].body(), "quick");
  EXPECT_EQ(calls_[3].body(), "slow");
}

// The differences between messages of one delay queue.
struct Kind {
  std::string name;
  amqp::Properties properties;
};

// A stream of them fails: none waits for those that come later, whatever they are.
TEST_F(RetryDelays, DoNotDependOnMessagePropertiesAndKeepThem) {
  constexpr absl::Duration kDelay = absl::Seconds(1);
  constexpr absl::Duration kLate = absl::Seconds(4);  // shorter than the stream
  const std::string headers =
      amqp::Table{{"x-delay", 60'000}, {"priority", 9}, {"tenant", "blue"}}.Encode().value();
  const std::vector<Kind> kinds = {{"nothing", {}},
                                   {"priority 0", {.priority = 0}},
                                   {"priority 9", {.priority = 9}},
                                   {"priority 255", {.priority = 255}},
                                   {"an expiration", {.expiration = "600000"}},
                                   {"delivery mode 1", {.delivery_mode = 1}},
                                   {"delivery mode 2", {.delivery_mode = 2}},
                                   {"a type", {.type = "order.placed"}},
                                   {"an old timestamp", {.timestamp = 1}},
                                   {"a timestamp to come", {.timestamp = 4'000'000'000}},
                                   {"headers", {.headers = amqp::TableView(headers)}}};
  std::map<std::pair<std::string, std::string>, absl::Time> failed;  // by queue and id
  std::size_t returned = 0;
  const auto handle = [&](const Delivery& delivery) -> Outcome {
    const std::string id(delivery.properties().message_id.value());
    if (delivery.attempt() == 0) {
      failed[{std::string(delivery.queue()), id}] = absl::Now();
      return absl::UnavailableError("not yet");
    }
    ++returned;
    const Kind& kind = kinds.at(static_cast<std::size_t>(std::stoi(id)) % kinds.size());
    SCOPED_TRACE(kind.name + ", " + std::string(delivery.queue()));
    EXPECT_THAT(absl::Now() - failed.at({std::string(delivery.queue()), id}),
                AllOf(Ge(kDelay - absl::Milliseconds(1)), Lt(kDelay + kLate)));
    EXPECT_EQ(delivery.properties().priority, kind.properties.priority);
    EXPECT_EQ(delivery.properties().type, kind.properties.type);
    EXPECT_EQ(delivery.properties().timestamp, kind.properties.timestamp);
    EXPECT_EQ(delivery.properties().delivery_mode, 2);
    EXPECT_FALSE(delivery.properties().expiration);
    for (const char* const name : {"x-delay", "priority"}) {
      EXPECT_EQ(delivery.headers().all().Find(name).has_value(),
                kind.properties.headers.has_value());
    }
    return Outcome::Ok();
  };
  std::deque<Client> clients;
  std::vector<Consumer> consumers;
  for (const QueueType type : {QueueType::kClassic, QueueType::kQuorum}) {
    const std::string queue = type == QueueType::kClassic ? "classic" : "quorum";
    peer_.DeclareQueue(queue, {{"x-queue-type", queue}});
    ClientOptions options = Options();
    options.delay_queues.prefix = "retry-" + queue;
    options.delay_queues.queue_type = type;
    clients.emplace_back(loop_, options);
    auto consumer = clients.back().Consume(
        {.queue = queue, .retry = Every(kDelay), .prefetch = 200}, Handler(handle));
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    consumers.push_back(*std::move(consumer));
  }
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kConsuming) == 2; }));
  std::size_t sent = 0;
  for (const absl::Time end = absl::Now() + absl::Seconds(7); absl::Now() < end;) {
    for (std::size_t i = 0; i < kinds.size(); ++i, ++sent) {
      amqp::Properties properties = kinds[i].properties;
      const std::string id = std::to_string(sent);
      properties.message_id = id;
      for (const char* const queue : {"classic", "quorum"}) peer_.Send("", queue, "", properties);
    }
    peer_.AwaitConfirms();
    ASSERT_TRUE(RunFor(absl::Milliseconds(150)).ok());
  }
  EXPECT_TRUE(RunUntil([&] { return returned == 2 * sent; })) << returned << " of " << 2 * sent;
}

}  // namespace retryq::testing::retry_delays_test
