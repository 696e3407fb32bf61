#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "cli/doctor/doctor_rules.h"
#include "retryq/delay_grid.h"
#include "retryq/delay_queue_declaration.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli {
namespace delay_queue_rules_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;
using Result = Finding::Result;

class DelayQueueRules : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("RETRYQ_URL");
    ::unsetenv("RETRYQ_MANAGEMENT_URL");
  }

  static DoctorOptions Options(const Arguments& arguments = {}) {
    return OptionsIn(ParseDoctor(arguments));
  }
  static DoctorOptions Quorum(Arguments arguments = {}) {
    arguments.insert(arguments.begin(), {"--queue-type", "quorum"});
    return Options(arguments);
  }

  // The queue of a client with these options, as the management API shows it.
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
  static std::string Text(const std::vector<Json>& queues, const DoctorOptions& options) {
    std::string text;
    for (const Finding& finding : CheckDelayQueues(queues, options)) text += TextOf(finding);
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
  const DoctorOptions options = Options({"--max", "10m"});
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
    const Finding finding = CheckPolicies(policies, {Under("p", harmful)}, options);
    EXPECT_EQ(finding.result, Result::kProblem) << harmful;
    EXPECT_THAT(finding.finding, StartsWith("policy 'p' applies to delay queues and sets " +
                                            harmful.items().begin().key()));
    EXPECT_THAT(finding.remedy, AllOf(StartsWith("rabbitmqctl set_policy -p '/' "),
                                      HasSubstr("'^(?!(?:retry[.])).*(?:^retry)'")));
    // The policy exists but does not apply; or this is not known.
    const auto result = [&](const std::vector<Json>& queues) {
      return CheckPolicies(policies, queues, options).result;
    };
    EXPECT_EQ(result({Under("q", Json::object())}), Result::kOk);
    EXPECT_EQ(result({Under("q", nullptr)}), Result::kWarning);
    EXPECT_EQ(result({}), Result::kWarning);
  }
  EXPECT_FALSE(MayHarm(With({{"max-length", 10}}), Options({"--max-length", "10"})));
  EXPECT_TRUE(MayHarm(With({{"max-length", 9}}), Options({"--max-length", "10"})));
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

TEST_F(DelayQueueRules, RecognizeTheQueuesOfTheOptions) {
  for (const Arguments& arguments :
       {Arguments{}, Arguments{"--queue-type", "quorum"}, Arguments{"--max-length", "5"},
        Arguments{"--work-exchange", "work"}, Arguments{"--prefix", "x", "--margin", "5m"}}) {
    const DoctorOptions options = Options(arguments);
    EXPECT_THAT(
        Text({Declared(absl::Seconds(1), options,
                       {.dead_letter_exchange = options.work_exchange, .work_queue = "orders"}),
              Declared(absl::Seconds(2), options, {.direct = true, .work_queue = "orders"})},
             options),
        AllOf(StartsWith("ok "), HasSubstr("2, as these options")));
  }
  EXPECT_THAT(Text({}, Options()), HasSubstr("no message has failed"));
}

TEST_F(DelayQueueRules, KnowTheQuorumQueuesOfEachWorkQueue) {
  const DoctorOptions options = Quorum({"--queue", "orders"});
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
  const DoctorOptions sharing = Quorum({"--queue", "orders", "--share-delay-queues"});
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
  const DoctorOptions options = Options();
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
  EXPECT_THAT(Text({hashed}, options), AllOf(StartsWith("warning"), HasSubstr("1000.5e4c91aa")));
}

TEST_F(DelayQueueRules, CountTheDelaysOfEachKindOfQueue) {
  const Arguments limit = {"--max-delay-queues", "16"};
  const DoctorOptions classic = Options(limit);
  const DoctorOptions quorum = Quorum(limit);
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

TEST_F(DelayQueueRules, ReportMoreQuorumQueuesThanABrokerBearsEasily) {
  DoctorOptions options = Quorum();
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
  options.delay_queues.share = true;
  EXPECT_THAT(Text(queues, options), Not(HasSubstr("--share-delay-queues;")));
}

TEST_F(DelayQueueRules, ReportMissingImportedQueues) {
  const DoctorOptions options =
      Options({"--no-declare", "--delays", "1s,10s", "--max-attempts", "3"});
  const Json one = Declared(absl::Seconds(1), options);
  const Json ten = Declared(absl::Seconds(10), options);
  EXPECT_THAT(Text({one, ten}, options), StartsWith("ok "));
  EXPECT_THAT(Text({one}, options),
              AllOf(StartsWith("problem"), HasSubstr("missing: retry.10000\n")));
  Json leaving = ten;
  leaving["arguments"]["x-expires"] = 1000;
  EXPECT_THAT(Text({one, leaving}, options), HasSubstr("x-expires"));

  // Quorum queues belong to a work queue.
  Arguments quorum = {"--no-declare", "--delays", "1s", "--max-attempts", "2"};
  EXPECT_THAT(Text({}, Quorum(quorum)), StartsWith("skipped"));
  quorum.insert(quorum.end(), {"--queue", "orders"});
  EXPECT_THAT(Text({}, Quorum(quorum)), HasSubstr("missing: retry.1000.orders.q\n"));
}

TEST_F(DelayQueueRules, ReportMissingQueuesOfHops) {
  const DoctorOptions options =
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

}  // namespace delay_queue_rules_test
}  // namespace retryq::cli
