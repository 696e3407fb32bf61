// The checks of a user's permissions by `retryq work` and `retryq doctor`, as in
// doc/permissions.md.

#include <nlohmann/json.hpp>

#include "integration/doctor_run.h"
#include "support/test.h"

namespace retryq::testing::command_rights_test {

using Rights = TestVhost::Rights;

// The delay queues that a worker of `orders` uses, and no others.
std::string OwnDelayQueues(const std::string& type) {
  return type == "quorum" ? R"(retry\.[0-9]+\.(direct\.)?([0-9a-f]{8}\.)?orders\.q.*)"
                          : R"(retry\.[0-9]+(\.direct)?(\.[0-9a-f]{8})?)";
}

// Of a worker of `orders` whose delay queues match a pattern.
Rights Enough(const std::string& delay_queues = R"(retry\..*)") {
  return {.configure = "^(" + delay_queues + R"(|orders\.parked)$)",
          .write = "^(" + delay_queues + R"(|amq\.default)$)",
          .read = "^(" + delay_queues + "|orders)$"};
}

// If the parked queue exists, RabbitMQ 4.3 requires a permission on it, and other versions do not.
constexpr char kReadsParkedToo[] = R"(^(retry\..*|orders(\.parked)?)$)";

class CommandRights : public CommandDoctor, public ::testing::WithParamInterface<const char*> {
 protected:
  CommandRun WorkAs(const Rights& rights, const Arguments& more = {}) {
    const std::string user = vhost_.AddUser(rights);
    Arguments work = {"work", "--json",       "--queue",  "orders",      "--base",
                      "50ms", "--queue-type", GetParam(), "--log-level", "debug"};
    work.insert(work.end(), more.begin(), more.end());
    work.insert(work.end(), {"--", "sh", "-c", "test $RETRYQ_ATTEMPT = 1"});
    return CommandRun(work, vhost_.UrlAs(user, user));
  }

  // If a permission that retrying needs is missing, the worker reports it before it takes a
  // message.
  void RefusesToBegin(const Rights& rights, const std::string& missing,
                      const Arguments& more = {}) {
    CommandRun run = WorkAs(rights, more);
    EXPECT_EQ(run.Wait(), 77) << run.Story();
    EXPECT_THAT(run.err(), HasSubstr(missing));
    EXPECT_THAT(run.err(), HasSubstr("rabbitmqctl set_permissions"));
    EXPECT_EQ(run.err().find('\n'), run.err().size() - 1) << "one line: " << run.err();
    EXPECT_THAT(run.events("consuming"), IsEmpty()) << run.Story();
  }

  void LeavesNothing() {
    EXPECT_THAT(vhost_.QueuesBeginning("retry."), IsEmpty());
    EXPECT_THAT(Exchanges(), IsEmpty());
  }
};

TEST_P(CommandRights, WorkStartsOnlyWithAllPermissionsForRetrying) {
  peer_.DeclareQueue("orders.parked");
  Publish("an order");
  const Rights enough = Enough();
  RefusesToBegin({"^$", enough.write, kReadsParkedToo}, "queue 'retry.");
  RefusesToBegin({enough.configure, "^$", enough.read}, "exchange 'amq.default'");
  RefusesToBegin({enough.configure, "^amq[.]default$", enough.read}, "'retry.");
  RefusesToBegin({enough.configure, R"(^retry\..*$)", enough.read}, "exchange 'amq.default'");
  RefusesToBegin({enough.configure, enough.write, "^orders$"}, "'retry.");
  EXPECT_EQ(peer_.Count("orders"), 1U);
  EXPECT_FALSE(peer_.Get("orders")->redelivered);
  LeavesNothing();
}

TEST_P(CommandRights, WorkStartsWithNoOtherPermissions) {
  CommandRun run = WorkAs(Enough());
  ASSERT_TRUE(run.Says("consuming"));
  LeavesNothing();
  Publish("an order");
  ASSERT_TRUE(run.Says("acked"));
  EXPECT_TRUE(run.Stop());
}

TEST_P(CommandRights, ForItsOwnDelayQueuesSuffice) {
  const Rights own = Enough(OwnDelayQueues(GetParam()));
  CommandRun run = WorkAs(own);
  ASSERT_TRUE(run.Says("consuming"));
  LeavesNothing();
  Publish("an order");
  ASSERT_TRUE(run.Says("acked"));
  EXPECT_TRUE(run.Stop());

  const std::string user = vhost_.AddUser(own);
  const Diagnosis diagnosis =
      Doctor({"--queue", "orders", "--queue-type", GetParam()}, vhost_.UrlAs(user, user));
  EXPECT_EQ(diagnosis.Result("permissions"), "ok") << diagnosis.story;
}

TEST_P(CommandRights, ToDeclareTheParkedQueueAreRequiredIfItIsMissing) {
  const Rights enough = Enough();
  RefusesToBegin({R"(^retry\..*$)", enough.write, enough.read}, "'orders.parked'");
}

TEST_P(CommandRights, ToConfigureAreNotRequiredIfNothingIsDeclared) {
  peer_.DeclareQueue("orders.parked");
  CommandRun run = WorkAs({"^$", Enough().write, kReadsParkedToo}, {"--no-declare"});
  ASSERT_TRUE(run.Says("consuming"));
  LeavesNothing();
  EXPECT_TRUE(run.Stop());
  RefusesToBegin({"^$", "^$", kReadsParkedToo}, "exchange 'amq.default'", {"--no-declare"});
}

INSTANTIATE_TEST_SUITE_P(Of, CommandRights, ::testing::Values("classic", "quorum"),
                         [](const auto& type) { return std::string(type.param); });

}  // namespace retryq::testing::command_rights_test
