#ifndef RETRYQ_TEST_INTEGRATION_WAITING_RUN_H_
#define RETRYQ_TEST_INTEGRATION_WAITING_RUN_H_

#include "integration/messages_run.h"
#include "retryq/amqp/table.h"
#include "support/test.h"

namespace retryq::testing {

// A test of `retryq waiting` for each kind of delay queues: "classic", "quorum" (each of one work
// queue), "shared" (quorum queues of all).
class WaitingTest : public MessagesTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr absl::Duration kLong = absl::Minutes(10);

  static bool IsClassic() { return GetParam() == std::string("classic"); }
  static bool IsShared() { return GetParam() != std::string("quorum"); }

  // The name of the delay queue of a worker.
  static std::string DelayQueue(absl::Duration ttl = kLong) {
    const std::string name = absl::StrCat("retry.", absl::ToInt64Milliseconds(ttl));
    if (IsClassic()) return name;
    return absl::StrCat(name, IsShared() ? "" : ".orders", ".q0");
  }

  // With its exchange, as workers declare them.
  void DeclareDelayQueue(absl::Duration ttl = kLong, absl::Duration lease = absl::Hours(1)) {
    amqp::Table arguments = {{"x-queue-type", IsClassic() ? "classic" : "quorum"},
                             {"x-message-ttl", absl::ToInt64Milliseconds(ttl)},
                             {"x-expires", absl::ToInt64Milliseconds(lease)},
                             {"x-dead-letter-exchange", ""}};
    if (!IsClassic()) {
      arguments.Set("x-dead-letter-strategy", "at-least-once");
      arguments.Set("x-overflow", "reject-publish");
    }
    peer_.DeclareQueue(DelayQueue(ttl), arguments);
    peer_.DeclareExchange(DelayQueue(ttl), "fanout");
    peer_.Bind(DelayQueue(ttl), DelayQueue(ttl));
  }

  struct Failed {
    std::string_view error = "UNAVAILABLE: no answer";
    std::int64_t attempts = 2;
    std::string_view queue = "orders";
    absl::Duration age = absl::Minutes(1);
    absl::Duration ttl = kLong;
  };

  // The headers that a worker sets in a copy for a retry.
  static amqp::Table PastOf(std::string_view id, const Failed& failed) {
    return {{"x-retry-count", failed.attempts},
            {"x-retry-first-failure", absl::ToUnixMillis(absl::Now() - failed.age)},
            {"x-retry-queue", failed.queue},
            {"x-retry-exchange", "shop"},
            {"x-retry-routing-key", "order.placed"},
            {"x-retry-id", id},
            {"x-retry-delay", absl::ToInt64Milliseconds(failed.ttl)},
            {"x-retry-not-before", absl::ToUnixMillis(absl::Now() + failed.ttl)},
            {"x-retry-error", failed.error}};
  }

  // Publishes a waiting message with this body and id.
  void Wait(std::string_view id, const Failed& failed) { Wait(id, failed, PastOf(id, failed)); }
  void Wait(std::string_view id) { Wait(id, Failed()); }
  void Wait(std::string_view body, const Failed& failed, const amqp::Table& headers) {
    const std::string encoded = headers.Encode().value();
    peer_.Publish(DelayQueue(failed.ttl), std::string(failed.queue), body,
                  {.headers = amqp::TableView(encoded), .delivery_mode = 2});
  }

  // Publishes this number of waiting messages: m-0, m-1, …
  void WaitMany(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string id = absl::StrCat("m-", i);
      const std::string headers = PastOf(id, {}).Encode().value();
      peer_.Send(DelayQueue(), "orders", id,
                 {.headers = amqp::TableView(headers), .delivery_mode = 2});
    }
    peer_.AwaitConfirms();
  }

  // `retryq waiting COMMAND --queue orders FLAGS`, which asks nothing.
  static Arguments WaitingArguments(const std::string& command, const Arguments& flags) {
    Arguments all = {"waiting", command, "--queue", "orders"};
    if (command == "release" || command == "park" || command == "drop") all.emplace_back("--all");
    if (command == "drop") all.insert(all.end(), {"--yes", "--no-backup"});
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
  }

  End Waiting(const std::string& command, const Arguments& flags = {}) {
    return RunToEnd(WaitingArguments(command, flags));
  }
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_INTEGRATION_WAITING_RUN_H_
