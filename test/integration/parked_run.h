#ifndef RETRYQ_TEST_INTEGRATION_PARKED_RUN_H_
#define RETRYQ_TEST_INTEGRATION_PARKED_RUN_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "integration/messages_run.h"
#include "retryq/amqp/table.h"

namespace retryq::testing {

// A test of `retryq parked` on "orders.parked", where the messages of "orders" are.
class ParkedTest : public MessagesTest {
 protected:
  // `retryq parked COMMAND --queue orders FLAGS`, which asks nothing.
  static Arguments ParkedArguments(const std::string& command, const Arguments& flags) {
    Arguments all = {"parked", command, "--queue", "orders"};
    if (command == "replay" || command == "drop") all.emplace_back("--all");
    if (command == "drop") all.insert(all.end(), {"--yes", "--no-backup"});
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
  }

  End Parked(const std::string& command, const Arguments& flags = {}) {
    return RunToEnd(ParkedArguments(command, flags));
  }

  // What retryq writes into the headers of a parked message.
  static amqp::Table PastOf(std::string_view id, std::string_view error,
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

  void Park(std::string_view body, const amqp::Table& headers, amqp::Properties properties = {}) {
    const std::string encoded = headers.Encode().value();
    properties.headers = amqp::TableView(encoded);
    peer_.Publish("", "orders.parked", body, properties);
  }

  // So many, whose bodies and ids are m-0, m-1, …
  void ParkMany(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string id = absl::StrCat("m-", i);
      const std::string headers = PastOf(id, "UNAVAILABLE: no answer").Encode().value();
      peer_.Send("", "orders.parked", id,
                 {.headers = amqp::TableView(headers), .delivery_mode = 2});
    }
    peer_.AwaitConfirms();
  }
};

// The same for each type that a parked queue can have.
class ParkedQueueTest : public ParkedTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    ParkedTest::SetUp();
    peer_.DeclareQueue("orders.parked", {{"x-queue-type", GetParam()}});
  }
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_INTEGRATION_PARKED_RUN_H_
