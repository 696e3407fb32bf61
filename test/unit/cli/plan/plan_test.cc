#include "cli/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "cli/plan/plan_command.h"
#include "support/temporary_directory.h"
#include "support/well_formed.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace plan_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;

class PlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"RETRYQ_URL", "LC_ALL", "LC_CTYPE", "LANG", "COLUMNS"}) {
      ::unsetenv(name);
    }
  }

  // What `retryq plan ARGUMENTS` prints.
  static std::string Text(const Arguments& arguments) {
    const auto parsed = ParsePlan(arguments);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed.ok() ? PlanText(std::get<PlanOptions>(*parsed)) : std::string("{}");
  }
  // The same, with all that takes more than the table.
  static std::string Shown(const Arguments& arguments) {
    const auto parsed = ParsePlan(arguments);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    const auto shown = ShowPlan(std::get<PlanOptions>(*parsed));
    EXPECT_TRUE(shown.ok()) << shown.status();
    return shown.value_or("{}");
  }
  static Json Parsed(Arguments arguments, const std::string& format) {
    arguments.push_back(format);
    return Json::parse(Text(arguments));
  }
  static std::string Complaints(const Arguments& arguments) {
    return ComplaintsIn(ParsePlan(arguments));
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
  const Json plan = Parsed(kTimesTen, "--json");
  EXPECT_THAT(Numbers(plan, "attempt"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Numbers(plan, "delay_ms"), ElementsAre(1000, 10'000, 100'000, 500'000, 500'000));
  EXPECT_THAT(Numbers(plan, "elapsed_ms"), ElementsAre(1000, 11'000, 111'000, 611'000, 1'111'000));
  EXPECT_EQ(plan.at("delay_queues"), 4);
}

TEST_F(PlanTest, JsonHasTheFieldsOfTheDesignAndNoOthers) {
  EXPECT_EQ(Text({"--max-attempts", "2", "--json"}),
            R"({"attempts":[{"attempt":1,"delay_ms":1000,"queue":"retry.1000","expires_ms":121000,)"
            R"("elapsed_ms":1000}],"delay_queues":1})"
            "\n");
}

TEST_F(PlanTest, IsEmptyWhereNothingIsRetried) {
  const Json plan = Parsed({"--max-attempts", "1"}, "--json");
  EXPECT_THAT(plan.at("attempts"), IsEmpty());
  EXPECT_EQ(plan.at("delay_queues"), 0);
  EXPECT_THAT(Text({"--max-attempts", "1"}),
              HasSubstr("1 attempt within 0s, through 0 delay queues"));
}

TEST_F(PlanTest, EndsAtTheAge) {
  const Json plan = Parsed({"--base", "1m", "--factor", "1", "--max-age", "5m"}, "--json");
  EXPECT_THAT(Numbers(plan, "elapsed_ms"), ElementsAre(60'000, 120'000, 180'000, 240'000, 300'000));
}

TEST_F(PlanTest, WithoutALimitStopsWhereNothingChangesAnyMore) {
  const std::string text = Text({"--base", "1m", "--max", "4m", "--max-attempts", "0"});
  EXPECT_THAT(text, HasSubstr("retry.240000"));
  EXPECT_THAT(text, HasSubstr("..."));
  EXPECT_THAT(text, HasSubstr("no limit of attempts, through 3 delay queues"));
}

TEST_F(PlanTest, ATableSaysItAllInALine) {
  const std::string text = Text(kTimesTen);
  EXPECT_THAT(text, HasSubstr("      3         1m40s  retry.100000"));
  EXPECT_THAT(text, HasSubstr("6 attempts within 18m31s, through 4 delay queues\n"));
  EXPECT_THAT(text, Not(HasSubstr("Chance")));
}

TEST_F(PlanTest, ShowsTheRangeThatJitterLeavesOfEachDelay) {
  const Arguments arguments = {"--base", "10s", "--jitter", "0.25", "--max-attempts", "3"};
  const std::string text = Text(arguments);
  EXPECT_THAT(text, HasSubstr("      1  7s500ms..10s  retry.10000 "));
  EXPECT_THAT(text, HasSubstr("      2      15s..20s  retry.15000 +1 "));
  EXPECT_THAT(text, HasSubstr("Chance chooses each delay from its range"));
  const Json plan = Parsed(arguments, "--json");
  EXPECT_THAT(Numbers(plan, "delay_min_ms"), ElementsAre(7500, 15'000));
  EXPECT_THAT(Numbers(plan, "delay_ms"), ElementsAre(10'000, 20'000));
  EXPECT_THAT(Numbers(plan, "elapsed_ms"), ElementsAre(10'000, 30'000));
}

TEST_F(PlanTest, WithDecorrelatedJitterEachDelayIsUpToThreeTimesTheLongestBefore) {
  const Json plan =
      Parsed({"--base", "1s", "--max", "20s", "--jitter", "decorrelated", "--max-attempts", "5"},
             "--json");
  EXPECT_THAT(Numbers(plan, "delay_min_ms"), ElementsAre(1000, 1000, 1000, 1000));
  EXPECT_THAT(Numbers(plan, "delay_ms"), ElementsAre(3000, 9000, 20'000, 20'000));
}

TEST_F(PlanTest, DefinesTheWorkQueueIfAsked) {
  const Json definitions =
      Parsed({"--queue", "orders", "--delays", "1s", "--work-queue", "quorum"}, "--definitions");
  EXPECT_THAT(Names(definitions, "queues"), ElementsAre("retry.1000", "orders", "orders.parked"));
  EXPECT_EQ(definitions["queues"][1]["durable"], true);
  EXPECT_EQ(definitions["queues"][1]["arguments"], Json({{"x-queue-type", "quorum"}}));
  EXPECT_THAT(Complaints({"--definitions", "--work-queue", "quorum"}),
              HasSubstr("--work-queue: adds the --queue to the definitions"));
  EXPECT_THAT(Complaints({"--queue", "orders", "--work-queue", "quorum"}),
              HasSubstr("are for --definitions"));
}

TEST_F(PlanTest, WithJitterCountsAndDefinesTheQueuesThatAnyDelayGoesThrough) {
  const Arguments jitter = {"--jitter", "0.5", "--base", "1s", "--factor", "1"};
  const Json definitions = Parsed(jitter, "--definitions");
  EXPECT_THAT(Names(definitions, "queues"),
              ElementsAre("retry.1", "retry.20", "retry.50", "retry.100", "retry.200", "retry.300",
                          "retry.500", "retry.1000"));
  EXPECT_EQ(Parsed(jitter, "--json").at("delay_queues"), 8);
}

TEST_F(PlanTest, ShowsAndDefinesTheQueuesOfDelaysForWhichThereIsNoRoom) {
  const Arguments many = {"--backoff",          "linear", "--base", "1s", "--max-attempts", "100",
                          "--max-delay-queues", "16"};
  EXPECT_THAT(Names(Parsed(many, "--definitions"), "queues"),
              ElementsAre("retry.1", "retry.20", "retry.50", "retry.200", "retry.1000",
                          "retry.5000", "retry.15000", "retry.60000"));
  const Json plan = Parsed(many, "--json");
  EXPECT_EQ(plan.at("delay_queues"), 8);
  EXPECT_EQ(plan.at("attempts").at(1).at("delay_ms"), 2000);
  EXPECT_EQ(plan.at("attempts").at(1).at("queue"), "retry.1000");
  EXPECT_EQ(plan.at("attempts").at(1).at("expires_ms"), 121'000);
  const std::string text = Text(many);
  EXPECT_THAT(text, HasSubstr("      1            1s  retry.1000   "));
  EXPECT_THAT(text, HasSubstr("      2            2s  retry.1000 +1 "));
  EXPECT_THAT(text, HasSubstr("+ and through so many shorter ones"));
  EXPECT_THAT(Text(kTimesTen), Not(HasSubstr("shorter ones")));
}

TEST_F(PlanTest, ShowsTheHopsOfDelaysWithoutExactQueues) {
  const Arguments policy = {"--base",         "77s", "--factor",         "1",
                            "--max-attempts", "2",   "--no-exact-queues"};
  const Json plan = Parsed(policy, "--json");
  EXPECT_EQ(plan.at("attempts").at(0).at("queue"), "retry.60000");
  EXPECT_EQ(plan.at("attempts").at(0).at("hops"), 3);  // 60 s, 15 s, 2 s
  EXPECT_EQ(plan.at("delay_queues"), 33);
  EXPECT_THAT(Text(policy), HasSubstr("retry.60000 +2 "));
  // The grid has steps of all the number allows: 40 s is one.
  EXPECT_THAT(Text({"--base", "40s", "--max-attempts", "2", "--no-exact-queues"}),
              HasSubstr("retry.40000   "));
}

TEST_F(PlanTest, DefinesTheQueuesOfDelaysThatHandlersChooseIfItShall) {
  const Json few = Parsed({"--max-attempts", "2"}, "--definitions");
  const Json all = Parsed({"--max-attempts", "2", "--any-delay"}, "--definitions");
  EXPECT_EQ(Names(few, "queues").size(), 1U);
  EXPECT_EQ(Names(all, "queues").size(), 32U);
  EXPECT_EQ(Names(all, "queues").back(), "retry.2592000000");
}

TEST_F(PlanTest, NamesTheQueuesThatQuorumRotatesThrough) {
  const Json plan = Parsed({"--queue-type", "quorum", "--max-attempts", "2"}, "--json");
  EXPECT_EQ(plan.at("attempts").at(0).at("queue"), "retry.1000.QUEUE.q0-q3");
  EXPECT_EQ(plan.at("attempts").at(0).at("expires_ms"), 2 * 86'401'000);
}

TEST_F(PlanTest, NamesTheWorkQueueThatQuorumQueuesBelongTo) {
  const auto queue = [](Arguments more) {
    more.insert(more.end(), {"--queue-type", "quorum", "--max-attempts", "2"});
    return Parsed(more, "--json").at("attempts").at(0).at("queue");
  };
  EXPECT_EQ(queue({"--queue", "orders"}), "retry.1000.orders.q0-q3");
  EXPECT_EQ(queue({"--queue", "orders", "--share-delay-queues"}), "retry.1000.q0-q3");
  EXPECT_EQ(queue({"--queue", "orders", "--no-declare"}), "retry.1000.orders.q");
  EXPECT_THAT(Text({"--queue-type", "quorum", "--max-attempts", "3"}),
              HasSubstr("2 delay queues of each work queue, up to three of each at a time"));
  EXPECT_THAT(Text({"--max-attempts", "3", "--queue", "orders"}), HasSubstr("  retry.1000   "));
}

TEST_F(PlanTest, DefinitionsHoldQueuesThatNeverExpire) {
  const Json definitions = Parsed(kTimesTen, "--definitions");
  EXPECT_THAT(Names(definitions, "queues"),
              ElementsAre("retry.1000", "retry.10000", "retry.100000", "retry.500000"));
  EXPECT_EQ(Names(definitions, "exchanges"), Names(definitions, "queues"));
  EXPECT_THAT(definitions.at("bindings"), SizeIs(4));
  const Json& queue = definitions.at("queues").at(1);
  EXPECT_EQ(queue.at("vhost"), "/");
  EXPECT_EQ(queue.at("durable"), true);
  EXPECT_EQ(queue.at("arguments"), (Json{{"x-queue-type", "classic"},
                                         {"x-message-ttl", 10'000},
                                         {"x-dead-letter-exchange", ""}}));
  EXPECT_EQ(definitions.at("exchanges").at(1).at("type"), "fanout");
  EXPECT_EQ(definitions.at("exchanges").at(1).at("auto_delete"), false);
  EXPECT_EQ(definitions.at("bindings").at(1).at("source"), "retry.10000");
  EXPECT_EQ(definitions.at("bindings").at(1).at("destination"), "retry.10000");
}

TEST_F(PlanTest, WarnsOfMoreQuorumQueuesThanABrokerBearsEasily) {
  std::string delays = "1s";
  for (int seconds = 2; seconds <= 400; ++seconds) delays += "," + std::to_string(seconds) + "s";
  const Arguments many = {"--queue-type", "quorum", "--max-delay-queues", "400",
                          "--delays",     delays,   "--max-attempts",     "401"};
  EXPECT_THAT(Text(many), HasSubstr("warning: up to 1122 quorum queues for each work queue: "));
  EXPECT_THAT(Text(many), HasSubstr("remedy: share them among work queues"));
  const Json warnings = Parsed(many, "--json").at("warnings");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0].get<std::string>(), HasSubstr("--max-delay-queues"));

  Arguments classic = many;
  classic[1] = "classic";
  EXPECT_THAT(Text(classic), Not(HasSubstr("warning")));
  EXPECT_FALSE(Parsed(classic, "--json").contains("warnings"));
  const std::string few = Text({"--queue-type", "quorum", "--delays", "1s,2s,3s,4s"});
  EXPECT_THAT(few, Not(HasSubstr("warning")));
  EXPECT_THAT(few, HasSubstr("More than 83 such work queues have more than 1000 quorum queues"));
  EXPECT_THAT(Text({"--queue-type", "quorum", "--share-delay-queues"}),
              Not(HasSubstr("work queues have more")));
}

TEST_F(PlanTest, DefinitionsOfQuorumQueuesAreThoseOfOneWorkQueueUnlessTheyAreShared) {
  EXPECT_THAT(Complaints({"--definitions", "--queue-type", "quorum"}),
              HasSubstr("--queue: is missing, as quorum delay queues belong to one work queue"));
  const Json shared = Parsed(
      {"--queue-type", "quorum", "--share-delay-queues", "--max-attempts", "2"}, "--definitions");
  EXPECT_THAT(Names(shared, "queues"), ElementsAre("retry.1000"));
}

TEST_F(PlanTest, DefinitionsOfQuorumQueuesDoNotRotateAndKeepWhatTheyDeadLetter) {
  const Json definitions = Parsed(
      {"--queue-type", "quorum", "--max-attempts", "2", "--queue", "orders"}, "--definitions");
  EXPECT_THAT(Names(definitions, "queues"), ElementsAre("retry.1000.orders.q", "orders.parked"));
  const Json& arguments = definitions.at("queues").at(0).at("arguments");
  EXPECT_EQ(arguments.at("x-dead-letter-strategy"), "at-least-once");
  EXPECT_EQ(arguments.at("x-overflow"), "reject-publish");
  EXPECT_FALSE(arguments.contains("x-expires"));
  EXPECT_EQ(definitions.at("queues").at(1).at("arguments").at("x-queue-type"), "quorum");
}

TEST_F(PlanTest, DefinitionsForANamedExchangeHaveAQueueForThoseWhoDidNotComeThroughIt) {
  const Json definitions = Parsed({"--max-attempts", "2", "--work-exchange", "work", "--prefix",
                                   "p", "--url", "amqp://localhost/shop"},
                                  "--definitions");
  EXPECT_THAT(Names(definitions, "queues"), ElementsAre("p.1000", "p.1000.direct"));
  EXPECT_EQ(definitions.at("queues").at(0).at("arguments").at("x-dead-letter-exchange"), "work");
  EXPECT_EQ(definitions.at("queues").at(1).at("arguments").at("x-dead-letter-exchange"), "");
  EXPECT_EQ(definitions.at("queues").at(0).at("vhost"), "shop");
}

TEST_F(PlanTest, SimulatesAnOutageForPeople) {
  const std::string text =
      Shown({"--max-attempts", "3", "--simulate", "outage=1m,rate=10/s,capacity=30/s"});
  EXPECT_THAT(text, HasSubstr("An outage of 1m, 6s after the beginning; 10 messages/s; "
                              "at most 30 calls/s taken\n"));
  EXPECT_THAT(text, HasSubstr("\nCalls/s"));
  EXPECT_THAT(text, HasSubstr("\nMessages waiting\n"));
  EXPECT_THAT(text, HasSubstr("\nMessages parked so far\n"));
  EXPECT_THAT(text, HasSubstr("= outage ="));
  EXPECT_THAT(text, HasSubstr("\nrecovered       "));
  EXPECT_THAT(text, HasSubstr(" + parked 570 + still waiting "));
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), absl::ascii_isascii)) << "no locale says more";
}

TEST_F(PlanTest, SimulatesNoRecoveryAndSaysWhy) {
  EXPECT_THAT(
      Shown({"--base", "1s", "--max", "2s", "--simulate", "outage=10s,rate=10/s,capacity=9/s"}),
      HasSubstr("recovered       not within 2m44s after the outage's end: the capacity "
                "must be above the rate\n"));
}

TEST_F(PlanTest, ASimulationInJsonHasAllNumbersBesideThePlan) {
  const Json all =
      Json::parse(Shown({"--max-attempts", "3", "--json", "--simulate", "outage=1m,rate=10/s"}));
  EXPECT_EQ(all.at("delay_queues"), 2);
  EXPECT_THAT(all.at("attempts"), SizeIs(2));
  const Json& simulation = all.at("simulation");
  EXPECT_EQ(simulation.at("outage_begin_ms"), 6000);
  EXPECT_EQ(simulation.at("outage_end_ms"), 66'000);
  EXPECT_EQ(simulation.at("parked"), 570);
  EXPECT_EQ(simulation.at("recovery_ms"), 1900);
  EXPECT_EQ(simulation.at("capacity_per_second"), nullptr);
  EXPECT_EQ(simulation.at("samples").at(7).at("calls"), 20);
  EXPECT_EQ(simulation.at("samples").at(7).at("failures"), 20);
  EXPECT_EQ(simulation.at("arrived"), simulation.at("handled").get<int>() + 570);
}

TEST_F(PlanTest, ShowsWhatACircuitBreakerChangesInAnOutage) {
  const Arguments outage = {"--max-attempts", "3", "--simulate", "outage=1m,rate=10/s",
                            "--breaker"};
  const std::string text = Shown(outage);
  EXPECT_THAT(text,
              HasSubstr("With a circuit breaker that opens when 0.5 of 20 calls have failed, for "
                        "30s, and closes after 3 successes:\n"));
  EXPECT_THAT(text, HasSubstr("\nparked                                570            0\n"));
  EXPECT_THAT(Text({"--max-attempts", "3"}), Not(HasSubstr("breaker")));

  Arguments as_json = outage;
  as_json.insert(as_json.end(), {"--breaker-pause", "20s", "--json"});
  const Json simulation = Json::parse(Shown(as_json)).at("simulation");
  EXPECT_EQ(simulation.at("parked"), 570);
  EXPECT_FALSE(simulation.contains("breaker"));
  const Json& with = simulation.at("with_breaker");
  EXPECT_EQ(with.at("parked"), 0);
  EXPECT_LT(with.at("failures"), 20);
  EXPECT_EQ(with.at("breaker").at("pause_ms"), 20'000);
}

TEST_F(PlanTest, ComplainsOfABreakerWithoutAnOutage) {
  EXPECT_THAT(Complaints({"--breaker"}), HasSubstr("--breaker: is for --simulate"));
  EXPECT_THAT(Complaints({"--breaker-calls", "5"}), HasSubstr("--breaker-calls: is for --breaker"));
}

TEST_F(PlanTest, DrawsTheDelaysOrTheOutageToAFile) {
  const testing::TemporaryDirectory files;
  const std::string table = Shown({"--max-attempts", "3", "--svg", files.File("delays.svg")});
  EXPECT_EQ(table, Text({"--max-attempts", "3"})) << "it is printed all the same";
  EXPECT_TRUE(testing::IsWellFormed(files.Read("delays.svg")));
  EXPECT_THAT(files.Read("delays.svg"), HasSubstr("2 delays of a message that always fails"));
  files.Write("outage.svg", std::string(1'000'000, 'x'));
  Shown({"--svg", files.File("outage.svg"), "--simulate", "outage=1m,rate=10/s"});
  EXPECT_TRUE(testing::IsWellFormed(files.Read("outage.svg"))) << "it takes the old one's place";
  EXPECT_THAT(files.Read("outage.svg"), HasSubstr("An outage of 1m"));
}

TEST_F(PlanTest, SaysWhyAnImageCannotBeWritten) {
  const auto parsed = ParsePlan({"--svg", "/no/such/directory/a.svg"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const auto shown = ShowPlan(std::get<PlanOptions>(*parsed));
  EXPECT_EQ(shown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(shown.status().message()),
              HasSubstr("--svg '/no/such/directory/a.svg': cannot be written: No such file"));
}

TEST_F(PlanTest, SaysWhatIsTooLargeToSimulate) {
  const auto parsed = ParsePlan({"--simulate", "outage=1h,rate=100000/s"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const auto shown = ShowPlan(std::get<PlanOptions>(*parsed));
  EXPECT_EQ(shown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(shown.status().message()), HasSubstr("--simulate: more than 5000000"));
}

TEST_F(PlanTest, ComplainsOfWhatGoesNotWithDefinitions) {
  EXPECT_THAT(Complaints({"--definitions", "--simulate", "outage=1m,rate=1/s"}),
              HasSubstr("--simulate and --svg: are not for --definitions"));
  EXPECT_THAT(Complaints({"--definitions", "--svg", "a.svg"}), HasSubstr("--svg"));
}

TEST_F(PlanTest, ComplainsOfAllThatIsWrong) {
  const std::string complaints = Complaints({"--base", "0s", "--prefix", "", "--any-delay"});
  EXPECT_THAT(complaints, HasSubstr("--base"));
  EXPECT_THAT(complaints, HasSubstr("--prefix"));
  EXPECT_THAT(complaints, HasSubstr("--definitions"));
  EXPECT_THAT(Complaints({"--json", "--definitions"}), HasSubstr("--json"));
  EXPECT_THAT(Complaints({"--max", "4000d"}), HasSubstr("--max"));
}

}  // namespace plan_test
}  // namespace retryq::cli
