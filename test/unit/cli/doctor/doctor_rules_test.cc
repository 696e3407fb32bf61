#include "cli/doctor/doctor_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "cli/doctor/doctor_command.h"
#include "cli/management/management_answer.h"
#include "cli/worker/work_command.h"
#include "retryq/delay_grid.h"
#include "retryq/delay_queue_declaration.h"
#include "support/temporary_directory.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace doctor_rules_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using Result = Finding::Result;

class DoctorRules : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("RETRYQ_URL");
    ::unsetenv("RETRYQ_MANAGEMENT_URL");
  }

  static DoctorOptions Options(const Arguments& arguments = {}) {
    return OptionsIn(ParseDoctor(arguments));
  }

  static Finding Clock(absl::Duration difference, const DelayQueueOptions& options = {}) {
    return CheckClock(
        ManagementApi::ClockDifference{.difference = difference, .error = absl::Milliseconds(600)},
        options);
  }

  // As the management API shows a queue that such a client has declared.
  static Json Declared(absl::Duration delay, const DoctorOptions& options,
                       const DelayTarget& target = {}) {
    const DeclareParams params = DelayQueueDeclaration(delay, target, options.delay_queues);
    Json arguments = Json::object();
    for (const auto& [name, value] : params.queue.arguments.fields()) {
      if (const auto* number = std::get_if<std::int64_t>(&value.variant)) {
        arguments[name] = *number;
      } else {
        arguments[name] = std::get<std::string>(value.variant);
      }
    }
    return {{"name", params.queue.name}, {"arguments", arguments}};
  }
  static std::string Said(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) text += TextOf(finding);
    return text;
  }

  static Json Policies(const std::string& name, const Json& definition) {
    return Json::array({{{"name", name}, {"pattern", "^retry"}, {"definition", definition}}});
  }
  static Json Under(const std::string& policy, const Json& definition) {
    return {{"name", "retry.1000"},
            {"policy", policy},
            {"operator_policy", nullptr},
            {"effective_policy_definition", definition}};
  }

  const Json none_ = Json::array();
};

TEST_F(DoctorRules, KnowVersions) {
  for (const char* version : {"3.10.8", "3.13.7", "4.0.5", "4.3.3", "4.3.6+dirty", "10.0"}) {
    EXPECT_EQ(CheckVersion(version, QueueType::kQuorum).result, Result::kOk) << version;
  }
  for (const char* version : {"3.9.29", "2.8.7", "", "unknown", "4"}) {
    EXPECT_EQ(CheckVersion(version, QueueType::kClassic).result, Result::kWarning) << version;
    EXPECT_THAT(CheckVersion(version, QueueType::kClassic).remedy, HasSubstr("3.10"));
  }
  for (const char* version : {"4.3.0", "4.3.1", "4.3.2", "4.3.2-rc.1"}) {
    EXPECT_EQ(CheckVersion(version, QueueType::kClassic).result, Result::kOk) << version;
    EXPECT_EQ(CheckVersion(version, QueueType::kQuorum).result, Result::kWarning) << version;
    EXPECT_THAT(CheckVersion(version, QueueType::kQuorum).remedy, HasSubstr("4.3.3"));
  }
}

TEST_F(DoctorRules, WantTlsBeyondThisMachine) {
  amqp::ConnectionOptions connection;
  EXPECT_EQ(CheckTls(connection).result, Result::kOk);
  connection.endpoints = {{.host = "127.0.0.2"}, {.host = "::1"}};
  EXPECT_EQ(CheckTls(connection).result, Result::kOk);
  connection.endpoints.push_back({.host = "rabbit.example"});
  EXPECT_EQ(CheckTls(connection).result, Result::kWarning);
  EXPECT_THAT(CheckTls(connection).finding, HasSubstr("'rabbit.example'"));
  connection.tls = amqp::TlsOptions{};
  EXPECT_EQ(CheckTls(connection).result, Result::kOk);
  connection.tls->verify_peer = false;
  EXPECT_EQ(CheckTls(connection).result, Result::kWarning);
}

