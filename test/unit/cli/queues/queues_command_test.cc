#include "cli/queues/queues_command.h"

#include <nlohmann/json.hpp>

#include "retryq/delay_queue_options.h"
#include "support/test.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli::queues_command_test {

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
      TableText(List(), {}),
      "queue               ttl     type  waiting  overdue  next due  lease left  in/s  out/s  "
      "serves\n"
      "retry.1000           1s  classic       12        0   <=300ms     <=1m59s   3.2    3.0  "
      "many\n"
      "retry.60000.direct   1m   quorum        3        0      ~41s  20h..1d20h     -      -  "
      "many through work\n"
      "2 queues                               15        0                         3.2    3.0\n");
}

TEST(QueuesTable, SumsOnlyWhatIsKnown) {
  DelayQueueList list = List();
  list.queues[1].waiting = list.queues[1].overdue = std::nullopt;
  EXPECT_THAT(TableText(list, {}), HasSubstr("2 queues                                -        -"));
  EXPECT_TRUE(Json::parse(JsonText(list)).at("totals").at("waiting").is_null());
  list.queues[0].in_per_second = std::nullopt;
  EXPECT_TRUE(Json::parse(JsonText(list)).at("totals").at("in_per_second").is_null());
  list.queues.clear();
  EXPECT_EQ(Json::parse(JsonText(list)).at("totals").at("waiting"), 0);
  EXPECT_EQ(Json::parse(JsonText(list)).at("totals").at("in_per_second"), 0);
}

TEST(QueuesJson, IsOneLineForAnyName) {
  DelayQueueList list = List();
  list.queues[1].dead_letter_exchange = "\xff\n";
  const std::string text = JsonText(list);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const Json json = Json::parse(text);
  EXPECT_EQ(json.at("time"), "2027-01-15T08:00:00.123Z");
  const Json& second = json.at("queues").at(0);
  EXPECT_TRUE(second.at("next_due_ms").is_null());
  EXPECT_EQ(second.at("next_due_at_most_ms"), 250);
  EXPECT_EQ(second.at("lease_left_at_most_ms"), 118'213);
  EXPECT_EQ(json.at("totals").at("in_per_second"), 3.25);
}

class QueuesFlagsTest : public FlagsTest {
 protected:
  static QueuesOptions Parsed(const Arguments& arguments) {
    return OptionsIn(ParseQueues(arguments));
  }
};

TEST_F(QueuesFlagsTest, ReadTheManagementApiFromTheFlagOrTheEnvironment) {
  ::setenv("RETRYQ_MANAGEMENT_URL", "http://one:1", 1);
  EXPECT_EQ(Describe(Parsed({}).place.management), "http://one:1");
  EXPECT_EQ(Describe(Parsed({"--management", "http://two:2"}).place.management), "http://two:2");
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
  EXPECT_EQ(Describe(Parsed({"--url", "amqp://prod", "--url", "amqp://Staging."}).place.management),
            "http://staging:15672");
  // A flag for the API is trusted, and so are two variables together.
  EXPECT_EQ(
      Describe(Parsed({"--url", "amqp://prod", "--management", "http://api:1"}).place.management),
      "http://api:1");
  ::setenv("RETRYQ_URL", "amqp://prod", 1);
  EXPECT_EQ(Describe(Parsed({}).place.management), "http://staging:15672");
}

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

// A queue that has not been used yet.
Json Queue(const std::string& name, absl::Duration ttl, absl::Duration expires) {
  return {{"name", name},
          {"type", "classic"},
          {"state", "running"},
          {"messages", 0},
          {"arguments",
           {{"x-queue-type", "classic"},
            {"x-message-ttl", absl::ToInt64Milliseconds(ttl)},
            {"x-expires", absl::ToInt64Milliseconds(expires)},
            {"x-dead-letter-exchange", ""}}},
          {"effective_policy_definition", Json::object()},
          {"policy", nullptr},
          {"operator_policy", nullptr}};
}

Json Minute() { return Queue("retry.60000", absl::Minutes(1), absl::Minutes(3)); }

std::string Text(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3S+00:00", time, absl::UTCTimeZone());
}

// Statistics of every five seconds until now, newest first.
Json Samples(const std::vector<int>& values) {
  Json samples = Json::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const absl::Time at = kNow - absl::Seconds(5) * static_cast<int>(i);
    samples.push_back({{"sample", values[i]}, {"timestamp", absl::ToUnixMillis(at)}});
  }
  return {{"samples", samples}};
}

DelayQueueStatus Read(const Json& queue) {
  const auto status = ReadDelayQueue(queue, "retry", kNow);
  EXPECT_TRUE(status.has_value()) << queue;
  return status.value_or(DelayQueueStatus());
}

