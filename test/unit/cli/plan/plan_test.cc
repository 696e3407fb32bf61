// `retryq plan`: its flags, the table, JSON, definitions and files.

#include <nlohmann/json.hpp>

#include "cli/plan/plan_command.h"
#include "support/temporary_directory.h"
#include "support/test.h"
#include "support/well_formed.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli::plan_test {

using Json = nlohmann::json;

class PlanTest : public FlagsTest {
 protected:
  // Returns the result of `retryq plan ARGUMENTS`.
  static absl::StatusOr<std::string> Result(const Arguments& arguments) {
    return ShowPlan(OptionsIn(ParsePlan(arguments)));
  }
  static std::string Text(const Arguments& arguments) {
    const auto text = Result(arguments);
    EXPECT_TRUE(text.ok()) << text.status();
    return text.value_or("{}");
  }
  static Json JsonOf(Arguments arguments, const std::string& format = "--json") {
    arguments.push_back(format);
    return Json::parse(Text(arguments));
  }

  static std::vector<std::int64_t> Numbers(const Json& plan, const std::string& field) {
    std::vector<std::int64_t> numbers;
    for (const Json& attempt : plan.at("attempts")) numbers.push_back(attempt.at(field));
    return numbers;
  }
  static std::vector<std::string> Names(const Json& definitions, const std::string& kind) {
    std::vector<std::string> names;
    for (const Json& object : definitions.at(kind)) names.push_back(object.at("name"));
    return names;
  }
};

const Arguments kTimesTen = {"--base", "1s",   "--factor",       "10",
                             "--max",  "500s", "--max-attempts", "6"};