TEST_F(DoctorRules, CompareClocksNoFinerThanTheyAreKnown) {
  EXPECT_EQ(Clock(absl::Milliseconds(-500)).result, Result::kOk);
  EXPECT_THAT(Clock(absl::Milliseconds(-500)).finding, HasSubstr("is the same"));
  EXPECT_EQ(Clock(absl::Milliseconds(1600)).result, Result::kOk);
  EXPECT_EQ(Clock(absl::Milliseconds(1601)).result, Result::kWarning);
  EXPECT_THAT(Clock(absl::Seconds(-90)).finding, HasSubstr("1m30s behind"));
  EXPECT_EQ(Clock(absl::Hours(100)).result, Result::kWarning);
  const DelayQueueOptions quorum{.queue_type = QueueType::kQuorum, .outage = absl::Minutes(5)};
  EXPECT_EQ(Clock(absl::Minutes(4), quorum).result, Result::kWarning);
  EXPECT_EQ(Clock(absl::Minutes(-5), quorum).result, Result::kProblem);
  EXPECT_EQ(CheckClock(std::nullopt, {}).result, Result::kSkipped);
}

TEST_F(DoctorRules, KnowAnAlarm) {
  ManagementApi::Answer health{.http_status = 200, .json = {{"status", "ok"}}};
  EXPECT_EQ(CheckAlarms(health).result, Result::kOk);
  health = {
      .http_status = 503,
      .json = {{"status", "failed"}, {"alarms", {{{"node", "rabbit@a"}, {"resource", "memory"}}}}}};
  EXPECT_EQ(CheckAlarms(health).result, Result::kProblem);
  EXPECT_THAT(CheckAlarms(health).finding, HasSubstr("memory on rabbit@a"));
  for (const Json& json :
       {Json(), Json(7), Json({{"alarms", 7}}), Json({{"alarms", {1, {{"node", 7}}}}})}) {
    health.json = json;
    EXPECT_EQ(CheckAlarms(health).result, Result::kProblem) << json;
  }
}

TEST_F(DoctorRules, KnowCertificatesThatExpireSoon) {
  ManagementApi::Answer health{.http_status = 200, .json = {{"status", "ok"}}};
  EXPECT_EQ(CheckCertificates(health).result, Result::kOk);
  health = {.http_status = 503,
            .json = {{"status", "failed"}, {"reason", "Certificates expiring"}}};
  EXPECT_EQ(CheckCertificates(health).result, Result::kWarning);
}

TEST_F(DoctorRules, KnowWhatTheDefaultQueueTypeIs) {
  const auto of_type = [](const Json& type) {
    return CheckDefaultQueueType(
        Json::array({{{"name", "other"}}, {{"name", "/"}, {"default_queue_type", type}}}), "/");
  };
  EXPECT_THAT(of_type("undefined").finding, HasSubstr("classic;"));
  EXPECT_THAT(of_type("quorum").finding, HasSubstr("quorum;"));
  EXPECT_EQ(of_type("quorum").result, Result::kOk);
  EXPECT_EQ(of_type("stream").result, Result::kWarning);
  EXPECT_EQ(of_type(7).result, Result::kOk);
  for (const Json& json : {Json(), Json({{"name", "/"}}), Json::array({1, "x"})}) {
    EXPECT_EQ(CheckDefaultQueueType(json, "/").result, Result::kSkipped) << json;
  }
}