TEST(DelayQueueStatus, IgnoresOtherQueues) {
  EXPECT_FALSE(ReadDelayQueue(Queue("orders", {}, {}), "retry", kNow).has_value());
  EXPECT_FALSE(ReadDelayQueue(Minute(), "other", kNow).has_value());
  for (const Json& json : {Json(), Json(7), Json::array(), Json::object(), Json({{"name", 7}})}) {
    EXPECT_FALSE(ReadDelayQueue(json, "retry", kNow).has_value());
  }
}

TEST(DelayQueueStatus, ActivityLimitsTheTimeOfTheNextMessage) {
  Json queue = Minute();
  queue["messages"] = 3;
  EXPECT_EQ(Read(queue).next_due_at_most, absl::Minutes(1));
  queue["idle_since"] = Text(kNow - absl::Seconds(20));
  EXPECT_EQ(Read(queue).next_due_at_most, absl::Seconds(40));
  EXPECT_EQ(Read(queue).lease_left_at_most, absl::Seconds(160));
  queue["idle_since"] = Text(kNow - absl::Minutes(5));
  EXPECT_EQ(Read(queue).next_due_at_most, absl::ZeroDuration());
  EXPECT_EQ(Read(queue).lease_left_at_most, absl::ZeroDuration());
  queue["idle_since"] = "2026-11-22 7:01:46";
  EXPECT_EQ(Read(queue).next_due_at_most, absl::Minutes(1));
  EXPECT_FALSE(Read(queue).next_due.has_value());
}

TEST(DelayQueueStatus, EstimatesTheHeadFromPublishesAndWaitingMessages) {
  Json queue = Minute();
  // The fourth and the fifth message wait: the fourth was published ten to twenty seconds ago.
  queue["messages"] = 2;
  queue["message_stats"] = {{"publish", 5}, {"publish_details", Samples({5, 5, 5, 3, 3, 0})}};
  EXPECT_EQ(Read(queue).next_due_at_most, absl::Seconds(50));
  EXPECT_EQ(Read(queue).next_due, absl::Seconds(45));
  // All messages wait, and the statistics contain the first.
  queue["messages"] = 5;
  EXPECT_EQ(Read(queue).next_due, absl::Seconds(35));
  // The first was published before the statistics begin.
  queue["message_stats"]["publish_details"] = Samples({5, 5, 5});
  EXPECT_FALSE(Read(queue).next_due.has_value());
  EXPECT_EQ(Read(queue).next_due_at_most, absl::Seconds(50));
  // The broker has restarted and counts only later publishes.
  queue["messages"] = 6;
  EXPECT_FALSE(Read(queue).next_due.has_value());
  EXPECT_EQ(Read(queue).next_due_at_most, absl::Minutes(1));
}

