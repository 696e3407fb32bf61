// Quorum delay queues.

#include <nlohmann/json.hpp>

#include "retry/delay_queues/lease_clock.h"
#include "retry/delay_queues/route_declaration.h"
#include "support/consume.h"
#include "support/own_broker.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_quorum_test {

constexpr absl::Duration kDelay = absl::Milliseconds(200);

DelayQueueOptions Quorum() { return {.queue_type = QueueType::kQuorum}; }

// The name and the arguments of the present epoch's queue; `later` slots behind its own.
DeclareParams PresentQueue(int later = 0) {
  const Epoch epoch = Epoch::At(absl::Now(), absl::ZeroDuration(), kDelay, Quorum());
  return DelayQueueDeclaration(
      {.ttl = kDelay, .owner = "orders"}, Quorum(), NameFamily::kPlain,
      {.epoch = epoch.number,
       .slot = static_cast<int>((epoch.number + later) % QuorumSlot::kSlots)});
}

class RetryQuorum : public OrdersTest {
 protected:
  ClientOptions QuorumOptions() {
    ClientOptions options = Options();
    options.delay_queues = Quorum();
    return options;
  }
};

TEST_F(RetryQuorum, MessagesReturnThroughTheQueueOfTheCurrentEpoch) {
  Client client(loop_, QuorumOptions());
  const Consumer consumer =
      Consume(client, {.queue = "orders", .retry = Every(kDelay)}, calls_.FailTimes(2));
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));
  for (const absl::Duration gap : calls_.Gaps()) EXPECT_GE(gap, kDelay);
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == 2; }));
  EXPECT_EQ(calls_.size(), 3U);
  EXPECT_EQ(events_.Count(EventKind::kDeclared), 1U);

  const DeclareParams expected = PresentQueue();
  const std::optional<Json> queue = vhost_.Queue(expected.queue.name);
  ASSERT_TRUE(queue.has_value()) << expected.queue.name;
  Json arguments;
  for (const auto& [name, value] : expected.queue.arguments.fields()) {
    if (const auto* number = std::get_if<std::int64_t>(&value.variant)) {
      arguments[name] = *number;
    } else {
      arguments[name] = std::get<std::string>(value.variant);
    }
  }
  EXPECT_EQ(queue->at("arguments"), arguments);
  EXPECT_EQ(queue->at("type"), "quorum");
}

TEST_F(RetryQuorum, IgnoresAStaleQueueOfAnotherEpoch) {
  amqp::Table stale = PresentQueue().queue.arguments;
  stale.Set("x-expires", std::int64_t{172'801'000});
  peer_.DeclareQueue(PresentQueue().queue.name, stale);

  Client client(loop_, QuorumOptions());
  const Consumer consumer =
      Consume(client, {.queue = "orders", .retry = Every(kDelay)}, calls_.FailTimes(1));
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == 1; }));
  EXPECT_EQ(events_.Last(EventKind::kRetried)->delay_queue, PresentQueue(/*later=*/1).queue.name);
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));
}

// F37: at most 32 messages of a delay queue can wait for a queue that does not accept them.
class RetryQuorumBeside : public RetryQuorum {
 protected:
  static constexpr int kUndeliverable = 40;
  static constexpr absl::Duration kLongerDelay = absl::Seconds(5);

  // Lets a message of "orders" fail once while messages of another work queue, which is deleted,
  // block the delay queue if it is shared. Returns whether the message returned within `patience`.
  bool ComesBack(bool share, absl::Duration patience) {
    peer_.DeclareQueue("gone");
    ClientOptions options = QuorumOptions();
    options.delay_queues.share = share;
    int published = 0;
    Client client(loop_, options);
    for (int i = 0; i < kUndeliverable; ++i) {
      client.Publish({.routing_key = "gone"}, {.delay = kLongerDelay},
                     [&](const absl::Status& status) { published += status.ok() ? 1 : 0; });
    }
    EXPECT_TRUE(RunUntil([&] { return published == kUndeliverable; }));
    peer_.Delete("gone");
    const Consumer consumer =
        Consume(client, {.queue = "orders", .retry = Every(kLongerDelay)}, calls_.FailTimes(1));
    // By then all due messages block the queue.
    EXPECT_TRUE(RunFor(kLongerDelay).ok());
    peer_.Publish("", "orders", "one");
    EXPECT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == 1; }));
    const absl::Time end = absl::Now() + patience;
    while (events_.Count(EventKind::kHandled) == 0 && absl::Now() < end) {
      EXPECT_TRUE(RunFor(absl::Milliseconds(20)).ok());
    }
    return events_.Count(EventKind::kHandled) == 1;
  }
};

TEST_F(RetryQuorumBeside, ADeletedWorkQueueDoesNotDelayOthers) {
  EXPECT_TRUE(ComesBack(/*share=*/false, absl::Seconds(60)));
}

TEST_F(RetryQuorumBeside, ADeletedWorkQueueBlocksAllThatShareItsDelayQueues) {
  EXPECT_FALSE(ComesBack(/*share=*/true, absl::Seconds(15)));
}

class RetryQuorumCrash : public OnOwnBroker<OrdersTest> {};

TEST_F(RetryQuorumCrash, ABrokerThatIsKilledLosesNothing) {
  constexpr int kMessages = 300;
  ClientOptions options = Options();
  options.delay_queues = Quorum();
  Client client(loop_, options);
  std::set<std::string> handled;
  const Consumer consumer = Consume(client, {.queue = "orders", .retry = Every(absl::Seconds(3))},
                                    [&](const Delivery& delivery) -> Outcome {
                                      if (delivery.attempt() == 0)
                                        return absl::UnavailableError("not yet");
                                      handled.emplace(delivery.body());
                                      return absl::OkStatus();
                                    });
  for (int i = 0; i < kMessages; ++i) peer_.Publish("", "orders", std::to_string(i));

  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kRetried) == kMessages; }));
  broker().Kill();
  broker().Restart();
  ASSERT_TRUE(RunUntil([&] { return handled.size() == kMessages; }, absl::Minutes(1)));
  EXPECT_GE(events_.Count(EventKind::kDisconnected), 1U);
}

}  // namespace retryq::testing::retry_quorum_test
