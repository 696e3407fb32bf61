// `retryq queues`.

#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_queues_test {

class CommandQueues : public CommandTest {
 protected:
  End Queues(Arguments arguments, const std::string& url = "") {
    arguments.insert(arguments.begin(), {"queues", "--management", ManagementUrl()});
    return RunToEnd(arguments, url.empty() ? vhost_.Url() : url);
  }
  nlohmann::json Json(Arguments arguments = {}) {
    arguments.emplace_back("--json");
    const End end = Queues(arguments);
    EXPECT_EQ(end.code, 0) << end.err;
    return nlohmann::json::parse(end.out, nullptr, /*allow_exceptions=*/false);
  }

  void Delay(const std::string& delay, const Arguments& flags = {}) {
    Arguments arguments = {"send", "--queue", "orders", "--delay", delay};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    arguments.emplace_back("body");
    const End end = RunToEnd(arguments);
    ASSERT_EQ(end.code, 0) << end.err;
  }

  static std::vector<std::string> Names(const nlohmann::json& all) {
    std::vector<std::string> names;
    for (const auto& queue : all.at("queues")) names.push_back(queue.at("name"));
    return names;
  }
};

TEST_F(CommandQueues, ReportsThatThereAreNoDelayQueues) {
  const End end = Queues({});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("nothing has failed lately"));
  EXPECT_EQ(Json().at("totals").at("queues"), 0);
}

TEST_F(CommandQueues, ShowsWaitingMessagesAndWhenTheyAreDue) {
  // The channel stays open: the statistics may never contain the publishes of a channel that is
  // closed at once.
  CommandRun worker({"work", "--queue", "orders", "--", "sh", "-c", "cat >&2; exit 1"},
                    vhost_.Url());
  for (const char* delay : {"10m", "1h", "1h"}) Publish(std::string("retry-after: ") + delay);
  Delay("10m", {"--prefix", "other"});
  peer_.DeclareQueue("retry.orders");
  // The broker's statistics are behind.
  nlohmann::json all;
  ASSERT_TRUE(CommandRun::WaitUntil(
      [&] {
        all = Json();
        if (all.at("totals").at("waiting") != 3) return false;
        for (const auto& queue : all.at("queues")) {
          if (queue.at("next_due_ms").is_null()) return false;
        }
        return true;
      },
      absl::Seconds(60)))
      << all;
  EXPECT_THAT(Names(all), ElementsAre("retry.600000", "retry.3600000"));
  const nlohmann::json& hour = all.at("queues").at(1);
  EXPECT_EQ(hour.at("ttl_ms"), 3'600'000);
  EXPECT_EQ(hour.at("type"), "classic");
  EXPECT_EQ(hour.at("waiting"), 2);
  EXPECT_LE(hour.at("next_due_ms"), hour.at("next_due_at_most_ms"));
  EXPECT_LE(hour.at("next_due_at_most_ms"), 3'600'000);
  EXPECT_GE(hour.at("next_due_ms"), 3'400'000);
  EXPECT_LE(hour.at("lease_left_at_most_ms"), hour.at("expires_ms"));
  EXPECT_GE(hour.at("lease_left_at_most_ms"), 4'000'000);
  EXPECT_EQ(hour.at("dead_letter_exchange"), "");
  EXPECT_EQ(hour.at("oddities"), nlohmann::json::array());

  const End table = Queues({});
  EXPECT_THAT(table.out, HasSubstr("retry.3600000"));
  EXPECT_THAT(table.out, HasSubstr("2 queues"));
  EXPECT_THAT(table.out, Not(HasSubstr("retry.orders")));
  EXPECT_THAT(Names(Json({"--prefix", "other"})), ElementsAre("other.600000"));
  // Nothing was touched.
  EXPECT_EQ(peer_.Count("retry.3600000"), 2U);
  ASSERT_TRUE(worker.Stop());
}

TEST_F(CommandQueues, ShowsTheLeasesOfQuorumQueues) {
  CommandRun worker({"work", "--json", "--queue", "orders", "--base", "10m", "--queue-type",
                     "quorum", "--outage", "1h", "--", "false"},
                    vhost_.Url());
  Publish("an order");
  ASSERT_TRUE(worker.Says("retried"));
  const nlohmann::json all = Json();
  ASSERT_EQ(Names(all).size(), 1U);
  const nlohmann::json& queue = all.at("queues").at(0);
  EXPECT_THAT(queue.at("name").get<std::string>(), HasSubstr("retry.600000.orders.q"));
  EXPECT_EQ(queue.at("type"), "quorum");
  EXPECT_GT(queue.at("lease_left_at_least_ms"), 4'000'000);  // an epoch of 70 minutes
  EXPECT_LE(queue.at("lease_left_at_least_ms"), queue.at("lease_left_at_most_ms"));
  EXPECT_LE(queue.at("lease_left_at_most_ms"), queue.at("expires_ms"));
  ASSERT_TRUE(worker.Stop());
}

