#ifndef RETRYQ_TEST_INTEGRATION_MESSAGES_RUN_H_
#define RETRYQ_TEST_INTEGRATION_MESSAGES_RUN_H_

#include <nlohmann/json.hpp>
#include <sstream>

#include "integration/command_run.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/table.h"
#include "support/test.h"

namespace retryq::testing {

// A test of commands that read messages in queues.
class MessagesTest : public CommandTest {
 protected:
  static std::vector<nlohmann::json> JsonLines(const std::string& text) {
    std::vector<nlohmann::json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }

  // The ids that `list --json` shows, in their order.
  static std::vector<std::string> IdsIn(const End& end) {
    EXPECT_EQ(end.code, 0) << end.err;
    std::vector<std::string> ids;
    for (const nlohmann::json& line : JsonLines(end.out)) ids.push_back(line.at("id"));
    return ids;
  }

  // The headers that retryq sets in a parked message.
  static amqp::Table ParkedPast(std::string_view id, std::string_view error,
                                absl::Duration age = absl::Minutes(1)) {
    return {{"x-retry-count", std::int64_t{8}},
            {"x-retry-first-failure", absl::ToUnixMillis(absl::Now() - age)},
            {"x-retry-parked", absl::ToUnixMillis(absl::Now() - age)},
            {"x-retry-queue", "orders"},
            {"x-retry-exchange", ""},
            {"x-retry-routing-key", "orders"},
            {"x-retry-id", id},
            {"x-retry-error", error}};
  }

  // Publishes this number of messages, whose bodies and ids are m-0, m-1, …
  void ParkMany(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string id = absl::StrCat("m-", i);
      const std::string headers = ParkedPast(id, "UNAVAILABLE: no answer").Encode().value();
      peer_.Send("", "orders.parked", id,
                 {.headers = amqp::TableView(headers), .delivery_mode = 2});
    }
    peer_.AwaitConfirms();
  }

  // Takes all messages from a queue; returns how often each body occurred.
  std::map<std::string, int> TakeAll(const std::string& queue) {
    std::map<std::string, int> bodies;
    while (const amqp::MessagePtr message = peer_.Get(queue)) ++bodies[std::string(message->body)];
    return bodies;
  }

  // A quorum queue reports changes a moment later.
  ::testing::AssertionResult Holds(const std::string& queue, std::uint32_t messages) {
    if (CommandRun::WaitUntil([&] { return peer_.Count(queue) == messages; }, absl::Seconds(20))) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << queue << " holds " << peer_.Count(queue);
  }

  // Takes all messages from these queues. Returns whether no message of `sent` is missing, and at
  // most `duplicates` occur twice.
  ::testing::AssertionResult AllAreThere(const std::vector<std::string>& queues, int sent,
                                         int duplicates) {
    std::map<std::string, int> bodies;
    for (const std::string& queue : queues) {
      for (const auto& [body, count] : TakeAll(queue)) bodies[body] += count;
    }
    int extra = 0;
    for (const auto& [body, count] : bodies) extra += count - 1;
    if (static_cast<int>(bodies.size()) == sent && extra <= duplicates) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << bodies.size() << " of " << sent << " are there, and " << extra << " twice";
  }

  // Whether `from` has no consumer any more, and `from` and `to` together have as many messages as
  // were sent. A quorum queue requeues the messages of a lost consumer a moment later.
  bool IsAllBack(const std::string& from, const std::string& to, int messages) {
    return CommandRun::WaitUntil(
        [&] {
          return peer_.Consumers(from) == 0 &&
                 peer_.Count(from) + peer_.Count(to) >= static_cast<unsigned>(messages);
        },
        absl::Seconds(30));
  }
};

inline std::string QueueTypeName(const ::testing::TestParamInfo<const char*>& info) {
  return info.param;
}

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_INTEGRATION_MESSAGES_RUN_H_
