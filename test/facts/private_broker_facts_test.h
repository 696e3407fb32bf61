#ifndef RETRYQ_TEST_FACTS_PRIVATE_BROKER_FACTS_TEST_H_
#define RETRYQ_TEST_FACTS_PRIVATE_BROKER_FACTS_TEST_H_

#include "facts/facts_test.h"
#include "support/own_broker.h"
#include "support/test.h"

namespace retryq::testing {

// Facts about a broker that is stopped, killed or short of memory. The broker is private, and has
// the same version as the broker of the other facts.
class PrivateBrokerFacts : protected OwnBroker, public Facts {
 protected:
  void SetUp() override {
    if (!broker_) GTEST_SKIP() << "needs a broker of its own, and RETRYQ_URL names one";
  }

  void Declare(const std::string& queue, std::string_view type, const amqp::Table& more = {}) {
    peer_->DeclareQueue(queue, Arguments(type, more));
  }
  // A queue that dead-letters its messages to `target` after the delay; a quorum queue keeps them
  // until they have arrived.
  void DeclareDelay(const std::string& queue, std::string_view type, absl::Duration delay,
                    std::string_view target, amqp::Table more = {}) {
    more.Set("x-message-ttl", absl::ToInt64Milliseconds(delay));
    more.Set("x-dead-letter-exchange", "");
    more.Set("x-dead-letter-routing-key", target);
    if (type == "quorum") {
      more.Set("x-dead-letter-strategy", "at-least-once");
      more.Set("x-overflow", "reject-publish");
    }
    Declare(queue, type, more);
  }

  void KillAndRestart() {
    broker_->Kill();
    Restart();
  }
  // Gracefully, if it still runs.
  void Restart() {
    broker_->Restart();
    peer_.emplace(vhost_.Url());
    // Back as well, once it is answered.
    ASSERT_TRUE(Eventually([&] {
      return asker_.Publish({.routing_key = "nobody"}).outcome == PublishOutcome::kReturned;
    }));
  }

  // The number of different messages that a queue gets: waits until all expected ones have arrived,
  // or none arrives for some seconds.
  std::size_t CountArrivals(const std::string& queue, std::size_t expected) {
    std::set<std::string> bodies;
    const auto takes_one = [&] {
      const amqp::MessagePtr message = peer_->Get(queue);
      if (message != nullptr) bodies.emplace(message->body);
      return message != nullptr;
    };
    while (bodies.size() < expected && Eventually(takes_one, absl::Seconds(8))) {
    }
    return bodies.size();
  }
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_FACTS_PRIVATE_BROKER_FACTS_TEST_H_
