#include "cli/doctor/policy_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/doctor/remedy_text.h"
#include "cli/management/json_fields.h"

namespace retryq::cli {
namespace policy_rules_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

Json Policy(const std::string& name, const std::string& pattern, const std::string& apply_to,
            int priority = 0, const Json& definition = Json::object()) {
  return {{"name", name},
          {"pattern", pattern},
          {"apply-to", apply_to},
          {"priority", priority},
          {"definition", definition}};
}

std::string NameFor(const Json& policies, const std::string& name, PolicyTarget target) {
  return TextOf(PolicyFor(policies, name, target), "name").value_or("");
}

TEST(RemedyText, EscapesWithoutBackslashesWhereItCan) {
  EXPECT_EQ(Escaped("a.b+c"), "a[.]b[+]c");
  EXPECT_EQ(Escaped("^a\\"), "\\^a\\\\");
  EXPECT_EQ(ForShell("it's"), "'it'\\''s'");
  EXPECT_EQ(ForShell("it's\x1B[31m \\ \xC3\xA9"), "$'it\\x27s\\x1B[31m \\x5C \\xC3\\xA9'");
  EXPECT_EQ(OperandForShell("a-b"), "'a-b'");
  EXPECT_EQ(OperandForShell("-p"), "-- '-p'");
}

TEST(PolicyRules, FindThePolicyThatTheBrokerWouldTake) {
  const Json policies = Json::array(
      {Policy("low", ".*", "all"), Policy("queues", "^orders", "queues", 2),
       Policy("exchanges", "^orders", "exchanges", 3), Policy("quorum", "s$", "quorum_queues", 4),
       Policy("unreadable", "(?<=x)(", "all", 9)});
  EXPECT_EQ(NameFor(policies, "orders", PolicyTarget::kClassicQueue), "queues");
  EXPECT_EQ(NameFor(policies, "orders", PolicyTarget::kQuorumQueue), "quorum");
  EXPECT_EQ(NameFor(policies, "orders", PolicyTarget::kExchange), "exchanges");
  EXPECT_EQ(NameFor(policies, "other", PolicyTarget::kExchange), "low");
  for (const Json& json : {Json(), Json(7), Json::array({1, Json::object(), {{"pattern", 7}}})}) {
    EXPECT_TRUE(PolicyFor(json, "orders", PolicyTarget::kClassicQueue).is_null()) << json;
    EXPECT_TRUE(PolicyNamed(json, "orders").is_null()) << json;
  }
}

TEST(PolicyRules, KeepAPolicyOffSomeNamesAndNoOthers) {
  const Json policy = Policy("p", "^(retry|orders)", "all", 7, {{"max-length", 1}});
  EXPECT_EQ(KeepOffCommand(policy, /*of_operator=*/true, Escaped("retry."), "a b"),
            "rabbitmqctl set_operator_policy -p 'a b' --priority 7 --apply-to 'all' 'p' "
            "'^(?!retry[.]).*(?:^(retry|orders))' '{\"max-length\":1}'");
  const Json kept = Json::array({Policy("p", "^(?!retry[.]).*(?:^(retry|orders))", "all")});
  EXPECT_EQ(NameFor(kept, "retry.1000", PolicyTarget::kClassicQueue), "");
  EXPECT_EQ(NameFor(kept, "retry", PolicyTarget::kClassicQueue), "p");
  EXPECT_EQ(NameFor(kept, "orders", PolicyTarget::kClassicQueue), "p");
  EXPECT_EQ(NameFor(kept, "other", PolicyTarget::kClassicQueue), "");
}

TEST(PolicyRules, KnowWhichNamesAreAWorkers) {
  DoctorOptions options;
  EXPECT_EQ(OwnNames(options), "(?:retry[.])");
  options.queue = "a.b";
  options.parked_queue = "a.b.parked";
  EXPECT_EQ(OwnNames(options), "(?:a[.]b$|a[.]b[.]parked$|retry[.])");
}

TEST(PolicyRules, SayWhatAQueueWillBeUnder) {
  const Json policies = Json::array({Policy("a", "^o", "queues", 0, {{"message-ttl", 5}})});
  const Json operators =
      Json::array({Policy("b", ".*", "queues", 0, {{"message-ttl", 3}, {"expires", 9}})});
  const Json queue = WithPolicies("orders", PolicyTarget::kClassicQueue, policies, operators);
  EXPECT_EQ(queue.at("policy"), "a");
  EXPECT_EQ(queue.at("operator_policy"), "b");
  EXPECT_EQ(queue.at("effective_policy_definition"), Json({{"message-ttl", 3}, {"expires", 9}}));
  const Json none = WithPolicies("orders", PolicyTarget::kClassicQueue, Json(), Json());
  EXPECT_EQ(none.at("policy"), nullptr);
  EXPECT_EQ(none.at("effective_policy_definition"), Json::object());
}

TEST(PolicyRules, GoByWhatIsShownOnlyBetweenPoliciesOfOnePriority) {
  const Json policies = Json::array({Policy("a", "^o", "queues", 1, {{"message-ttl", 5}}),
                                     Policy("b", "^o", "queues", 1, {{"message-ttl", 6}}),
                                     Policy("c", "^o", "queues", 0, {{"message-ttl", 7}})});
  const auto chosen = [&](const Json& shown) {
    const Json queue = {{"policy", shown}, {"effective_policy_definition", Json::object()}};
    return WithPolicies("orders", PolicyTarget::kClassicQueue, policies, Json::array(), &queue)
        .at("policy");
  };
  EXPECT_EQ(chosen("b"), "b");
  EXPECT_EQ(chosen("a"), "a");
  for (const Json& shown : {Json("c"), Json("gone"), Json()}) EXPECT_EQ(chosen(shown), "a");
}

TEST(PolicyRules, KnowWhatTheyCannotRead) {
  EXPECT_TRUE(CanBeRead(Json::array()));
  EXPECT_TRUE(CanBeRead(Json::array({Policy("a", "^(?!x)", "queues", 0, Json::object()),
                                     Policy("b", "(?<!x)y", "queues", 0, Json::object())})));
  EXPECT_FALSE(CanBeRead(Json::array({Policy("a", ".*", "queues", 0, Json::object()),
                                      Policy("b", "(", "queues", 0, Json::object())})));
  EXPECT_FALSE(CanBeRead(Json()));
}

TEST(PolicyRules, MindThatDelayExchangesAreFederated) {
  const DoctorOptions options;
  for (const char* key :
       {"federation-upstream", "federation-upstream-set", "federation-upstream-pattern"}) {
    const Json definition = {{key, "all"}};
    for (const char* apply_to : {"exchanges", "all", "queues"}) {
      const auto findings =
          CheckFederation(Json::array({Policy("fed", ".*", apply_to, 0, definition)}), options);
      ASSERT_EQ(findings.size(), 1U) << key << apply_to;
      EXPECT_THAT(findings[0].remedy, HasSubstr("'^(?!retry[.]).*(?:.*)'"));
    }
    EXPECT_THAT(
        CheckFederation(Json::array({Policy("fed", "^shop", "all", 0, definition)}), options),
        IsEmpty());
    // One of a higher priority stands in its way.
    EXPECT_THAT(CheckFederation(Json::array({Policy("fed", ".*", "all", 0, definition),
                                             Policy("other", "^retry", "all", 1)}),
                                options),
                IsEmpty());
  }
  EXPECT_THAT(CheckFederation(Json(), options), IsEmpty());
}

TEST(PolicyRules, MindShovelsOfDelayQueues) {
  const DoctorOptions options;
  for (const char* end : {"src-queue", "src-exchange", "dest-queue", "dest-exchange"}) {
    const auto findings = CheckShovels(
        Json::array({{{"name", "s"}, {"value", {{end, "retry.1000"}, {"src-uri", "amqp://"}}}}}),
        options);
    ASSERT_EQ(findings.size(), 1U) << end;
    EXPECT_EQ(findings[0].remedy, "rabbitmqctl clear_parameter -p '/' shovel 's'");
  }
  for (const Json& json : {Json(), Json::array({7, {{"value", 7}}}),
                           Json::array({{{"name", "s"}, {"value", {{"src-queue", "orders"}}}}})}) {
    EXPECT_THAT(CheckShovels(json, options), IsEmpty()) << json;
  }
}

}  // namespace policy_rules_test
}  // namespace retryq::cli
