#ifndef RETRYQ_TEST_FACTS_FACTS_TEST_H_
#define RETRYQ_TEST_FACTS_FACTS_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
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
// Not asked are facts that only chance shows (a declare at the edge of a lease, 1 in 1 000; the
// order of acks after a return, 1 in 100; what a kill amid 60 000 expiries duplicates), those that
// need a clock stepped back or a cluster, and those read in RabbitMQ's source alone.
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

  // Looking does not count as use.
  bool Exists(const std::string& queue) const { return vhost_.Queue(queue).has_value(); }

  TestVhost vhost_;
  EventLoop loop_;
  Asker asker_{loop_, vhost_.Url()};
  std::optional<Peer> peer_{std::in_place, vhost_.Url()};
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_FACTS_FACTS_TEST_H_
