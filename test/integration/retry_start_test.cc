// A problem at the start ends the loop with a status that names it and the remedy. The permissions
// that a worker needs are exactly those in doc/permissions.md.

#include <ostream>

#include "support/consume.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing::retry_start_test {

class RetryStart : public OrdersTest {
 protected:
  // The status of a loop with this consumer.
  absl::Status Start(const std::string& url, ConsumerOptions options = {.queue = "orders"}) {
    ClientOptions client_options = Options();
    client_options.url = url;
    Client client(loop_, client_options);
    const Consumer consumer = Consume(client, std::move(options), calls_.Succeed());
    absl::Status status = RunUntilFailure();
    EXPECT_EQ(events_.Count(EventKind::kConsuming), 0U);
    return status;
  }
};

TEST_F(RetryStart, AWorkQueueThatIsAStreamIsRefused) {
  peer_.DeclareQueue("stream", {{"x-queue-type", "stream"}});
  const absl::Status status = Start(vhost_.Url(), {.queue = "stream"});

  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("queue 'stream' is a stream"));
  EXPECT_EQ(ExitCode(status), 69);
}

TEST_F(RetryStart, AnExclusiveQueueIsRefused) {
  for (const char* name : {"orders", "orders.parked"}) {
    TestVhost vhost;
    Peer owner(vhost.Url());
    owner.DeclareQueue(name, {}, {.durable = false, .exclusive = true});
    if (std::string_view(name) != "orders") owner.DeclareQueue("orders");
    const absl::Status status = Start(vhost.Url());

    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    EXPECT_THAT(std::string(status.message()), HasSubstr("exclusive"));
  }
}

TEST_F(RetryStart, RefusesUnsuitableParkedQueues) {
  peer_.DeclareQueue("orders.parked", {{"x-queue-type", "stream"}});
  EXPECT_THAT(std::string(Start(vhost_.Url()).message()), HasSubstr("'orders.parked' is a stream"));
  vhost_.DeleteQueue("orders.parked");
  peer_.DeclareQueue("orders.parked", {}, {.auto_delete = true});
  EXPECT_THAT(std::string(Start(vhost_.Url()).message()),
              HasSubstr("'orders.parked' is auto-delete"));
  vhost_.DeleteQueue("orders.parked");
  try {
    peer_.DeclareQueue("orders.parked", {}, {.durable = false});
  } catch (const std::runtime_error&) {
    return;  // RabbitMQ 4.3 takes none (F20 in doc/rabbitmq_facts.md)
  }
  EXPECT_THAT(std::string(Start(vhost_.Url()).message()),
              HasSubstr("'orders.parked' is not durable"));
}

TEST_F(RetryStart, AcceptsEveryOtherKindOfParkedQueue) {
  peer_.DeclareQueue("orders.parked",
                     {{"x-queue-type", "quorum"}, {"x-max-length", std::int64_t{1000}}});
  Client client(loop_, Options());
  const Consumer consumer = Consume(client, {.queue = "orders"}, calls_.Succeed());
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kConsuming) == 1; }));
}

// Retries one message and parks it: everything that a worker does.
class RetryRights : public RetryTest {
 protected:
  RetryRights() {
    peer_.DeclareQueue("orders");
    peer_.DeclareExchange("work", "fanout");
    peer_.Bind("orders", "work");
  }

  ConsumerOptions Worker(const std::string& work_exchange) {
    RetryOptions retry = Every(absl::Milliseconds(50));
    retry.max_attempts = 2;
    return {.queue = "orders", .work_exchange = work_exchange, .retry = retry};
  }

  ::testing::AssertionResult Parks(const TestVhost::Rights& rights,
                                   const std::string& work_exchange = "") {
    const std::string user = vhost_.AddUser(rights);
    ClientOptions options = Options();
    options.url = vhost_.UrlAs(user, user);
    Client client(loop_, options);
    const Consumer consumer = Consume(client, Worker(work_exchange), calls_.FailTimes(100));
    peer_.Publish(work_exchange, "orders", "one");
    return RunUntil([&] { return events_.Count(EventKind::kParked) == 1; });
  }
};

TEST_F(RetryRights, SufficeWithANamedWorkExchange) {
  EXPECT_TRUE(Parks({.configure = "^(retry\\..*|orders\\.parked)$",
                     .write = "^(retry\\..*|amq\\.default|work)$",
                     .read = "^(retry\\..*|orders)$"},
                    "work"));
}

TEST_F(RetryRights, NeedNoConfigureForAnExistingParkedQueue) {
  peer_.DeclareQueue("orders.parked");
  EXPECT_TRUE(Parks({.configure = "^retry\\..*$",
                     .write = "^(retry\\..*|amq\\.default)$",
                     .read = "^(retry\\..*|orders|orders\\.parked)$"}));
}

struct MissingRight {
  const char* name;
  TestVhost::Rights rights;

  friend std::ostream& operator<<(std::ostream& out, const MissingRight& missing) {
    return out << missing.name;
  }
};

// A missing permission is reported, the message stays, and work continues once the permission is
// granted.
class RetryMissingRight : public RetryRights, public ::testing::WithParamInterface<MissingRight> {};

TEST_P(RetryMissingRight, IsReportedUntilItIsGranted) {
  const std::string user = vhost_.AddUser(GetParam().rights);
  ClientOptions options = Options();
  options.url = vhost_.UrlAs(user, user);
  Client client(loop_, options);
  const Consumer consumer = Consume(client, Worker(""), calls_.FailTimes(1));
  peer_.Publish("", "orders", "one");
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kDeclareFailed) >= 2; }));
  EXPECT_THAT(events_.Last(EventKind::kDeclareFailed)->error, HasSubstr("retry.50"));
  EXPECT_THAT(events_.Last(EventKind::kDeclareFailed)->error, HasSubstr("set_permissions"));
  EXPECT_EQ(calls_.size(), 1U);

  vhost_.SetRights(user, {.configure = ".*", .write = ".*", .read = ".*"});
  ASSERT_TRUE(RunUntil([&] { return events_.Count(EventKind::kHandled) == 1; }));
  EXPECT_EQ(calls_.size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(
    Rights, RetryMissingRight,
    ::testing::Values(
        MissingRight{"ConfigureOnDelayQueues",
                     {.configure = "parked", .write = ".*", .read = ".*"}},
        MissingRight{"WriteOnDelayQueues", {.configure = ".*", .write = "^amq", .read = ".*"}},
        MissingRight{"WriteOnAmqDefault", {.configure = ".*", .write = "^retry", .read = ".*"}},
        MissingRight{"ReadOnDelayQueues", {.configure = ".*", .write = ".*", .read = "^orders"}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace retryq::testing::retry_start_test
