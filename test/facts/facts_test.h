#ifndef RETRYQ_TEST_FACTS_FACTS_TEST_H_
#define RETRYQ_TEST_FACTS_FACTS_TEST_H_

#include "facts/asker.h"
#include "retryq/amqp/table.h"
#include "retryq/event_loop.h"
#include "support/peer.h"
#include "support/test.h"
#include "support/test_vhost.h"

namespace retryq::testing {

// These tests check on a real RabbitMQ the facts that the design relies on: a failure means that a
// broker behaves differently, not that retryq is wrong. The name of a test begins with the number
// of its fact in doc/rabbitmq_facts.md; if versions differ, the test states the behaviour of each.
//
// There are no tests for facts that occur only by chance (a lease that breaks at its edge, 1 in 1
// 000; one of two clients that declare a queue at once gets 404, F46), that need a step of the
// machine's clock (F30), for upgrades (F57), and for facts that are only read in RabbitMQ's source.
// Tests that take minutes run if RETRYQ_SLOW_FACTS is set, as test/full does.
class Facts : public ::testing::Test {
 protected:
  static amqp::Table Arguments(std::string_view type, amqp::Table more = {}) {
    more.Set("x-queue-type", type);
    return more;
  }

  // Waits; returns true once the condition holds, false if it does not hold in time.
  bool Eventually(const std::function<bool()>& condition,
                  absl::Duration patience = absl::Seconds(20)) {
    const absl::Time end = absl::Now() + patience;
    while (!condition()) {
      if (absl::Now() > end) return false;
      Wait(absl::Milliseconds(20));
    }
    return true;
  }
  // Holds all the time.
  bool Throughout(absl::Duration time, const std::function<bool()>& condition) {
    return !Eventually([&] { return !condition(); }, time);
  }
  void Wait(absl::Duration time) {
    if (time <= absl::ZeroDuration()) return;
    const auto timer = loop_.After(time, [this] { loop_.Stop(); });
    EXPECT_TRUE(loop_.Run().ok());
  }

  // Whether it was set.
  static bool HasTimeForSlowFacts() { return std::getenv("RETRYQ_SLOW_FACTS") != nullptr; }

  // Reading the length does not count as use of the queue.
  bool Exists(const std::string& queue) const { return vhost_.HasQueue(queue); }

  TestVhost vhost_;
  EventLoop loop_;
  Asker asker_{loop_, vhost_.Url()};
  std::optional<Peer> peer_{std::in_place, vhost_.Url()};
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_FACTS_FACTS_TEST_H_
