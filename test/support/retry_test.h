#ifndef RETRYQ_TEST_SUPPORT_RETRY_TEST_H_
#define RETRYQ_TEST_SUPPORT_RETRY_TEST_H_

#include "retryq/retryq.h"
#include "support/peer.h"
#include "support/recorded_events.h"
#include "support/test.h"
#include "support/test_vhost.h"

namespace retryq::testing {

// The calls of a handler, in order.
class Calls {
 public:
  struct Call {
    Delivery delivery;
    absl::Time at;
  };

  // Fails each message this number of times.
  Handler FailTimes(std::uint64_t failures) {
    return [this, failures](const Delivery& delivery) {
      Note(delivery);
      return delivery.attempt() < failures ? absl::UnavailableError("not yet") : absl::OkStatus();
    };
  }
  Handler Succeed() { return FailTimes(0); }
  Handler Answer(Outcome outcome) {
    return [this, outcome = std::move(outcome)](const Delivery& delivery) {
      Note(delivery);
      return outcome;
    };
  }

  void Note(const Delivery& delivery) { calls_.push_back({delivery, absl::Now()}); }

  std::size_t size() const { return calls_.size(); }
  bool empty() const { return calls_.empty(); }
  const Delivery& operator[](std::size_t i) const { return calls_.at(i).delivery; }
  const Delivery& back() const { return calls_.back().delivery; }

  // The time from each call to the next.
  std::vector<absl::Duration> Gaps() const {
    std::vector<absl::Duration> gaps;
    for (std::size_t i = 1; i < calls_.size(); ++i) gaps.push_back(calls_[i].at - calls_[i - 1].at);
    return gaps;
  }

 private:
  std::vector<Call> calls_;
};

// A test of retrying on a real broker, in its own vhost.
class RetryTest : public ::testing::Test {
 protected:
  // The name of the client's connections on the broker.
  static constexpr std::string_view kClientName = "worker";

  ClientOptions Options() {
    return {.url = vhost_.Url(), .name = std::string(kClientName), .observer = &events_};
  }

  // Delay queues that expire TTL + 5 s after their last use.
  ClientOptions ShortLeases() {
    ClientOptions options = Options();
    options.url = vhost_.Url("heartbeat=1");
    options.delay_queues.margin = absl::Seconds(4);
    options.delay_queues.min_window = absl::Seconds(1);
    return options;
  }

  // Retries after this delay, always the same.
  static RetryOptions Every(absl::Duration delay) {
    return {.backoff = {.base = delay, .factor = 1, .max = delay}};
  }

  // Runs the loop until `condition` holds, which is checked repeatedly, outside of the loop's
  // callbacks. Returns false, and reports the reason, if the loop fails or the time is over before.
  ::testing::AssertionResult RunUntil(const std::function<bool()>& condition,
                                      absl::Duration patience = absl::Seconds(30)) {
    const absl::Time end = absl::Now() + patience;
    while (!condition()) {
      if (absl::Now() > end) {
        return ::testing::AssertionFailure() << "not within " << patience << Story();
      }
      if (absl::Status status = RunFor(absl::Milliseconds(2)); !status.ok()) {
        return ::testing::AssertionFailure() << "the loop failed: " << status << Story();
      }
    }
    return ::testing::AssertionSuccess();
  }

  // Runs the loop until `condition` holds, and closes meanwhile each connection of the client that
  // the management API lists. The API lists a connection up to five seconds after it was opened,
  // and lists closed connections for some seconds, so closing only what it lists at one moment may
  // close nothing.
  ::testing::AssertionResult CloseConnectionsUntil(const std::function<bool()>& condition) {
    std::set<std::string> closed;
    return RunUntil([&] {
      for (const std::string& connection : vhost_.ConnectionsOf(kClientName)) {
        if (closed.insert(connection).second) vhost_.CloseConnection(connection);
      }
      return condition();
    });
  }

  absl::Status RunFor(absl::Duration duration) {
    const std::unique_ptr<Timer> timer = loop_.After(duration, [this] { loop_.Stop(); });
    return loop_.Run();
  }

  // Runs until the loop fails, and returns the error; ok if it does not fail in time.
  absl::Status RunUntilFailure(absl::Duration patience = absl::Seconds(20)) {
    return RunFor(patience);
  }

  // Whether the queue exists and has this number of ready messages.
  bool Holds(const std::string& queue, std::uint32_t messages) {
    return vhost_.HasQueue(queue) && peer_.Count(queue) == messages;
  }

  TestVhost vhost_;
  Peer peer_{vhost_.Url()};
  EventLoop loop_;
  RecordedEvents events_;
  Calls calls_;

 private:
  // The last events, for a test that failed.
  std::string Story() const {
    std::string story = "; events:";
    const std::size_t size = events_.entries.size();
    for (std::size_t i = size < 30 ? 0 : size - 30; i < size; ++i) {
      const RecordedEvents::Entry& entry = events_.entries[i];
      story.append("\n  ").append(EventName(entry.kind)).append(" ").append(entry.queue);
      story.append(" ").append(entry.delay_queue).append(" ").append(entry.error);
    }
    return story;
  }
};

// The same with a classic work queue "orders".
class OrdersTest : public RetryTest {
 protected:
  void SetUp() override { peer_.DeclareQueue("orders"); }
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_RETRY_TEST_H_