TEST_F(CommandQueues, ShowsTheOwnersOfMessagesAndOverdueOnes) {
  Delay("10m");
  // As a program declares it that publishes with a delay to an exchange.
  const std::string to_exchange = "retry.1200000.exchange.shop.key.order.q0";
  peer_.DeclareQueue(to_exchange, {{"x-queue-type", "quorum"},
                                   {"x-message-ttl", std::int64_t{1'200'000}},
                                   {"x-dead-letter-exchange", "shop"}});
  peer_.Publish("", to_exchange, "a message");
  CommandRun worker({"work", "--json", "--queue", "orders", "--base", "3s", "--queue-type",
                     "quorum", "--", "false"},
                    vhost_.Url());
  Publish("an order");
  ASSERT_TRUE(worker.Says("retried"));
  ASSERT_TRUE(worker.Stop());
  peer_.Delete("orders");
  nlohmann::json all;
  ASSERT_TRUE(CommandRun::WaitUntil(
      [&] {
        all = Json();
        return all.at("totals").at("overdue") == 1 && all.at("totals").at("waiting") == 3;
      },
      absl::Seconds(60)))
      << all;
  ASSERT_EQ(all.at("queues").size(), 3U) << all;
  const nlohmann::json& gone = all.at("queues").at(0);
  EXPECT_EQ(gone.at("work_queue"), "orders");
  EXPECT_EQ(gone.at("overdue"), 1);
  EXPECT_EQ(gone.at("undelivered"), 1);
  const nlohmann::json& shared = all.at("queues").at(1);
  EXPECT_EQ(shared.at("name"), "retry.600000");
  EXPECT_TRUE(shared.at("work_queue").is_null());
  EXPECT_EQ(shared.at("overdue"), 0);
  EXPECT_EQ(all.at("queues").at(2).at("exchange"), "shop");
  EXPECT_EQ(all.at("queues").at(2).at("overdue"), 0);
  const End table = Queues({});
  EXPECT_THAT(table.out, ContainsRegex("retry[.]3000[.]orders[.]q[0-3] .* 1        1 .* orders\n"));
  EXPECT_THAT(table.out, ContainsRegex("retry[.]600000 .* 1        0 .* many\n"));
  EXPECT_THAT(table.out, ContainsRegex("exchange shop, key order\n"));
  EXPECT_THAT(table.out, HasSubstr("1 messages are due and not delivered yet"));
}

TEST_F(CommandQueues, ExplainsEachFailure) {
  const End nobody = RunToEnd({"queues", "--management", "http://127.0.0.1:1"});
  EXPECT_EQ(nobody.code, 69);
  EXPECT_THAT(nobody.err, HasSubstr("http://127.0.0.1:1: Connection refused; enable the management "
                                    "plugin (rabbitmq-plugins enable rabbitmq_management)"));

  const std::string user = vhost_.AddUser(TestVhost::Rights{});
  std::string management = ManagementUrl();
  management.replace(management.find("//") + 2, management.find('@') - management.find("//") - 2,
                     user + ":" + user);
  const End tagless = RunToEnd({"queues", "--management", management});
  EXPECT_EQ(tagless.code, 77);
  EXPECT_THAT(tagless.err, HasSubstr("rabbitmqctl set_user_tags"));
  management.replace(management.find("//") + 2, user.size() * 2 + 1, user + ":s3cret");
  const End wrong = RunToEnd({"queues", "--management", management});
  EXPECT_EQ(wrong.code, 77);
  EXPECT_THAT(wrong.err, HasSubstr("user '" + user + "' was refused"));
  EXPECT_THAT(wrong.err, Not(HasSubstr("s3cret")));

  std::string other = vhost_.Url();
  other.replace(other.rfind('/') + 1, std::string::npos, "no-such-vhost");
  const End vhost = Queues({}, other);
  EXPECT_EQ(vhost.code, 69);
  EXPECT_THAT(vhost.err, HasSubstr("vhost 'no-such-vhost' does not exist"));
}

}  // namespace retryq::testing::command_queues_test
