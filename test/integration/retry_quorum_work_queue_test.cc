// Quorum work queues, which limit deliveries.

#include "absl/strings/str_replace.h"
#include "retryq/amqp/connection_options.h"
#include "support/consume.h"
#include "support/proxy.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_quorum_work_queue_test {

class RetryQuorumWorkQueue : public RetryTest {
 protected:
  void SetUp() override { peer_.DeclareQueue("orders", {{"x-queue-type", "quorum"}}); }

  const ConsumerOptions kNotCounting{.queue = "orders",
                                     .retry = {.count_redeliveries = CountRedeliveries::kNever}};

  // A worker that dies when it has all messages, this number of different ones, and none is being
  // moved: a moved message is in the queue before the broker confirms it, and would be there twice.
  // Acks that were just sent may be lost with the worker, with the same effect.
  void Crash(std::size_t messages) {
    std::vector<Settlement> in_hand;
    std::set<std::string> ids;
    // A worker that is destroyed gracefully requeues its messages; this one has no time for that.
    const std::string url = vhost_.Url();
    const std::uint16_t port = amqp::ParseUri(url)->endpoints[0].port;
    Proxy proxy(loop_, port);
    ClientOptions options = Options();
    options.url = absl::StrReplaceAll(
        url, {{absl::StrCat(":", port, "/"), absl::StrCat(":", proxy.port(), "/")}});
    Client client(loop_, options);
    const auto consumer =
        client.Consume(kNotCounting, [&](const Delivery& delivery, Settlement settlement) {
          calls_.Note(delivery);
          in_hand.push_back(std::move(settlement));
          ids.emplace(delivery.id());
        });
    ASSERT_TRUE(consumer.ok()) << consumer.status();
    ASSERT_TRUE(RunUntil([&] {
      return ids.size() == messages && peer_.Count("orders") == 0 && InFlight() == in_hand.size();
    })) << ids.size()
        << " different messages, " << in_hand.size() << " in hand";
    proxy.Cut();
  }

 private:
  // The messages of the worker: in its handler, or being moved to the end of the queue.
  std::size_t InFlight() const {
    const auto told = std::find_if(events_.entries.rbegin(), events_.entries.rend(),
                                   [](const auto& entry) { return entry.in_flight.has_value(); });
    return told == events_.entries.rend() ? 0 : *told->in_flight;
  }
};

TEST_F(RetryQuorumWorkQueue, RepeatedWorkerCrashesLoseNothing) {
  // Each message is moved after ten or so.
  constexpr int kMostCrashes = 100;
  peer_.DeclareExchange("shop", "topic");
  peer_.Bind("orders", "shop", "order.#");
  for (const std::string body : {"one", "two", "three"}) {
    peer_.Publish("shop", "order.placed", body, {.message_id = body});
  }
  for (int crash = 0; crash < kMostCrashes && events_.Count(EventKind::kMoved) < 6; ++crash) {
    Crash(3);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(events_.Count(EventKind::kMoved), 6U);

  Calls calls;
  Client client(loop_, Options());
  const Consumer consumer = Consume(client, kNotCounting, calls.Succeed());
  std::set<std::string> bodies;
  ASSERT_TRUE(RunUntil([&] {
    for (std::size_t i = 0; i < calls.size(); ++i) bodies.emplace(calls[i].body());
    return bodies.size() == 3;
  }));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].attempt(), 0U);
    EXPECT_EQ(calls[i].exchange(), "shop");
    EXPECT_EQ(calls[i].routing_key(), "order.placed");
    EXPECT_EQ(calls[i].id(), calls[i].body());
  }
  EXPECT_THAT(bodies, UnorderedElementsAre("one", "two", "three"));
}

}  // namespace retryq::testing::retry_quorum_work_queue_test
