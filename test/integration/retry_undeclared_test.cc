// Workers without the configure permission: an administrator imports the output of `retryq plan
// --definitions`, and workers use `retryq work --no-declare`.

#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::retry_undeclared_test {

// Fails at the first two attempts.
constexpr char kFailTwice[] = R"([ "$RETRYQ_ATTEMPT" -ge 2 ])";

class Undeclared : public CommandTest, public ::testing::WithParamInterface<std::string> {
 protected:
  const Arguments policy_ = {"--base", "50ms", "--max-attempts", "3", "--queue-type", GetParam()};

  // Imports the output of `retryq plan`, like an administrator.
  void ImportDefinitions() {
    Arguments plan = {"plan", "--definitions", "--queue", "orders"};
    plan.insert(plan.end(), policy_.begin(), policy_.end());
    CommandRun run(plan, vhost_.Url());
    ASSERT_EQ(run.Wait(), 0) << run.Story();
    vhost_.management().Post("/definitions", nlohmann::json::parse(run.out()));
  }

  static std::string DelayQueue() {
    return GetParam() == "quorum" ? "retry.50.orders.q" : "retry.50";
  }

  CommandRun WorkUnprivileged(const std::string& script) {
    const std::string user =
        vhost_.AddUser(TestVhost::Rights{.configure = "^$",
                                         .write = R"(^(retry\..*|amq\.default)$)",
                                         .read = R"(^(retry\..*|orders.*)$)"});
    Arguments work = {"work", "--json", "--queue", "orders", "--no-declare"};
    work.insert(work.end(), policy_.begin(), policy_.end());
    work.insert(work.end(), {"--", "sh", "-c", script});
    return CommandRun(work, vhost_.UrlAs(user, user));
  }

  void PublishTen() {
    for (int i = 0; i < 10; ++i) {
      const std::string id = std::to_string(i);
      peer_.Publish("", "orders", id, {.message_id = id});
    }
  }

  // The ids of the messages in these events.
  static std::set<std::string> Ids(const CommandRun& worker, std::string_view event) {
    std::set<std::string> ids;
    for (const auto& entry : worker.events(event)) ids.insert(entry.at("id"));
    return ids;
  }
};

TEST_P(Undeclared, UsesImportedQueuesWithoutConfigurePermission) {
  ImportDefinitions();
  const std::size_t queues = vhost_.QueuesBeginning("").size();
  EXPECT_EQ(vhost_.Queue(DelayQueue())->at("arguments").count("x-expires"), 0U);
  PublishTen();
  CommandRun worker = WorkUnprivileged(kFailTwice);
  ASSERT_TRUE(worker.Says("acked", 10));
  EXPECT_EQ(Ids(worker, "acked").size(), 10U);
  EXPECT_EQ(worker.events("retried").size(), 20U);
  EXPECT_TRUE(worker.events("declare_failed").empty());
  EXPECT_EQ(peer_.Count("orders"), 0U);
  EXPECT_EQ(vhost_.QueuesBeginning("").size(), queues);
  EXPECT_TRUE(worker.Stop());
}

TEST_P(Undeclared, ParksInTheImportedQueue) {
  ImportDefinitions();
  PublishTen();
  CommandRun worker = WorkUnprivileged("exit 1");
  ASSERT_TRUE(worker.Says("parked", 10));
  EXPECT_TRUE(worker.Stop());
  EXPECT_EQ(peer_.Count("orders.parked"), 10U);
}

TEST_P(Undeclared, NamesAMissingQueueWhoseMessagesWait) {
  peer_.DeclareQueue("orders.parked");
  PublishTen();
  CommandRun worker = WorkUnprivileged(kFailTwice);
  ASSERT_TRUE(worker.Says("declare_failed"));
  const std::string error = worker.events("declare_failed")[0].at("error");
  EXPECT_THAT(error, HasSubstr("'" + DelayQueue() + "'"));
  EXPECT_THAT(error, HasSubstr("retryq plan --definitions"));
  EXPECT_TRUE(vhost_.QueuesBeginning("retry").empty());
  peer_.Delete("orders.parked");
  ImportDefinitions();
  // Counted by id: if a copy arrives before the imported binding, it is returned, and copies that
  // are confirmed after it are published again, because their queue may be gone.
  ASSERT_TRUE(worker.Until([&] { return Ids(worker, "acked").size() == 10; }, "all ids"));
  EXPECT_EQ(peer_.Count("orders"), 0U);
  EXPECT_TRUE(worker.Stop());
}

TEST_P(Undeclared, NamesAMissingParkedQueueWhenTheStartFails) {
  CommandRun worker = WorkUnprivileged(kFailTwice);
  EXPECT_EQ(worker.Wait(), 69);
  EXPECT_THAT(worker.err(), HasSubstr("'orders.parked' does not exist"));
}

INSTANTIATE_TEST_SUITE_P(OfBothTypes, Undeclared, ::testing::Values("classic", "quorum"),
                         [](const auto& instance) { return instance.param; });

}  // namespace retryq::testing::retry_undeclared_test