TEST_F(PlanTest, ListsADelayForEachAttemptButTheLast) {
  const Json plan = JsonOf(kTimesTen);
  EXPECT_THAT(Numbers(plan, "attempt"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Numbers(plan, "delay_ms"), ElementsAre(1000, 10'000, 100'000, 500'000, 500'000));
  EXPECT_THAT(Numbers(plan, "elapsed_ms"), ElementsAre(1000, 11'000, 111'000, 611'000, 1'111'000));
  EXPECT_EQ(plan.at("delay_queues"), 4);
  const std::string text = Text(kTimesTen);
  EXPECT_THAT(text, HasSubstr("      3         1m40s  retry.100000"));
  EXPECT_THAT(text, HasSubstr("6 attempts within 18m31s, through 4 delay queues\n"));
}

TEST_F(PlanTest, JsonHasOnlyTheDocumentedFields) {
  EXPECT_EQ(Text({"--max-attempts", "2", "--json"}),
            R"({"attempts":[{"attempt":1,"delay_ms":1000,"queue":"retry.1000","expires_ms":121000,)"
            R"("elapsed_ms":1000}],"delay_queues":1})"
            "\n");
}

TEST_F(PlanTest, EndsAtTheLimits) {
  EXPECT_THAT(JsonOf({"--max-attempts", "1"}).at("attempts"), IsEmpty());
  EXPECT_THAT(Text({"--max-attempts", "1"}),
              HasSubstr("1 attempt within 0s, through 0 delay queues"));
  EXPECT_THAT(Numbers(JsonOf({"--base", "1m", "--factor", "1", "--max-age", "3m"}), "elapsed_ms"),
              ElementsAre(60'000, 120'000, 180'000));
  const std::string endless = Text({"--base", "1m", "--max", "4m", "--max-attempts", "0"});
  EXPECT_THAT(endless, HasSubstr("retry.240000"));
  EXPECT_THAT(endless, HasSubstr("...  "));
  EXPECT_THAT(endless, HasSubstr("unlimited attempts, through 3 delay queues"));
}

TEST_F(PlanTest, ShowsTheRangeOfRandomDelays) {
  const Arguments arguments = {"--base", "10s", "--jitter", "0.25", "--max-attempts", "3"};
  const std::string text = Text(arguments);
  EXPECT_THAT(text, HasSubstr("      1  7s500ms..10s  retry.10000 "));
  EXPECT_THAT(text, HasSubstr("      2      15s..20s  retry.15000 +1 "));
  EXPECT_THAT(text, HasSubstr("Each delay is random within its range"));
  const Json plan = JsonOf(arguments);
  EXPECT_THAT(Numbers(plan, "delay_min_ms"), ElementsAre(7500, 15'000));
  EXPECT_THAT(Numbers(plan, "elapsed_ms"), ElementsAre(10'000, 30'000));
  const Json decorrelated =
      JsonOf({"--base", "1s", "--max", "20s", "--jitter", "decorrelated", "--max-attempts", "5"});
  EXPECT_THAT(Numbers(decorrelated, "delay_min_ms"), ElementsAre(1000, 1000, 1000, 1000));
  EXPECT_THAT(Numbers(decorrelated, "delay_ms"), ElementsAre(3000, 9000, 20'000, 20'000));
}

TEST_F(PlanTest, CountsAndDefinesTheQueuesOfRandomDelays) {
  const Arguments jitter = {"--jitter", "0.5", "--base", "1s", "--factor", "1"};
  EXPECT_THAT(Names(JsonOf(jitter, "--definitions"), "queues"),
              ElementsAre("retry.1", "retry.20", "retry.50", "retry.100", "retry.200", "retry.300",
                          "retry.500", "retry.1000"));
  EXPECT_EQ(JsonOf(jitter).at("delay_queues"), 8);
}

TEST_F(PlanTest, ShowsAndDefinesTheQueuesOfLongListsOfDelays) {
  const Arguments many = {"--backoff",          "linear", "--base", "1s", "--max-attempts", "100",
                          "--max-delay-queues", "16"};
  EXPECT_THAT(Names(JsonOf(many, "--definitions"), "queues"),
              ElementsAre("retry.1", "retry.20", "retry.50", "retry.200", "retry.1000",
                          "retry.5000", "retry.15000", "retry.60000"));
  const Json plan = JsonOf(many);
  EXPECT_EQ(plan.at("delay_queues"), 8);
  EXPECT_EQ(plan.at("attempts").at(1).at("queue"), "retry.1000");
  EXPECT_EQ(plan.at("attempts").at(1).at("expires_ms"), 121'000);
  EXPECT_THAT(Text(many), HasSubstr("      2            2s  retry.1000 +1 "));
  EXPECT_THAT(Text(many), HasSubstr("+N: the message passes through N shorter queues"));
}

TEST_F(PlanTest, NamesQuorumQueuesWithTheirWorkQueue) {
  const auto queue = [](Arguments more) {
    more.insert(more.end(), {"--queue-type", "quorum", "--max-attempts", "2"});
    return JsonOf(more).at("attempts").at(0).at("queue");
  };
  EXPECT_EQ(queue({}), "retry.1000.QUEUE.q0-q3");
  EXPECT_EQ(queue({"--queue", "orders"}), "retry.1000.orders.q0-q3");
  EXPECT_EQ(queue({"--queue", "orders", "--share-delay-queues"}), "retry.1000.q0-q3");
  EXPECT_EQ(queue({"--queue", "orders", "--no-declare"}), "retry.1000.orders.q");
  EXPECT_THAT(Text({"--queue-type", "quorum", "--max-attempts", "3"}),
              HasSubstr("2 delay queues of each work queue, up to three of each at a time"));
}

TEST_F(PlanTest, WarnsOfTooManyQuorumQueues) {
  std::string delays = "1s";
  for (int seconds = 2; seconds <= 400; ++seconds) delays += "," + std::to_string(seconds) + "s";
  Arguments many = {"--queue-type", "quorum", "--max-delay-queues", "400",
                    "--delays",     delays,   "--max-attempts",     "401"};
  EXPECT_THAT(Text(many), HasSubstr("warning: up to 1122 quorum queues for each work queue: "));
  EXPECT_THAT(JsonOf(many).at("warnings").at(0).get<std::string>(),
              HasSubstr("--max-delay-queues"));
  many[1] = "classic";
  EXPECT_FALSE(JsonOf(many).contains("warnings"));
  EXPECT_THAT(Text({"--queue-type", "quorum", "--delays", "1s,2s,3s,4s"}),
              HasSubstr("More than 83 work queues with this policy need more "
                        "than 1000 quorum"));
}

TEST_F(PlanTest, DefinesQueuesThatNeverExpire) {
  const Json definitions = JsonOf(kTimesTen, "--definitions");
  EXPECT_THAT(Names(definitions, "queues"),
              ElementsAre("retry.1000", "retry.10000", "retry.100000", "retry.500000"));
  EXPECT_EQ(Names(definitions, "exchanges"), Names(definitions, "queues"));
  EXPECT_EQ(definitions.at("queues").at(1), Json::parse(R"({"name": "retry.10000", "vhost": "/",
            "durable": true, "auto_delete": false, "arguments": {"x-queue-type": "classic",
            "x-message-ttl": 10000, "x-dead-letter-exchange": ""}})"));
  EXPECT_EQ(definitions.at("exchanges").at(1), Json::parse(R"({"name": "retry.10000",
            "vhost": "/", "type": "fanout", "durable": true, "auto_delete": false,
            "internal": false, "arguments": {}})"));
  EXPECT_EQ(definitions.at("bindings").at(1), Json::parse(R"({"source": "retry.10000",
            "vhost": "/", "destination": "retry.10000", "destination_type": "queue",
            "routing_key": "", "arguments": {}})"));
}

TEST_F(PlanTest, DefinesQueuesForDelaysOutsideThePlanIfAsked) {
  const Json all = JsonOf({"--max-attempts", "2", "--any-delay"}, "--definitions");
  EXPECT_THAT(Names(all, "queues"), SizeIs(32));
  EXPECT_EQ(Names(all, "queues").back(), "retry.2592000000");
}

TEST_F(PlanTest, DefinesTheWorkQueueAndTheParkedQueue) {
  const Json definitions =
      JsonOf({"--queue", "orders", "--delays", "1s", "--work-queue", "quorum"}, "--definitions");
  EXPECT_THAT(Names(definitions, "queues"), ElementsAre("retry.1000", "orders", "orders.parked"));
  EXPECT_EQ(definitions["queues"][1]["arguments"], Json({{"x-queue-type", "quorum"}}));
  EXPECT_THAT(
      Names(JsonOf({"--queue", "a", "--parked", "p", "--delays", "1s"}, "--definitions"), "queues"),
      ElementsAre("retry.1000", "p"));
}

TEST_F(PlanTest, DefinesQuorumQueuesOfOneWorkQueue) {
  const Json definitions = JsonOf(
      {"--queue-type", "quorum", "--max-attempts", "2", "--queue", "orders"}, "--definitions");
  EXPECT_THAT(Names(definitions, "queues"), ElementsAre("retry.1000.orders.q", "orders.parked"));
  const Json& arguments = definitions.at("queues").at(0).at("arguments");
  EXPECT_EQ(arguments.at("x-dead-letter-strategy"), "at-least-once");
  EXPECT_EQ(arguments.at("x-overflow"), "reject-publish");
  EXPECT_FALSE(arguments.contains("x-expires"));
  EXPECT_EQ(definitions.at("queues").at(1).at("arguments").at("x-queue-type"), "quorum");
}

TEST_F(PlanTest, DefinesQueuesForMessagesThatCameThroughTheWorkExchangeAndForOthers) {
  const Json definitions = JsonOf({"--max-attempts", "2", "--work-exchange", "work", "--prefix",
                                   "p", "--url", "amqp://localhost/shop"},
                                  "--definitions");
  EXPECT_THAT(Names(definitions, "queues"), ElementsAre("p.1000", "p.1000.direct"));
  EXPECT_EQ(definitions.at("queues").at(0).at("arguments").at("x-dead-letter-exchange"), "work");
  EXPECT_EQ(definitions.at("queues").at(1).at("arguments").at("x-dead-letter-exchange"), "");
  EXPECT_EQ(definitions.at("queues").at(0).at("vhost"), "shop");
}

TEST_F(PlanTest, ShowsASimulatedOutage) {
  const Arguments arguments = {"--max-attempts", "3", "--simulate",
                               "outage=1m,rate=10/s,capacity=30/s"};
  const std::string text = Text(arguments);
  EXPECT_THAT(text, HasSubstr("Outage of 1m that begins after 6s; 10 messages/s; capacity 30 "
                              "calls/s\n"));
  EXPECT_THAT(text, HasSubstr("\n    time  calls/s "));
  EXPECT_THAT(text, HasSubstr("\nrecovered after the outage"));
  EXPECT_THAT(text, HasSubstr("\n  parked                                     570\n"));
  const Json all = JsonOf(arguments);
  EXPECT_THAT(all.at("attempts"), SizeIs(2));
  EXPECT_EQ(all.at("simulation").at("parked"), 570);
}

TEST_F(PlanTest, ShowsTheEffectOfACircuitBreakerOnAnOutage) {
  const Arguments outage = {
      "--max-attempts",  "3",  "--simulate", "outage=1m,rate=10/s", "--breaker",
      "--breaker-pause", "20s"};
  const std::string text = Text(outage);
  EXPECT_THAT(text, HasSubstr("With a circuit breaker that opens when 0.5 of 20 calls have failed, "
                              "for 20s, and closes after 3 successes:\n"));
  EXPECT_THAT(text,
              HasSubstr("\n  parked                                     570             0\n"));
  const Json simulation = JsonOf(outage).at("simulation");
  EXPECT_EQ(simulation.at("parked"), 570);
  EXPECT_FALSE(simulation.contains("breaker"));
  const Json& with = simulation.at("with_breaker");
  EXPECT_EQ(with.at("parked"), 0);
  EXPECT_LT(with.at("failures"), 20);
  EXPECT_EQ(with.at("breaker").at("pause_ms"), 20'000);
}

TEST_F(PlanTest, DrawsTheOutageToAFile) {
  const testing::TemporaryDirectory files;
  const std::string file = files.Write("a.svg", std::string(1'000'000, 'x'));
  EXPECT_THAT(Text({"--simulate", "outage=1m,rate=10/s", "--svg", file}),
              HasSubstr("recovered after the outage"));
  EXPECT_TRUE(testing::IsWellFormed(files.Read("a.svg"))) << "replaces the old file";
  EXPECT_THAT(files.Read("a.svg"), HasSubstr("Outage of 1m"));
}

}  // namespace retryq::cli::plan_test