TEST(DelayQueueStatus, ComputesRatesOverAMinute) {
  Json queue = Minute();
  std::vector<int> came;
  for (int i = 12; i >= 0; --i) came.push_back(100 + 10 * i);
  queue["message_stats"] = {{"publish", 220}, {"publish_details", Samples(came)}};
  queue["messages_details"] = Samples({30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 90});
  EXPECT_DOUBLE_EQ(Read(queue).in_per_second.value_or(0), 2.0);
  EXPECT_DOUBLE_EQ(Read(queue).out_per_second.value_or(0), 3.0);
  queue["messages_details"] = Samples({300, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_DOUBLE_EQ(Read(queue).out_per_second.value_or(-1), 0.0);
  queue["messages_details"] = Samples({30});
  EXPECT_FALSE(Read(queue).out_per_second.has_value());
}

TEST(DelayQueueStatus, DerivesTheLeaseOfAQuorumQueueFromItsEpoch) {
  const DelayQueueOptions options{.queue_type = QueueType::kQuorum, .outage = absl::Hours(1)};
  const absl::Duration ttl = absl::Minutes(1);
  const absl::Duration epoch_length = EpochLength(ttl, options);
  absl::Duration into;
  const std::int64_t epoch = absl::IDivDuration(kNow - absl::UnixEpoch(), epoch_length, &into);
  // A queue of this epoch and one of the previous epoch.
  for (const std::int64_t age : {0, 1}) {
    Json queue = Queue("retry.60000.q1", ttl,
                       QueueLifetime(ttl, options) + absl::Milliseconds((epoch - age) % 997));
    queue["type"] = "quorum";
    queue["idle_since"] = Text(kNow);
    const DelayQueueStatus status = Read(queue);
    ASSERT_TRUE(status.lease_left_at_least.has_value());
    EXPECT_EQ(*status.lease_left_at_least,
              *status.lease - into - static_cast<int>(age) * epoch_length);
    EXPECT_EQ(*status.lease_left_at_most, age == 0 ? *status.lease : *status.lease - into);
  }
  // An epoch whose queues have expired, and a value that is not of an epoch.
  for (const absl::Duration stamp :
       {absl::Milliseconds((epoch + 1) % 997), absl::Milliseconds(998)}) {
    Json queue = Queue("retry.60000.q1", ttl, QueueLifetime(ttl, options) + stamp);
    queue["type"] = "quorum";
    EXPECT_FALSE(Read(queue).lease_left_at_least.has_value());
    EXPECT_EQ(Read(queue).lease_left_at_most, Read(queue).lease);
  }
}

TEST(DelayQueueStatus, AppliesPolicies) {
  Json queue = Minute();
  queue["policy"] = "short";
  queue["effective_policy_definition"] = {{"message-ttl", 500}, {"expires", 700}};
  const DelayQueueStatus status = Read(queue);
  EXPECT_EQ(status.ttl, absl::Milliseconds(500));
  EXPECT_EQ(status.lease, absl::Milliseconds(700));
  EXPECT_THAT(
      Oddities(status),
      ElementsAre(HasSubstr("its TTL is 500ms instead of that in its name (policy 'short')"),
                  HasSubstr("expires")));
  queue["effective_policy_definition"] = {{"message-ttl", 120'000}};
  EXPECT_EQ(Read(queue).ttl, absl::Minutes(1));
  EXPECT_THAT(Oddities(Read(queue)), IsEmpty());
  queue["state"] = "live";  // without statistics
  EXPECT_THAT(Oddities(Read(queue)), IsEmpty());
}

TEST(DelayQueueStatus, CountsOnlyMessagesThatAreCertainlyOverdue) {
  Json queue = Minute();
  EXPECT_EQ(Read(queue).overdue, 0);
  queue["messages"] = 5;
  EXPECT_EQ(Read(queue).overdue, 0);
  queue["messages_dlx"] = 3;
  EXPECT_EQ(Read(queue).overdue, 3);
  // Any activity within the TTL may be a publish.
  queue["idle_since"] = Text(kNow - absl::Seconds(69));
  EXPECT_EQ(Read(queue).overdue, 3);
  queue["idle_since"] = Text(kNow - absl::Seconds(71));
  EXPECT_EQ(Read(queue).overdue, 5);
  EXPECT_THAT(Oddities(Read(queue)), Contains(HasSubstr("5 messages are overdue")));
  queue["messages"] = 0;
  queue["messages_dlx"] = 0;
  EXPECT_EQ(Read(queue).overdue, 0);
  queue.erase("messages");
  queue.erase("messages_dlx");
  EXPECT_EQ(Read(queue).overdue, std::nullopt);
}

TEST(DelayQueueStatus, ReportsAQueueThatDiffersFromItsName) {
  Json queue = Minute();
  queue["state"] = "down";
  queue["arguments"].erase("x-message-ttl");
  EXPECT_THAT(Oddities(Read(queue)), ElementsAre(HasSubstr("'down'"), HasSubstr("no TTL")));
}

TEST(DelayQueueStatus, AcceptsFieldsOfAnyType) {
  for (const Json& bad :
       {Json(), Json("text"), Json(-1), Json(1e300), Json(18446744073709551615U),
        Json::array({1, "x", nullptr}), Json({{"samples", 7}}),
        Json({{"samples", {1, {{"sample", "x"}}, {{"timestamp", -1}, {"sample", 1}}}}}),
        Json({{"rate", "x"}})}) {
    for (const char* field :
         {"type", "state", "messages", "messages_dlx", "arguments", "effective_policy_definition",
          "policy", "operator_policy", "idle_since", "message_stats", "messages_details"}) {
      Json queue = Minute();
      queue["messages"] = 5;
      queue[field] = bad;
      EXPECT_EQ(Read(queue).name, "retry.60000") << field << bad;
      Oddities(Read(queue));
    }
    for (const char* field : {"x-message-ttl", "x-expires", "x-dead-letter-exchange"}) {
      Json queue = Minute();
      queue["type"] = "quorum";
      queue["messages"] = 5;
      queue["arguments"][field] = bad;
      Read(queue);
    }
    Json queue = Minute();
    queue["messages"] = 5;
    queue["message_stats"] = {{"publish", 7}, {"publish_details", bad}};
    Read(queue);
  }
}

}  // namespace retryq::cli::queues_command_test
