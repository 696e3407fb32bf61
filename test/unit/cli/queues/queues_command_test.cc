#include "cli/queues/queues_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace queues_command_test {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

DelayQueueList List() {
  DelayQueueStatus second{.name = "retry.1000",
                          .parts = {.ttl = absl::Seconds(1)},
                          .type = "classic",
                          .ttl = absl::Seconds(1),
                          .lease = absl::Seconds(121),
                          .waiting = 12,
                          .overdue = 0,
                          .in_per_second = 3.25,
                          .out_per_second = 3,
                          .next_due_at_most = absl::Milliseconds(250),
                          .lease_left_at_most = absl::Milliseconds(118'213)};
  DelayQueueStatus minute{.name = "retry.60000.direct",
                          .parts = {.ttl = absl::Minutes(1), .direct = true},
                          .type = "quorum",
                          .dead_letter_exchange = "work",
                          .ttl = absl::Minutes(1),
                          .lease = absl::Hours(48),
                          .waiting = 3,
                          .overdue = 0,
                          .next_due = absl::Milliseconds(40'100),
                          .next_due_at_most = absl::Seconds(45),
                          .lease_left_at_least = absl::Hours(20),
                          .lease_left_at_most = absl::Hours(44)};
  return {.queues = {second, minute}, .at = absl::FromUnixMillis(1'800'000'000'123)};
}

TEST(QueuesTable, HasAlignedColumns) {
  EXPECT_EQ(
      TableText(List(), "retry", "/"),
      "queue               ttl     type  waiting  overdue  next due  lease left  in/s  out/s  "
      "serves\n"
      "retry.1000           1s  classic       12        0   <=300ms     <=1m59s   3.2    3.0  "
      "many\n"
      "retry.60000.direct   1m   quorum        3        0      ~41s  20h..1d20h     -      -  "
      "many through work\n"
      "2 queues                               15        0                         3.2    3.0\n");
}

TEST(QueuesTable, ShowsTheWorkQueueOfAQuorumQueue) {
  DelayQueueList list = List();
  list.queues[0].parts.work_queue = "orders";
  list.queues[0].undelivered = 40;
  list.queues[0].overdue = 40;
  EXPECT_THAT(TableText(list, "retry", "/"), HasSubstr("3.0  orders\n"));
  EXPECT_THAT(
      TableText(list, "retry", "/"),
      HasSubstr("\nretry.1000: 40 messages are due and not delivered yet. If this lasts, the "
                "queue 'orders' that they return to is missing or full"));
  const Json queues = Json::parse(JsonText(list)).at("queues");
  EXPECT_EQ(queues.at(0).at("work_queue"), "orders");
  EXPECT_EQ(queues.at(0).at("undelivered"), 40);
  EXPECT_EQ(queues.at(0).at("overdue"), 40);
  EXPECT_EQ(Json::parse(JsonText(list)).at("totals").at("overdue"), 40);
  EXPECT_TRUE(queues.at(0).at("exchange").is_null());
  EXPECT_TRUE(queues.at(1).at("work_queue").is_null());
  EXPECT_TRUE(queues.at(1).at("undelivered").is_null());
}

TEST(QueuesTable, ShowsTheExchangeThatMessagesWereDelayedTo) {
  DelayQueueList list = List();
  list.queues[0].parts.exchange = "work";
  list.queues[0].parts.routing_key = "order.placed";
  list.queues[0].dead_letter_exchange = "work";
  list.queues[1].parts.work_queue = "#0123456789abcdef";
  EXPECT_THAT(TableText(list, "retry", "/"), HasSubstr("3.0  exchange work, key order.placed\n"));
  EXPECT_THAT(TableText(list, "retry", "/"), HasSubstr("-  #0123456789abcdef through work\n"));
  EXPECT_EQ(Json::parse(JsonText(list)).at("queues").at(0).at("exchange"), "work");
  EXPECT_EQ(Json::parse(JsonText(list)).at("queues").at(0).at("routing_key"), "order.placed");
}

TEST(QueuesJson, IsOneLineForAnyName) {
  DelayQueueList list = List();
  list.queues[1].dead_letter_exchange = "\xff\n";
  const std::string text = JsonText(list);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const Json json = Json::parse(text);
  EXPECT_EQ(json.at("time"), "2027-01-15T08:00:00.123Z");
  const Json& second = json.at("queues").at(0);
  EXPECT_EQ(second.at("name"), "retry.1000");
  EXPECT_EQ(second.at("ttl_ms"), 1000);
  EXPECT_EQ(second.at("waiting"), 12);
  EXPECT_EQ(second.at("overdue"), 0);
  EXPECT_TRUE(second.at("next_due_ms").is_null());
  EXPECT_EQ(second.at("next_due_at_most_ms"), 250);
  EXPECT_EQ(second.at("lease_left_at_most_ms"), 118'213);
  EXPECT_EQ(json.at("queues").at(1).at("lease_left_at_least_ms"), 72'000'000);
  EXPECT_TRUE(json.at("queues").at(1).at("in_per_second").is_null());
  EXPECT_EQ(json.at("totals").at("queues"), 2);
  EXPECT_EQ(json.at("totals").at("waiting"), 15);
  EXPECT_EQ(json.at("totals").at("overdue"), 0);
  EXPECT_EQ(json.at("totals").at("in_per_second"), 3.25);
}

TEST(QueuesLines, HaveALineForEachQueue) {
  EXPECT_EQ(LinesText(List()),
            "2027-01-15T08:00:00.123Z queue=retry.1000 ttl=1s type=classic waiting=12 overdue=0 "
            "next_due=<=300ms lease_left=<=1m59s in=3.2 out=3.0 serves=many\n"
            "2027-01-15T08:00:00.123Z queue=retry.60000.direct ttl=1m type=quorum waiting=3 "
            "overdue=0 next_due=~41s lease_left=20h..1d20h in=- out=- serves=many:through:work\n"
            "2027-01-15T08:00:00.123Z queues=2 waiting=15 overdue=0 in=3.2 out=3.0\n");
}

class QueuesFlagsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("RETRYQ_URL");
    ::unsetenv("RETRYQ_MANAGEMENT_URL");
  }
  static QueuesOptions Parsed(const Arguments& arguments) {
    return OptionsIn(ParseQueues(arguments));
  }
};

TEST_F(QueuesFlagsTest, HaveDefaults) {
  const QueuesOptions options = Parsed({});
  EXPECT_EQ(Describe(options.management), "http://localhost:15672");
  EXPECT_EQ(options.management.user, "guest");
  EXPECT_EQ(options.vhost, "/");
  EXPECT_EQ(options.prefix, "retry");
  EXPECT_FALSE(options.json);
  EXPECT_FALSE(options.watch);
  const QueuesOptions watch = Parsed({"--watch", "--json", "--interval", "5s", "--prefix", "p"});
  EXPECT_TRUE(watch.watch && watch.json);
  EXPECT_EQ(watch.interval, absl::Seconds(5));
  EXPECT_EQ(watch.prefix, "p");
}

TEST_F(QueuesFlagsTest, UseTheHostUserAndVhostOfTheBroker) {
  const QueuesOptions options = Parsed({"--url", "amqp://me:pw@rabbit:1/shop%2f1"});
  EXPECT_EQ(Describe(options.management), "http://rabbit:15672");
  EXPECT_EQ(options.management.password, "pw");
  EXPECT_EQ(options.vhost, "shop/1");
}

TEST_F(QueuesFlagsTest, ReadTheManagementApiFromTheFlagOrTheEnvironment) {
  ::setenv("RETRYQ_MANAGEMENT_URL", "http://one:1", 1);
  EXPECT_EQ(Describe(Parsed({}).management), "http://one:1");
  EXPECT_EQ(Describe(Parsed({"--management", "http://two:2"}).management), "http://two:2");
  ::setenv("RETRYQ_MANAGEMENT_URL", "one:1", 1);
  EXPECT_THAT(std::string(ParseQueues({}).status().message()),
              HasSubstr("RETRYQ_MANAGEMENT_URL: must begin with http://"));
}

TEST_F(QueuesFlagsTest, IgnoreTheEnvironmentForAnotherBroker) {
  ::setenv("RETRYQ_MANAGEMENT_URL", "http://u:s3cret@staging:15672", 1);
  const Arguments url = {"--url", "amqp://me:pw@prod/shop"};
  const absl::Status status = ParseQueues(url).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string what(status.message());
  EXPECT_THAT(what, HasSubstr("prod:5672"));
  EXPECT_THAT(what, HasSubstr("http://staging:15672"));
  EXPECT_THAT(what, Not(HasSubstr("s3cret")));
  EXPECT_EQ(Describe(Parsed({"--url", "amqp://prod", "--url", "amqp://Staging."}).management),
            "http://staging:15672");
  // A flag for the API is trusted, and so are two variables together.
  EXPECT_EQ(Describe(Parsed({"--url", "amqp://prod", "--management", "http://api:1"}).management),
            "http://api:1");
  ::setenv("RETRYQ_URL", "amqp://prod", 1);
  EXPECT_EQ(Describe(Parsed({}).management), "http://staging:15672");
}

TEST_F(QueuesFlagsTest, AcceptEachNameOfThisMachine) {
  ::setenv("RETRYQ_MANAGEMENT_URL", "http://127.0.0.1:15673", 1);
  for (const char* const host : {"localhost", "LOCALHOST", "127.0.0.1", "[::1]"}) {
    EXPECT_EQ(Describe(Parsed({"--url", std::string("amqp://") + host}).management),
              "http://127.0.0.1:15673");
  }
}

}  // namespace queues_command_test
}  // namespace retryq::cli
