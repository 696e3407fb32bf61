#include <nlohmann/json.hpp>

#include "cli/doctor/doctor_command.h"
#include "cli/worker/work_command.h"
#include "retryq/broker/delay_grid.h"
#include "retryq/broker/delay_queue_declaration.h"
#include "support/test.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli::doctor_rules_test {

using Json = nlohmann::json;
using Result = Finding::Result;

class DoctorRules : public FlagsTest {
 protected:
  static WorkOptions Options(const Arguments& arguments = {}) {
    return OptionsIn(ParseDoctor(arguments));
  }
};

TEST_F(DoctorRules, JudgeVersions) {
  for (const char* version : {"3.10.8", "3.13.7", "4.0.5", "4.3.3", "4.3.6+dirty", "10.0"}) {
    EXPECT_EQ(CheckVersion(version, QueueType::kQuorum).result, Result::kOk) << version;
  }
  for (const char* version : {"3.9.29", "2.8.7", "", "unknown"}) {
    EXPECT_EQ(CheckVersion(version, QueueType::kClassic).result, Result::kWarning) << version;
    EXPECT_THAT(CheckVersion(version, QueueType::kClassic).remedy, HasSubstr("3.10"));
  }
  for (const char* version : {"4.3.0", "4.3.1", "4.3.2", "4.3.2-rc.1"}) {
    EXPECT_EQ(CheckVersion(version, QueueType::kClassic).result, Result::kOk) << version;
    EXPECT_THAT(CheckVersion(version, QueueType::kQuorum).remedy, HasSubstr("4.3.3"));
  }
}