TEST_F(DoctorRules, MindOnlyWhatChangesDelayQueues) {
  const DoctorOptions options = Options({"--max", "10m"});
  EXPECT_EQ(CheckPolicies(none_, none_, {}, options).result, Result::kOk);
  for (const Json& harmless :
       {Json::object(), Json({{"message-ttl", 600'000}}), Json({{"expires", 100'000'000}}),
        Json({{"dead-letter-exchange", "dlx"}, {"ha-mode", "all"}, {"delivery-limit", 1}}),
        Json({{"message-ttl", "500"}}), Json(7)}) {
    EXPECT_FALSE(MayHurt(Policies("p", harmless), options)) << harmless;
  }
  for (const Json& harmful : {Json({{"message-ttl", 599'999}}), Json({{"expires", 1'259'999}}),
                              Json({{"max-length", 10}}), Json({{"max-length-bytes", 10}}),
                              Json({{"dead-letter-routing-key", "dead"}})}) {
    EXPECT_TRUE(MayHurt(Policies("p", harmful), options)) << harmful;
    const Finding finding =
        CheckPolicies(Policies("p", harmful), none_, {Under("p", harmful)}, options);
    EXPECT_EQ(finding.result, Result::kProblem) << harmful;
    EXPECT_THAT(finding.finding,
                HasSubstr("policy 'p' gives delay queues " + harmful.items().begin().key()));
    EXPECT_THAT(finding.remedy, HasSubstr("rabbitmqctl set_policy -p '/' "));
    EXPECT_THAT(finding.remedy, HasSubstr("'^(?!(?:retry[.])).*(?:^retry)'"));
    EXPECT_EQ(CheckPolicies(none_, Policies("p", harmful), {Under("p", harmful)}, options).result,
              Result::kProblem);
    // It is there, and does not apply; or nobody knows.
    EXPECT_EQ(
        CheckPolicies(Policies("p", harmful), none_, {Under("q", Json::object())}, options).result,
        Result::kOk);
    EXPECT_EQ(CheckPolicies(Policies("p", harmful), none_, {Under("q", nullptr)}, options).result,
              Result::kWarning);
    EXPECT_EQ(CheckPolicies(Policies("p", harmful), none_, {}, options).result, Result::kWarning);
  }
}

TEST_F(DoctorRules, NameThePoliciesOfWhichOneDropsQueues) {
  const Finding finding = PolicyThatDropsQueues(Policies("a", {{"expires", 300}}),
                                                Policies("b", {{"expires", 400}}), Options());
  EXPECT_EQ(finding.result, Result::kProblem);
  EXPECT_THAT(finding.finding, HasSubstr("'expires' in one of: 'a', 'b'"));
  EXPECT_THAT(finding.remedy, HasSubstr("list_operator_policies -p '/'"));
}

TEST_F(DoctorRules, MindOnlyLimitsBelowTheConfiguredOne) {
  const DoctorOptions options = Options({"--max-length", "10"});
  EXPECT_FALSE(MayHurt(Policies("p", {{"max-length", 10}}), options));
  EXPECT_TRUE(MayHurt(Policies("p", {{"max-length", 9}}), options));
}

TEST_F(DoctorRules, TakeWhateverPoliciesThereAre) {
  for (const Json& json : {Json(), Json(7), Json::array({1, nullptr, {{"definition", 7}}}),
                           Json::array({{{"definition", {{"max-length", 1}}}, {"name", 7}}})}) {
    CheckPolicies(json, json, {json, Under("x", json)}, Options());
  }
}

TEST_F(DoctorRules, KnowTheirOwnDelayQueues) {
  for (const Arguments& arguments :
       {Arguments{}, Arguments{"--queue-type", "quorum"}, Arguments{"--max-length", "5"},
        Arguments{"--work-exchange", "work"}, Arguments{"--prefix", "x", "--margin", "5m"}}) {
    const DoctorOptions options = Options(arguments);
    std::vector<Json> queues = {
        Declared(absl::Seconds(1), options,
                 {.dead_letter_exchange = options.work_exchange, .work_queue = "orders"}),
        Declared(absl::Seconds(2), options, {.direct = true, .work_queue = "orders"})};
    const std::vector<Finding> findings = CheckDelayQueues(queues, options);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].result, Result::kOk) << Said(findings);
    EXPECT_THAT(findings[0].finding, HasSubstr("2, as these options"));
  }
  EXPECT_THAT(Said(CheckDelayQueues({}, Options())), HasSubstr("nothing has failed lately"));
}

TEST_F(DoctorRules, KnowTheQuorumDelayQueuesOfEachWorkQueue) {
  const DoctorOptions options = Options({"--queue-type", "quorum", "--queue", "orders"});
  const Json own = Declared(absl::Seconds(1), options, {.work_queue = "orders"});
  const Json others = Declared(absl::Seconds(1), options,
                               {.dead_letter_exchange = "somewhere", .work_queue = "invoices"});
  EXPECT_EQ(own.at("name"), "retry.1000.orders.q0");
  EXPECT_THAT(Said(CheckDelayQueues({own, others}, options)), HasSubstr("2, as these options"));

  // Its own are compared.
  const Json different = Declared(absl::Seconds(1), options,
                                  {.dead_letter_exchange = "somewhere", .work_queue = "orders"});
  EXPECT_THAT(Said(CheckDelayQueues({different}, options)),
              HasSubstr("retry.1000.orders.q0 (x-dead-letter-exchange is"));

  // What an older client has left.
  const DoctorOptions sharing =
      Options({"--queue-type", "quorum", "--queue", "orders", "--share-delay-queues"});
  const Json shared = Declared(absl::Seconds(1), sharing, {.work_queue = "orders"});
  const std::string said = Said(CheckDelayQueues({own, shared}, options));
  EXPECT_THAT(said, HasSubstr("shared among work queues, by older clients"));
  EXPECT_THAT(said, HasSubstr("retry.1000.q0"));
  EXPECT_THAT(said, Not(HasSubstr("warning")));
  EXPECT_THAT(Said(CheckDelayQueues({shared}, sharing)), HasSubstr("1, as these options"));

  // Beside classic ones they are others, imported ones too.
  const Json imported = Declared(
      absl::Seconds(1), Options({"--queue-type", "quorum", "--queue", "orders", "--no-declare"}),
      {.work_queue = "orders"});
  EXPECT_EQ(imported.at("name"), "retry.1000.orders.q");
  EXPECT_THAT(Said(CheckDelayQueues({own, imported}, Options())), Not(HasSubstr("warning")));
}

TEST_F(DoctorRules, SeeMessagesThatNoQueueTakes) {
  const DoctorOptions options = Options({"--queue-type", "quorum"});
  Json queue = Declared(absl::Seconds(1), options, {.work_queue = "orders"});
  queue["messages_dlx"] = 40;
  const std::vector<Finding> findings = CheckDelayQueues({queue}, options);
  EXPECT_EQ(findings.front().result, Result::kWarning);
  EXPECT_THAT(Said(findings), HasSubstr("retry.1000.orders.q0 (40)"));
}

TEST_F(DoctorRules, CountTheDelaysOfEachWorkQueue) {
  const DoctorOptions options = Options({"--queue-type", "quorum", "--max-delay-queues", "16"});
  std::vector<Json> queues;
  for (int seconds = 1; seconds <= 16; ++seconds) {
    for (const std::string work_queue : {"orders", "invoices"}) {
      const absl::Duration delay = absl::Seconds(seconds + (work_queue == "orders" ? 0 : 20));
      queues.push_back(Declared(delay, options, {.work_queue = work_queue}));
    }
  }
  EXPECT_THAT(Said(CheckDelayQueues(queues, options)), Not(HasSubstr("warning")));
  queues.push_back(Declared(absl::Seconds(17), options, {.work_queue = "orders"}));
  EXPECT_THAT(Said(CheckDelayQueues(queues, options)),
              HasSubstr("17 delays with queues of one work queue, more than the 16"));
}

TEST_F(DoctorRules, MindMoreQuorumQueuesThanABrokerBearsEasily) {
  DoctorOptions options = Options({"--queue-type", "quorum"});
  std::vector<Json> queues;
  for (int i = 0; i < 1000; ++i) {
    queues.push_back(
        Declared(absl::Seconds(1), options, {.work_queue = "orders." + std::to_string(i)}));
  }
  // Classic ones cost less.
  queues.push_back(Declared(absl::Seconds(1), Options(), {}));
  EXPECT_THAT(Said(CheckDelayQueues(queues, options)), Not(HasSubstr("warning")));
  queues.push_back(Declared(absl::Seconds(2), options, {.work_queue = "orders"}));
  const std::string said = Said(CheckDelayQueues(queues, options));
  EXPECT_THAT(said, HasSubstr("there are 1001 quorum delay queues of this prefix"));
  EXPECT_THAT(said, HasSubstr("--share-delay-queues"));
  // Whatever the worker itself would declare.
  EXPECT_THAT(Said(CheckDelayQueues(queues, Options())), HasSubstr("there are 1001 quorum"));
  options.delay_queues.share = true;
  EXPECT_THAT(Said(CheckDelayQueues(queues, options)), Not(HasSubstr("--share-delay-queues;")));
}

TEST_F(DoctorRules, NeedTheWorkQueueToLookForItsQuorumDelayQueues) {
  const Arguments arguments = {"--queue-type",   "quorum", "--no-declare", "--delays", "1s",
                               "--max-attempts", "2"};
  EXPECT_EQ(CheckDelayQueues({}, Options(arguments)).front().result, Result::kSkipped);
  Arguments named = arguments;
  named.insert(named.end(), {"--queue", "orders"});
  const DoctorOptions options = Options(named);
  EXPECT_THAT(Said(CheckDelayQueues({}, options)), HasSubstr("missing: retry.1000.orders.q\n"));
  const Json there = Declared(absl::Seconds(1), options, {.work_queue = "orders"});
  EXPECT_EQ(CheckDelayQueues({there}, options).front().result, Result::kOk);
}

TEST_F(DoctorRules, SeeDelayQueuesOfOtherOptions) {
  const DoctorOptions options = Options();
  const Json wider = Declared(absl::Seconds(1), Options({"--margin", "5m"}));
  const std::string said = Said(CheckDelayQueues({wider}, options));
  EXPECT_THAT(said, HasSubstr("warning"));
  EXPECT_THAT(said, HasSubstr("retry.1000 (x-expires is 361000 and not 121000)"));
  EXPECT_THAT(said, HasSubstr("remedy"));

  Json bad = Declared(absl::Seconds(1), options);
  bad["arguments"].erase("x-queue-type");
  bad["arguments"]["x-max-priority"] = 5;
  bad["arguments"]["x-message-ttl"] = "1000";
  EXPECT_THAT(Said(CheckDelayQueues({bad}, options)),
              HasSubstr("retry.1000 (x-queue-type is not set and not \"classic\", x-message-ttl is "
                        "\"1000\" and not 1000, x-max-priority is set)"));
  bad["arguments"] = 7;
  EXPECT_THAT(Said(CheckDelayQueues({bad}, options)), HasSubstr("warning"));

  Json hashed = Declared(absl::Seconds(1), options);
  hashed["name"] = "retry.1000.5e4c91aa";
  EXPECT_THAT(Said(CheckDelayQueues({hashed}, options)), HasSubstr("retry.1000.5e4c91aa"));
  // Beside classic ones those of quorum are others.
  EXPECT_THAT(Said(CheckDelayQueues(
                  {Declared(absl::Seconds(1), Options({"--queue-type", "quorum"}))}, options)),
              Not(HasSubstr("warning")));
}

TEST_F(DoctorRules, CountDelaysThatHaveMoreQueuesThanThereShouldBe) {
  const DoctorOptions options = Options({"--max-delay-queues", "16"});
  std::vector<Json> queues;
  for (int seconds = 1; seconds <= 16; ++seconds) {
    queues.push_back(Declared(absl::Seconds(seconds), options));
    // Those of another kind count by themselves.
    queues.push_back(Declared(absl::Seconds(seconds + 20), options, {.direct = true}));
  }
  EXPECT_THAT(Said(CheckDelayQueues(queues, options)), Not(HasSubstr("warning")));
  queues.push_back(Declared(absl::Seconds(17), options));
  const std::vector<Finding> findings = CheckDelayQueues(queues, options);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].result, Result::kWarning);
  EXPECT_THAT(findings[0].finding, HasSubstr("17 delays with queues, more than the 16"));
  EXPECT_THAT(findings[0].remedy, HasSubstr("or --no-exact-queues"));
  EXPECT_THAT(
      Said(CheckDelayQueues(queues, Options({"--max-delay-queues", "16", "--no-exact-queues"}))),
      HasSubstr("some clients of this prefix do not say --no-exact-queues"));
}

TEST_F(DoctorRules, MissTheStepsOfHopsWhereNobodyWouldDeclareThem) {
  const DoctorOptions options =
      Options({"--no-declare", "--no-exact-queues", "--delays", "77s", "--max-attempts", "2"});
  std::vector<Json> queues;
  const DelayGrid grid(64, /*exact_queues=*/false);
  for (const absl::Duration step : grid.steps()) {
    if (step < absl::Seconds(77) && step != absl::Seconds(15)) {
      queues.push_back(Declared(step, options));
    }
  }
  EXPECT_THAT(Said(CheckDelayQueues(queues, options)), HasSubstr("missing: retry.15000\n"));
  queues.push_back(Declared(absl::Seconds(15), options));
  EXPECT_EQ(CheckDelayQueues(queues, options).front().result, Result::kOk);
}

TEST_F(DoctorRules, MissQueuesThatNobodyWouldDeclare) {
  const DoctorOptions options =
      Options({"--no-declare", "--delays", "1s,10s", "--max-attempts", "3"});
  const Json second = Declared(absl::Seconds(1), options);
  const Json ten = Declared(absl::Seconds(10), options);
  EXPECT_EQ(CheckDelayQueues({second, ten}, options).front().result, Result::kOk);
  const std::vector<Finding> missing = CheckDelayQueues({second}, options);
  EXPECT_EQ(missing.front().result, Result::kProblem);
  EXPECT_THAT(Said(missing), HasSubstr("missing: retry.10000\n"));
  Json leaving = ten;
  leaving["arguments"]["x-expires"] = 1000;
  EXPECT_THAT(Said(CheckDelayQueues({second, leaving}, options)), HasSubstr("x-expires"));
}

TEST_F(DoctorRules, NameARightForEachThingAWorkerDoes) {
  DoctorOptions options = Options({"--queue", "orders"});
  options.granted.emplace();
  EXPECT_EQ(GrantCommand(options),
            "rabbitmqctl set_permissions -p '/' 'guest' '^(retry[.].*|orders[.]parked)$' "
            "'^(retry[.].*|amq[.]default)$' '^(retry[.].*|orders)$'");
  options = Options({"--queue", "o'rders", "--work-exchange", "work", "--no-declare", "--prefix",
                     "a.b", "--url", "amqp://me@h/shop"});
  options.granted.emplace();
  EXPECT_EQ(GrantCommand(options),
            "rabbitmqctl set_permissions -p 'shop' 'me' '^$' "
            "'^(a[.]b[.].*|amq[.]default|work)$' '^(a[.]b[.].*|o'\\''rders)$'");
}

TEST_F(DoctorRules, TakeNoRightAway) {
  DoctorOptions options = Options({"--queue", "orders"});
  options.granted = {.configure = "^shop[.]", .write = ".*", .read = "^$"};
  const std::string command = GrantCommand(options);
  EXPECT_EQ(command,
            "rabbitmqctl set_permissions -p '/' 'guest' "
            "'^shop[.]|^(retry[.].*|orders[.]parked)$' '.*' '^(retry[.].*|orders)$'");
  // Granted once, it is the same again.
  options.granted = {.configure = "^shop[.]|^(retry[.].*|orders[.]parked)$",
                     .write = ".*",
                     .read = "^(retry[.].*|orders)$"};
  EXPECT_EQ(GrantCommand(options), command);
  // Nobody is left without what is not known.
  options.granted.reset();
  EXPECT_THAT(GrantCommand(options),
              ::testing::StartsWith("the user's present rights are not shown"));
  EXPECT_THAT(GrantCommand(options), HasSubstr("rabbitmqctl list_user_permissions 'guest'"));
}

TEST_F(DoctorRules, AreAskedWithTheFlagsOfAWorker) {
  const DoctorOptions options = Options({"--queue", "orders"});
  EXPECT_EQ(options.parked_queue, "orders.parked");
  EXPECT_EQ(Options({"--queue", "orders", "--parked", "p"}).parked_queue, "p");
  EXPECT_EQ(Options().parked_queue, "");
  const absl::Status status = ParseDoctor({"--parked", "p", "--margin", "1s"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--parked: is for --queue"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--margin"));
}

// From the table of flags itself, so that a new flag is tried too.
TEST_F(DoctorRules, TakeEveryFlagOfAWorkerWithTheSameMeaning) {
  const auto described = ParseWork({kDescribeFlags});
  ASSERT_TRUE(described.ok());
  const testing::TemporaryDirectory files;
  const std::string file = files.Write("url", "amqp://h");
  int tried = 0;
  for (const FlagDescription& flag : std::get<Answer>(*described).flags) {
    for (const std::string& name : flag.names) {
      if (name == "-h" || name == "--help" || name == "--version") continue;
      std::vector<std::string> values = ChoicesOf(flag);
      if (flag.value.empty()) {
        values = {""};
      } else {
        values.insert(values.end(),
                      {"1", "64", "90s", "0.5", "amqp://h", "http://h:1", "info", file, "", "?"});
      }
      bool is_taken = false;
      for (const std::string& value : values) {
        Arguments arguments = {name};
        if (name != "--queue") arguments.insert(arguments.begin(), {"--queue", "orders"});
        if (!flag.value.empty()) arguments.push_back(value);
        arguments.insert(arguments.end(), {"--", "true", "--nope"});
        const absl::Status doctor = ParseDoctor(arguments).status();
        EXPECT_EQ(doctor, ParseWork(arguments).status()) << name << " " << value;
        EXPECT_THAT(std::string(doctor.message()), Not(HasSubstr("there is no such flag")));
        is_taken = is_taken || doctor.ok() || absl::StrContains(doctor.message(), "is for ");
      }
      EXPECT_TRUE(is_taken) << name << ": no value here is one of its";
      ++tried;
    }
  }
  EXPECT_GT(tried, 40);
}

TEST_F(DoctorRules, MindClientsOfAmqp10) {
  DoctorOptions options;
  options.queue = "orders";
  options.place.connection.vhost = "shop";
  const auto check = [&](const char* vhost, const char* protocol) {
    return CheckAmqp10(Json::array({{{"vhost", vhost}, {"protocol", protocol}}}), options);
  };
  EXPECT_THAT(check("shop", "AMQP 0-9-1"), ::testing::IsEmpty());
  EXPECT_THAT(check("other", "AMQP 1-0"), ::testing::IsEmpty());
  const std::vector<Finding> findings = check("shop", "AMQP 1-0");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].result, Finding::Result::kWarning);
  EXPECT_THAT(findings[0].remedy, HasSubstr("'orders'"));
  EXPECT_THAT(CheckAmqp10({{"error", "no"}}, options), ::testing::IsEmpty());
}

