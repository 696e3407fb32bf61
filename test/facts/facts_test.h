#ifndef RETRYQ_TEST_FACTS_FACTS_TEST_H_
#define RETRYQ_TEST_FACTS_FACTS_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "facts/asker.h"
#include "retryq/amqp/table.h"
#include "retryq/event_loop.h"
#include "support/peer.h"
#include "support/test_vhost.h"

namespace retryq::testing {

// What the design takes RabbitMQ to do, asked of RabbitMQ itself: a test that fails says that a
// broker does something else by now, not that retryq is wrong. A test is named by its fact's number
// in the project's list of facts, and where versions differ it says which does what.
//
// Not asked are facts that only chance shows (that a lease can break at its edge, 1 in 1 000; that
// of two clients which declare a queue at once one gets 404, 46), those that need the machine's
// clock stepped back (30), those of upgrades (57), and what is read in RabbitMQ's source alone.
// What takes minutes is asked where RETRYQ_SLOW_FACTS is set, as by test/full.
class Facts : public ::testing::Test {
 protected:
  static amqp::Table Arguments(std::string_view type, amqp::Table more = {}) {
    more.Set("x-queue-type", type);
    return more;
  }

  // Waits; true once it holds, false if it does not in time.
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

  // Looking does not count as use.
  bool Exists(const std::string& queue) const { return vhost_.HasQueue(queue); }

  TestVhost vhost_;
  EventLoop loop_;
  Asker asker_{loop_, vhost_.Url()};
  std::optional<Peer> peer_{std::in_place, vhost_.Url()};
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_FACTS_FACTS_TEST_H_