TEST_F(DoctorRules, RequireTlsToOtherMachines) {
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

TEST_F(DoctorRules, CompareClocksWithinTheirAccuracy) {
  const auto check = [](absl::Duration difference, const DelayQueueOptions& options = {}) {
    return CheckClock(
        ManagementApi::ClockDifference{.difference = difference, .error = absl::Milliseconds(600)},
        options);
  };
  EXPECT_THAT(check(absl::Milliseconds(-500)).finding, HasSubstr("the same time"));
  EXPECT_EQ(check(absl::Milliseconds(1600)).result, Result::kOk);
  EXPECT_EQ(check(absl::Milliseconds(1601)).result, Result::kWarning);
  EXPECT_THAT(check(absl::Seconds(-90)).finding, HasSubstr("1m30s behind"));
  EXPECT_EQ(check(absl::Hours(100)).result, Result::kWarning);
  const DelayQueueOptions quorum{.queue_type = QueueType::kQuorum, .outage = absl::Minutes(5)};
  EXPECT_EQ(check(absl::Minutes(4), quorum).result, Result::kWarning);
  EXPECT_EQ(check(absl::Minutes(-5), quorum).result, Result::kProblem);
  EXPECT_EQ(CheckClock(std::nullopt, {}).result, Result::kSkipped);
}

TEST_F(DoctorRules, ReadHealthChecks) {
  ManagementApi::Answer health{.http_status = 200, .json = {{"status", "ok"}}};
  EXPECT_EQ(CheckAlarms(health).result, Result::kOk);
  EXPECT_EQ(CheckCertificates(health).result, Result::kOk);
  health = {
      .http_status = 503,
      .json = {{"status", "failed"}, {"alarms", {{{"node", "rabbit@a"}, {"resource", "memory"}}}}}};
  EXPECT_EQ(CheckCertificates(health).result, Result::kWarning);
  EXPECT_EQ(CheckAlarms(health).result, Result::kProblem);
  EXPECT_THAT(CheckAlarms(health).finding, HasSubstr("memory on rabbit@a"));
  for (const Json& json :
       {Json(), Json(7), Json({{"alarms", 7}}), Json({{"alarms", {1, {{"node", 7}}}}})}) {
    health.json = json;
    EXPECT_EQ(CheckAlarms(health).result, Result::kProblem) << json;
  }
}

TEST_F(DoctorRules, ReportTheDefaultQueueType) {
  const auto of_type = [](const Json& type) {
    return CheckDefaultQueueType(
        Json::array({{{"name", "other"}}, {{"name", "/"}, {"default_queue_type", type}}}), "/");
  };
  EXPECT_THAT(of_type("undefined").finding, HasSubstr("classic;"));
  EXPECT_THAT(of_type("quorum").finding, HasSubstr("quorum;"));
  EXPECT_EQ(of_type("stream").result, Result::kWarning);
  EXPECT_EQ(of_type(7).result, Result::kOk);
  for (const Json& json : {Json(), Json({{"name", "/"}}), Json::array({1, "x"})}) {
    EXPECT_EQ(CheckDefaultQueueType(json, "/").result, Result::kSkipped) << json;
  }
}

TEST_F(DoctorRules, ReportClientsOfAmqp10AndShovels) {
  WorkOptions options;
  options.consumer.queue = "orders";
  const auto connection = [&](const char* vhost, const char* protocol) {
    return CheckAmqp10(Json::array({{{"vhost", vhost}, {"protocol", protocol}}}), options);
  };
  EXPECT_THAT(connection("/", "AMQP 0-9-1"), IsEmpty());
  EXPECT_THAT(connection("other", "AMQP 1-0"), IsEmpty());
  ASSERT_EQ(connection("/", "AMQP 1-0").size(), 1U);
  EXPECT_THAT(connection("/", "AMQP 1-0")[0].remedy, HasSubstr("'orders'"));
  EXPECT_THAT(CheckAmqp10({{"error", "no"}}, options), IsEmpty());

  const auto shovel = [&](const char* end, const char* object) {
    return CheckShovels(Json::array({{{"name", "s"}, {"value", {{end, object}}}}}), options);
  };
  for (const char* end : {"src-queue", "src-exchange", "dest-queue", "dest-exchange"}) {
    EXPECT_EQ(shovel(end, "retry.1000").size(), 1U) << end;
    EXPECT_THAT(shovel(end, "orders"), IsEmpty());
  }
  for (const Json& json : {Json(), Json::array({7, {{"value", 7}}})}) {
    EXPECT_THAT(CheckShovels(json, options), IsEmpty()) << json;
  }
}

class LimitRules : public ::testing::Test {
 protected:
  LimitRules() {
    options_.consumer.queue = "orders";
    options_.consumer.parked_queue = "orders.parked";
  }

  static Json Limits(const Json& value) { return Json::array({{{"value", value}}}); }
  // Connections of guest to the vhost /, with three channels each.
  static Json Connections(int count, const std::string& name = "worker") {
    Json connections = Json::array({{{"user", "x"}, {"vhost", "x"}, {"channels", 100}}});
    for (int i = 0; i < count; ++i) {
      connections.push_back({{"user", "guest"},
                             {"vhost", "/"},
                             {"channels", 3},
                             {"client_properties", {{"connection_name", name}}}});
    }
    return connections;
  }
  // "warning: remedy", or "".
  std::string Check(const Json& of_vhost, const Json& of_user, const Json& connections,
                    std::int64_t queues = 1, std::int64_t own = 0) {
    const Findings findings = CheckLimits({.of_vhost = of_vhost,
                                           .of_user = of_user,
                                           .connections = connections,
                                           .queues = queues,
                                           .own_queues = own},
                                          options_);
    if (findings.empty()) return "";
    EXPECT_EQ(findings.size(), 1U);
    return absl::StrCat(findings[0].result == Result::kProblem ? "problem: " : "warning: ",
                        findings[0].finding, "; ", findings[0].remedy);
  }

  WorkOptions options_;
};

TEST_F(LimitRules, CountTheQueuesThatAPolicyMayNeed) {
  const auto delays = static_cast<std::int64_t>(
      DelayQueueTtls(options_.consumer.retry, options_.place.client.delay_queues).size());
  EXPECT_EQ(MostQueuesOf(options_), delays + 1);
  options_.consumer.work_exchange = "shop";
  EXPECT_EQ(MostQueuesOf(options_), 2 * delays + 1);
  options_.place.client.delay_queues.queue_type = QueueType::kQuorum;
  EXPECT_EQ(MostQueuesOf(options_), 6 * delays + 1);
  options_.place.client.delay_queues.declare = false;
  EXPECT_EQ(MostQueuesOf(options_), 2 * delays + 1);
}

TEST_F(LimitRules, NeedRoomForTheQueuesAndChannelsOfAWorker) {
  const std::int64_t most = MostQueuesOf(options_);
  const auto check = [&](std::int64_t limit, std::int64_t queues, std::int64_t own = 0) {
    return Check(Limits({{"max-queues", limit}}), Json(), Json(), queues, own).substr(0, 7);
  };
  EXPECT_EQ(check(10 + most, 10), "");
  EXPECT_EQ(check(9 + most, 10), "warning");
  EXPECT_EQ(check(9 + most, 10, /*own=*/1), "");
  EXPECT_EQ(check(10, 10), "problem");
  EXPECT_EQ(check(-1, 1000), "");
  EXPECT_EQ(Check(Json(), Limits({{"max-channels", 10}}), Connections(2)),
            "warning: user 'guest' may have 10 channels and has 6; a worker needs up to 6 more; "
            "rabbitmqctl set_user_limits 'guest' '{\"max-channels\":66}'");
  EXPECT_EQ(Check(Json(), Limits({{"max-channels", 12}}), Connections(2)), "");
  EXPECT_EQ(Check(Json(), Limits({{"max-connections", 2}}), Connections(1, "retryq doctor")), "");
  for (const Json& json :
       {Json(7), Json::array({7}), Json::array({{{"value", 7}}}), Limits({{"max-queues", "7"}})}) {
    EXPECT_EQ(Check(json, json, json), "") << json;
  }
}

TEST_F(DoctorRules, NameThePermissionsThatAWorkerNeeds) {
  // A repeated command changes nothing.
  const GrantedRights granted = {.configure = "^shop[.]|^(retry[.].*|orders[.]parked)$",
                                 .write = ".*",
                                 .read = "^(retry[.].*|orders)$"};
  WorkOptions options = Options({"--queue", "orders"});
  EXPECT_EQ(GrantCommand(options, granted),
            "rabbitmqctl set_permissions -p '/' 'guest' "
            "'^shop[.]|^(retry[.].*|orders[.]parked)$' '.*' '^(retry[.].*|orders)$'");
  EXPECT_THAT(GrantCommand(options), HasSubstr("present permissions, which are not known"));

  options = Options({"--queue", "o'rders", "--work-exchange", "work", "--no-declare", "--prefix",
                     "a.b", "--url", "amqp://-me@h/shop"});
  EXPECT_EQ(GrantCommand(options, GrantedRights()),
            "rabbitmqctl set_permissions -p 'shop' -- '-me' '^$' "
            "'^(a[.]b[.].*|amq[.]default|work)$' '^(a[.]b[.].*|o'\\''rders)$'");
}

TEST_F(DoctorRules, AcceptEveryFlagOfAWorker) {
  const auto names = [](const auto& described) {
    std::vector<std::string> all;
    for (const FlagDescription& flag : std::get<Answer>(*described).flags) {
      all.insert(all.end(), flag.names.begin(), flag.names.end());
    }
    return all;
  };
  const std::vector<std::string> flags = names(ParseDoctor({kDescribeFlags}));
  EXPECT_EQ(flags, names(ParseWork({kDescribeFlags})));
  EXPECT_GT(flags.size(), 40U);
}

class DelayQueueRules : public DoctorRules {
 protected:
  static WorkOptions Quorum(Arguments arguments = {}) {
    arguments.insert(arguments.begin(), {"--queue-type", "quorum"});
    return Options(arguments);
  }

  // The queue of a client with these options, as the management API shows it.
  static Json Declared(absl::Duration delay, const WorkOptions& options,
                       const DelayTarget& target = {}) {
    const DeclareParams params =
        DelayQueueDeclaration(delay, target, options.place.client.delay_queues);
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
  static std::string Text(const std::vector<Json>& queues, const WorkOptions& options) {
    std::string text;
    for (const Finding& finding : CheckDelayQueues(queues, options)) text += FindingText(finding);
    return text;
  }

  // A policy of the vhost, and a delay queue that the broker shows under a policy.
  static Policies With(const Json& definition) {
    return {Json::array({{{"name", "p"}, {"pattern", "^retry"}, {"definition", definition}}}),
            Json::array()};
  }
  static Json Under(const Json& policy, const Json& definition) {
    return {
        {"name", "retry.1000"}, {"policy", policy}, {"effective_policy_definition", definition}};
  }
};

TEST_F(DelayQueueRules, ReportOnlyPoliciesThatChangeDelayQueues) {
  const WorkOptions options = Options({"--max", "10m"});
  EXPECT_EQ(CheckPolicies(With(Json()), {}, options).result, Result::kOk);
  for (const Json& harmless :
       {Json::object(), Json({{"message-ttl", 600'000}}), Json({{"expires", 100'000'000}}),
        Json({{"dead-letter-exchange", "dlx"}, {"ha-mode", "all"}, {"delivery-limit", 1}}),
        Json({{"message-ttl", "500"}}), Json(7)}) {
    EXPECT_FALSE(MayHarm(With(harmless), options)) << harmless;
  }
  for (const Json& harmful : {Json({{"message-ttl", 599'999}}), Json({{"expires", 1'259'999}}),
                              Json({{"max-length", 10}}), Json({{"max-length-bytes", 10}}),
                              Json({{"dead-letter-routing-key", "dead"}})}) {
    const Policies policies = With(harmful);
    EXPECT_TRUE(MayHarm(policies, options)) << harmful;
    const auto result = [&](const std::vector<Json>& queues) {
      return CheckPolicies(policies, queues, options).result;
    };
    EXPECT_EQ(result({Under("p", harmful)}), Result::kProblem) << harmful;
    EXPECT_EQ(result({Under("q", nullptr)}), Result::kWarning) << "it is not known which apply";
    EXPECT_EQ(result({}), Result::kWarning);
  }
  EXPECT_FALSE(MayHarm(With({{"max-length", 10}}), Options({"--max-length", "10"})));
  EXPECT_TRUE(MayHarm(With({{"max-length", 9}}), Options({"--max-length", "10"})));
}

TEST_F(DelayQueueRules, ReportWhatAFullQueueDoesWithMessages) {
  const auto text = [](const char* overflow, const WorkOptions& options) {
    const Json policy = {{"max-length", 9}, {"overflow", overflow}};
    return CheckPolicies(With(policy), {Under("p", policy)}, options).finding;
  };
  EXPECT_THAT(text("drop-head", Options()), HasSubstr("push messages out too early"));
  EXPECT_THAT(text("reject-publish", Options()), HasSubstr("(full queues refuse messages)"));
  EXPECT_THAT(text("reject-publish-dlx", Options()), HasSubstr("each is handled twice"));
  // These queues have the argument x-overflow.
  EXPECT_THAT(text("reject-publish-dlx", Quorum()), HasSubstr("(full queues refuse messages)"));
  EXPECT_THAT(text("reject-publish-dlx", Options({"--max-length", "10"})),
              HasSubstr("(full queues refuse messages)"));
}

TEST_F(DelayQueueRules, ReportPoliciesThatFederateDelayQueuesOrTheirExchanges) {
  for (const char* key :
       {"federation-upstream", "federation-upstream-set", "federation-upstream-pattern"}) {
    const Policies policies = With({{key, "all"}});
    ASSERT_TRUE(MayFederate(policies)) << key;
    const auto check = [&](const Json& of_queue, const Json& of_exchange) {
      return CheckFederation({{"policy", of_queue}}, {{"policy", of_exchange}}, policies, {});
    };
    ASSERT_EQ(check("p", "p").size(), 1U);
    EXPECT_THAT(check("p", "p")[0].remedy, HasSubstr("'^(?!retry[.]).*(?:^retry)'"));
    EXPECT_EQ(check(nullptr, "p").size(), 1U);
    EXPECT_EQ(check("p", nullptr).size(), 1U);
    EXPECT_THAT(check("other", nullptr), IsEmpty());
  }
}

TEST_F(DelayQueueRules, AcceptAnyJson) {
  for (const Json& json : {Json(), Json(7), Json::array({1, nullptr, {{"definition", 7}}}),
                           Json::array({{{"definition", {{"max-length", 1}}}, {"name", 7}}})}) {
    CheckPolicies({json, json}, {json, Under("x", json)}, Options());
    CheckFederation(json, json, {json, json}, Options());
    CheckDelayQueues({json}, Options());
  }
}

TEST_F(DelayQueueRules, RecognizeTheQuorumQueuesOfEachWorkQueue) {
  const WorkOptions options = Quorum({"--queue", "orders"});
  const auto queue_to = [&](const char* exchange, const char* work_queue) {
    return Declared(absl::Seconds(1), options,
                    {.dead_letter_exchange = exchange, .work_queue = work_queue});
  };
  const Json own = queue_to("", "orders");
  EXPECT_THAT(Text({own, queue_to("somewhere", "invoices")}, options),
              HasSubstr("2, as these options"));
  EXPECT_THAT(Text({queue_to("somewhere", "orders")}, options),
              HasSubstr("retry.1000.orders.q0 (x-dead-letter-exchange is"));

  // The queue of an older client.
  const WorkOptions sharing = Quorum({"--queue", "orders", "--share-delay-queues"});
  const Json shared = Declared(absl::Seconds(1), sharing, {.work_queue = "orders"});
  EXPECT_THAT(Text({own, shared}, options),
              AllOf(HasSubstr("shared among work queues, by older clients"),
                    HasSubstr("retry.1000.q0"), Not(HasSubstr("warning"))));
  EXPECT_THAT(Text({shared}, sharing), HasSubstr("1, as these options"));

  // Classic and imported ones have other names.
  const Json imported =
      Declared(absl::Seconds(1), Quorum({"--no-declare"}), {.work_queue = "orders"});
  EXPECT_THAT(Text({own, imported}, Options()), Not(HasSubstr("warning")));

  Json stuck = own;
  stuck["messages_dlx"] = 40;
  EXPECT_THAT(Text({stuck}, options),
              AllOf(StartsWith("warning"), HasSubstr("retry.1000.orders.q0 (40)")));
}

TEST_F(DelayQueueRules, ReportQueuesWithOtherOptions) {
  const WorkOptions options = Options();
  EXPECT_THAT(Text({Declared(absl::Seconds(1), Options({"--margin", "5m"}))}, options),
              AllOf(StartsWith("warning"), HasSubstr("remedy"),
                    HasSubstr("retry.1000 (x-expires is 361000 instead of 121000)")));
  Json bad = Declared(absl::Seconds(1), options);
  bad["arguments"].erase("x-queue-type");
  bad["arguments"]["x-max-priority"] = 5;
  bad["arguments"]["x-message-ttl"] = "1000";
  EXPECT_THAT(Text({bad}, options),
              HasSubstr("retry.1000 (x-queue-type is not set instead of \"classic\", x-message-ttl "
                        "is \"1000\" instead of 1000, x-max-priority is set)"));
  Json hashed = Declared(absl::Seconds(1), options);
  hashed["name"] = "retry.1000.5e4c91aa";
  // After a nack, too, so it does not show that the options differ.
  EXPECT_THAT(Text({hashed}, options), AllOf(StartsWith("warning"), HasSubstr("1000.5e4c91aa"),
                                             HasSubstr("had other options or could not be used")));
}

TEST_F(DelayQueueRules, CountTheDelaysOfEachKindOfQueue) {
  const Arguments limit = {"--max-delay-queues", "16"};
  const WorkOptions classic = Options(limit);
  const WorkOptions quorum = Quorum(limit);
  std::vector<Json> classic_queues;
  std::vector<Json> quorum_queues;
  for (int seconds = 1; seconds <= 16; ++seconds) {
    const absl::Duration one = absl::Seconds(seconds);
    const absl::Duration other = absl::Seconds(seconds + 20);
    classic_queues.push_back(Declared(one, classic));
    classic_queues.push_back(Declared(other, classic, {.direct = true}));
    quorum_queues.push_back(Declared(one, quorum, {.work_queue = "orders"}));
    quorum_queues.push_back(Declared(other, quorum, {.work_queue = "invoices"}));
  }
  EXPECT_THAT(Text(classic_queues, classic), StartsWith("ok "));
  EXPECT_THAT(Text(quorum_queues, quorum), StartsWith("ok "));
  classic_queues.push_back(Declared(absl::Seconds(17), classic));
  quorum_queues.push_back(Declared(absl::Seconds(17), quorum, {.work_queue = "orders"}));
  EXPECT_THAT(Text(classic_queues, classic),
              AllOf(StartsWith("warning"), HasSubstr("17 delays have queues, more than"),
                    HasSubstr("or --no-exact-queues")));
  EXPECT_THAT(Text(quorum_queues, quorum), HasSubstr("17 delays have queues of one work queue"));
  EXPECT_THAT(Text(classic_queues, Options({"--max-delay-queues", "16", "--no-exact-queues"})),
              HasSubstr("some clients of this prefix do not use --no-exact-queues"));
}

TEST_F(DelayQueueRules, ReportTooManyQuorumQueues) {
  WorkOptions options = Quorum();
  std::vector<Json> queues = {Declared(absl::Seconds(1), Options())};
  for (int i = 0; i < 1000; ++i) {
    queues.push_back(
        Declared(absl::Seconds(1), options, {.work_queue = "orders." + std::to_string(i)}));
  }
  EXPECT_THAT(Text(queues, options), Not(HasSubstr("warning")));
  queues.push_back(Declared(absl::Seconds(2), options, {.work_queue = "orders"}));
  EXPECT_THAT(Text(queues, options), AllOf(HasSubstr("this prefix has 1001 quorum delay queues"),
                                           HasSubstr("--share-delay-queues")));
  EXPECT_THAT(Text(queues, Options()), HasSubstr("1001 quorum"));
  options.place.client.delay_queues.share = true;
  EXPECT_THAT(Text(queues, options), Not(HasSubstr("--share-delay-queues;")));
}

TEST_F(DelayQueueRules, ReportImportedQueuesThatExpireOrBelongToNoWorkQueue) {
  const WorkOptions options =
      Options({"--no-declare", "--delays", "1s,10s", "--max-attempts", "3"});
  Json leaving = Declared(absl::Seconds(10), options);
  leaving["arguments"]["x-expires"] = 1000;
  EXPECT_THAT(Text({Declared(absl::Seconds(1), options), leaving}, options),
              HasSubstr("x-expires"));
  Arguments quorum = {"--no-declare", "--delays", "1s", "--max-attempts", "2"};
  EXPECT_THAT(Text({}, Quorum(quorum)), StartsWith("skipped"));
  quorum.insert(quorum.end(), {"--queue", "orders"});
  EXPECT_THAT(Text({}, Quorum(quorum)), HasSubstr("missing: retry.1000.orders.q\n"));
}

TEST_F(DelayQueueRules, ReportMissingQueuesOfHops) {
  const WorkOptions options =
      Options({"--no-declare", "--no-exact-queues", "--delays", "77s", "--max-attempts", "2"});
  std::vector<Json> queues;
  const DelayGrid grid(64, /*exact_queues=*/false);
  for (const absl::Duration step : grid.steps()) {
    if (step < absl::Seconds(77) && step != absl::Seconds(15)) {
      queues.push_back(Declared(step, options));
    }
  }
  EXPECT_THAT(Text(queues, options), HasSubstr("missing: retry.15000\n"));
  queues.push_back(Declared(absl::Seconds(15), options));
  EXPECT_THAT(Text(queues, options), StartsWith("ok "));
}

}  // namespace retryq::cli::doctor_rules_test