TEST(DoctorReport, SaysAllAndCounts) {
  std::vector<std::string> told;
  Report report([&told](const Finding& finding) { told.push_back(TextOf(finding)); });
  report.Add(Ok("version", "RabbitMQ 3.10.8"));
  EXPECT_EQ(report.exit_code(), 0);
  report.Add(Warning("tls", "off", "use amqps://"));
  report.Add(Skipped("clock", "unknown", ""));
  EXPECT_EQ(report.exit_code(), 0);
  report.Add({Problem("alarms", "memory", "free some")});
  EXPECT_EQ(report.exit_code(), 69);
  report.Add(ProblemOf("connection", absl::UnauthenticatedError("refused; correct the password")));
  EXPECT_EQ(report.exit_code(), 77);
  EXPECT_THAT(told, ElementsAre("ok        version             RabbitMQ 3.10.8\n",
                                "warning   tls                 off\n"
                                "                              remedy: use amqps://\n",
                                "skipped   clock               unknown\n",
                                "problem   alarms              memory\n"
                                "                              remedy: free some\n",
                                "problem   connection          refused\n"
                                "                              remedy: correct the password\n"));
  EXPECT_EQ(report.Summary(), "2 problems, 1 warning, 1 ok, 1 skipped\n");
  const Json json = Json::parse(report.Json());
  EXPECT_EQ(json.at("checks").at(3), Json({{"check", "alarms"},
                                           {"result", "problem"},
                                           {"finding", "memory"},
                                           {"remedy", "free some"}}));
  report.Add(Ok("version", "\xff"));
  EXPECT_TRUE(Json::accept(report.Json()));
}

}  // namespace doctor_rules_test
}  // namespace retryq::cli
