#ifndef RETRYQ_TEST_INTEGRATION_PARKED_RUN_H_
#define RETRYQ_TEST_INTEGRATION_PARKED_RUN_H_

#include "integration/messages_run.h"
#include "retryq/amqp/table.h"
#include "support/test.h"

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

  void Park(std::string_view body, const amqp::Table& headers, amqp::Properties properties = {}) {
    const std::string encoded = headers.Encode().value();
    properties.headers = amqp::TableView(encoded);
    peer_.Publish("", "orders.parked", body, properties);
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
