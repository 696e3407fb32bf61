#include "cli/doctor/queue_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retryq::cli {
namespace queue_rules_test {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;
using Result = Finding::Result;

constexpr QueueType kClassic = QueueType::kClassic;
constexpr QueueType kQuorum = QueueType::kQuorum;

// A queue as the management API shows it.
class QueueRules : public ::testing::Test {
 protected:
  KeptQueue Queue(const Json& changes) {
    json_ = {{"name", "or.ders"},
             {"type", "classic"},
             {"durable", true},
             {"auto_delete", false},
             {"exclusive", false},
             {"arguments", Json::object()},
             {"policy", nullptr},
             {"operator_policy", nullptr},
             {"effective_policy_definition", Json::object()}};
    json_.update(changes);
    return {.check = "work queue",
            .name = "or.ders",
            .vhost = "shop",
            .own_names = "(?:or[.]ders$|retry[.])",
            .json = json_,
            .policies = policies_,
            .operator_policies = operator_policies_};
  }
  KeptQueue WithArguments(const Json& arguments, const std::string& type = "classic") {
    return Queue({{"arguments", arguments}, {"type", type}});
  }
  // Under a policy with this definition.
  KeptQueue WithPolicy(const Json& definition, const std::string& type = "classic") {
    policies_ = Json::array({{{"name", "limits"},
                              {"pattern", "^or"},
                              {"apply-to", "queues"},
                              {"priority", 3},
                              {"definition", definition}}});
    return Queue(
        {{"policy", "limits"}, {"effective_policy_definition", definition}, {"type", type}});
  }
  KeptQueue WithOperatorPolicy(const Json& definition) {
    operator_policies_ = Json::array(
        {{{"name", "all"}, {"pattern", ".*"}, {"apply-to", "queues"}, {"definition", definition}}});
    return Queue({{"operator_policy", "all"}, {"effective_policy_definition", definition}});
  }

  static Result ResultOf(const std::optional<Finding>& finding) {
    return finding ? finding->result : Result::kOk;
  }
  static std::vector<std::string> Texts(const std::vector<Finding>& findings) {
    std::vector<std::string> texts;
    for (const Finding& finding : findings) texts.push_back(TextOf(finding));
    return texts;
  }

  Json json_;
  Json policies_;
  Json operator_policies_;
};

TEST_F(QueueRules, FindNothingWrongWithAQueueThatKeepsAll) {
  EXPECT_THAT(Texts(CheckKeptWorkQueue(Queue(Json::object()), kClassic)), IsEmpty());
  EXPECT_THAT(Texts(CheckKeptWorkQueue(Queue({{"type", "quorum"}}), kQuorum)), IsEmpty());
  EXPECT_THAT(Texts(CheckKeptParkedQueue(Queue({{"type", "quorum"}}))), IsEmpty());
  const Json harmless = {{"x-max-priority", 5}, {"x-dead-letter-exchange", "dlx"}};
  EXPECT_THAT(Texts(CheckKeptWorkQueue(WithArguments(harmless), kClassic)), IsEmpty());
}

TEST_F(QueueRules, TakeWhateverTheBrokerSays) {
  for (const Json& json : {Json(), Json(7), Json::array(), Json::object(),
                           Json({{"arguments", 7}, {"durable", "no"}, {"type", 1}}),
                           Json({{"arguments", {{"x-message-ttl", "1"}, {"x-overflow", 2}}},
                                 {"effective_policy_definition", Json::array()}})}) {
    const KeptQueue queue = {.check = "work queue",
                             .name = "orders",
                             .vhost = "/",
                             .own_names = "orders$",
                             .json = json,
                             .policies = json,
                             .operator_policies = json};
    EXPECT_THAT(Texts(CheckKeptWorkQueue(queue, kClassic)), IsEmpty()) << json;
    EXPECT_EQ(CheckExchangeType(json), std::nullopt);
  }
}

TEST_F(QueueRules, SayOnlyThatAStreamIsOne) {
  const Json stream = {{"type", "stream"}, {"arguments", {{"x-max-length-bytes", 1000}}}};
  EXPECT_THAT(Texts(CheckKeptWorkQueue(Queue(stream), kClassic)),
              ElementsAre(HasSubstr("it is a stream")));
}

TEST_F(QueueRules, MindQueuesThatGoByThemselves) {
  const Json exclusive = {{"exclusive", true}, {"durable", false}};
  EXPECT_THAT(Texts(CheckKeptWorkQueue(Queue(exclusive), kClassic)),
              ElementsAre(HasSubstr("it is exclusive")));
  EXPECT_THAT(
      Texts(CheckKeptWorkQueue(Queue({{"auto_delete", true}}), kClassic)),
      ElementsAre(AllOf(HasSubstr("problem"), HasSubstr("it is auto-delete"),
                        HasSubstr("rabbitmqctl delete_queue -p 'shop' --if-empty 'or.ders'"))));
  EXPECT_THAT(Texts(CheckKeptParkedQueue(Queue({{"durable", false}}))),
              ElementsAre(AllOf(HasSubstr("problem"), HasSubstr("it is not durable"))));
}

TEST_F(QueueRules, MindArgumentsThatTakeMessagesAway) {
  const auto ttl = CheckMessageTtl(WithArguments({{"x-message-ttl", 60'000}}));
  EXPECT_EQ(ResultOf(ttl), Result::kProblem);
  EXPECT_THAT(ttl->finding, HasSubstr("its argument x-message-ttl sets message-ttl 60000"));
  EXPECT_THAT(ttl->finding, HasSubstr("for good"));
  EXPECT_THAT(ttl->remedy, HasSubstr("declare it without x-message-ttl"));
  const Json with_dlx = {{"x-message-ttl", 60'000}, {"x-dead-letter-exchange", ""}};
  EXPECT_EQ(ResultOf(CheckMessageTtl(WithArguments(with_dlx))), Result::kWarning);

  EXPECT_EQ(ResultOf(CheckExpires(WithArguments({{"x-expires", 60'000}}))), Result::kProblem);

  for (const char* limit : {"x-max-length", "x-max-length-bytes"}) {
    const auto full = CheckDropHead(WithArguments({{limit, 10}}));
    EXPECT_EQ(ResultOf(full), Result::kProblem) << limit;
    EXPECT_THAT(full->remedy, HasSubstr(limit));
    EXPECT_EQ(ResultOf(CheckDropHead(WithArguments({{limit, 10}, {"x-overflow", "drop-head"}}))),
              Result::kProblem);
    EXPECT_EQ(
        ResultOf(CheckDropHead(WithArguments({{limit, 10}, {"x-overflow", "reject-publish"}}))),
        Result::kOk);
  }
}

TEST_F(QueueRules, MindPoliciesThatTakeMessagesAway) {
  for (const Json& definition :
       {Json({{"message-ttl", 1}}), Json({{"expires", 1}}), Json({{"max-length", 1}}),
        Json({{"max-length-bytes", 1}, {"overflow", "drop-head"}})}) {
    const auto findings = CheckKeptWorkQueue(WithPolicy(definition), kClassic);
    ASSERT_EQ(findings.size(), 1U) << definition;
    EXPECT_EQ(findings[0].result, Result::kProblem);
    EXPECT_THAT(findings[0].finding, HasSubstr("policy 'limits' sets "));
    // Kept off this queue, and as it was for all others.
    EXPECT_EQ(findings[0].remedy,
              "rabbitmqctl set_policy -p 'shop' --priority 3 --apply-to 'queues' 'limits' "
              "'^(?!(?:or[.]ders$|retry[.])).*(?:^or)' '" +
                  definition.dump() + "'");
    EXPECT_EQ(CheckKeptParkedQueue(WithPolicy(definition)).size(), 1U);
    const auto of_operator = CheckKeptWorkQueue(WithOperatorPolicy(definition), kClassic);
    ASSERT_FALSE(of_operator.empty());
    EXPECT_THAT(of_operator.back().remedy, HasSubstr("rabbitmqctl set_operator_policy -p 'shop'"));
  }
}

TEST_F(QueueRules, KeepWhatElseAPolicySetsForTheQueue) {
  const Json definition = {
      {"message-ttl", 1}, {"expires", 5}, {"max-length", 10}, {"dead-letter-exchange", "d'lx"}};
  const auto findings = CheckKeptWorkQueue(WithPolicy(definition), kClassic);
  ASSERT_EQ(findings.size(), 3U);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.remedy,
              "rabbitmqctl set_policy -p 'shop' --priority 4 --apply-to 'queues' 'limits for "
              "or.ders' '^or[.]ders$' '{\"dead-letter-exchange\":\"d'\\''lx\"}'");
  }
}

TEST_F(QueueRules, NameWhicheverLimitIsSmaller) {
  KeptQueue queue = WithPolicy({{"message-ttl", 500}});
  json_["arguments"] = {{"x-message-ttl", 400}};
  EXPECT_THAT(CheckMessageTtl(queue)->finding, HasSubstr("its argument"));
  json_["arguments"] = {{"x-message-ttl", 600}};
  EXPECT_THAT(CheckMessageTtl(queue)->finding, HasSubstr("policy 'limits' sets message-ttl 500"));
}

TEST_F(QueueRules, MindAFullClassicWorkQueueBesideClassicDelayQueues) {
  for (const char* overflow : {"reject-publish", "reject-publish-dlx"}) {
    const Json full = {{"x-max-length", 10}, {"x-overflow", overflow}};
    const auto finding = CheckRefusesWhenFull(WithArguments(full), kClassic);
    EXPECT_EQ(ResultOf(finding), Result::kProblem);
    EXPECT_THAT(finding->remedy, HasSubstr("--queue-type quorum"));
    EXPECT_EQ(ResultOf(CheckRefusesWhenFull(WithArguments(full), kQuorum)), Result::kOk);
    EXPECT_EQ(ResultOf(CheckRefusesWhenFull(WithArguments(full, "quorum"), kClassic)), Result::kOk);
    // Parked by publishes, which are refused and not dropped.
    EXPECT_THAT(Texts(CheckKeptParkedQueue(WithArguments(full))), IsEmpty());
  }
  EXPECT_EQ(
      ResultOf(CheckRefusesWhenFull(WithArguments({{"x-overflow", "reject-publish"}}), kClassic)),
      Result::kOk);
  EXPECT_EQ(ResultOf(CheckRefusesWhenFull(
                WithPolicy({{"max-length", 10}, {"overflow", "reject-publish"}}), kClassic)),
            Result::kProblem);
}

TEST_F(QueueRules, MindAPolicyThatDropsTheHeadOfAClassicQueueBeforeItRefuses) {
  for (const char* overflow : {"reject-publish", "reject-publish-dlx"}) {
    const Json definition = {{"max-length", 10}, {"overflow", overflow}};
    const auto finding = CheckPolicyThatRefuses(WithPolicy(definition));
    EXPECT_EQ(ResultOf(finding), Result::kWarning);
    EXPECT_THAT(finding->finding,
                AllOf(HasSubstr("policy 'limits' sets max-length 10, and policy 'limits' sets "
                                "overflow reject-publish"),
                      HasSubstr("drops its oldest messages")));
    EXPECT_THAT(finding->remedy,
                AllOf(HasSubstr("x-overflow reject-publish"), HasSubstr("quorum")));
    EXPECT_EQ(ResultOf(CheckPolicyThatRefuses(WithOperatorPolicy(definition))), Result::kWarning);
    EXPECT_EQ(ResultOf(CheckPolicyThatRefuses(WithPolicy(definition, "quorum"))), Result::kOk);
    // Beside delay queues of any type, and in the parked queue.
    EXPECT_EQ(CheckKeptWorkQueue(WithPolicy(definition), kQuorum).size(), 1U);
    EXPECT_EQ(CheckKeptParkedQueue(WithPolicy(definition)).size(), 1U);
  }
  EXPECT_EQ(ResultOf(CheckPolicyThatRefuses(WithPolicy({{"max-length", 10}}))), Result::kOk);
  EXPECT_EQ(ResultOf(CheckPolicyThatRefuses(WithPolicy({{"overflow", "reject-publish"}}))),
            Result::kOk);
}

TEST_F(QueueRules, MindNoPolicyThatRefusesWhereTheArgumentsSaySo) {
  const Json definition = {{"max-length", 10}, {"overflow", "reject-publish"}};
  const KeptQueue refuses = WithPolicy(definition);
  json_["arguments"] = {{"x-overflow", "reject-publish"}};
  EXPECT_EQ(ResultOf(CheckPolicyThatRefuses(refuses)), Result::kOk);
  // It has never had more than that.
  json_["arguments"] = {{"x-max-length", 5}};
  EXPECT_EQ(ResultOf(CheckPolicyThatRefuses(refuses)), Result::kOk);
  json_["arguments"] = {{"x-max-length", 50}};
  EXPECT_EQ(ResultOf(CheckPolicyThatRefuses(refuses)), Result::kWarning);
}

TEST_F(QueueRules, MindAQuorumWorkQueueBesideClassicDelayQueues) {
  const Json quorum = {{"type", "quorum"}};
  EXPECT_EQ(ResultOf(CheckQuorumBesideClassic(Queue(quorum), kClassic)), Result::kWarning);
  EXPECT_EQ(ResultOf(CheckQuorumBesideClassic(Queue(quorum), kQuorum)), Result::kOk);
  EXPECT_EQ(ResultOf(CheckQuorumBesideClassic(Queue(Json::object()), kClassic)), Result::kOk);
}

TEST_F(QueueRules, MindADeliveryLimitThatComesBeforeAWorkerMovesTheMessage) {
  const auto check = [this](const Json& limit, const RetryOptions& retry = {}) {
    return CheckDeliveryLimit(WithArguments({{"x-delivery-limit", limit}}, "quorum"), retry);
  };
  const auto low = check(3);
  EXPECT_EQ(ResultOf(low), Result::kProblem);
  EXPECT_THAT(low->finding, HasSubstr("its argument x-delivery-limit sets delivery-limit 3"));
  EXPECT_EQ(ResultOf(check(0)), Result::kProblem);
  EXPECT_EQ(ResultOf(check(10)), Result::kProblem);
  for (const Json& enough : {Json(11), Json(20), Json(-1), Json("3")}) {
    EXPECT_EQ(ResultOf(check(enough)), Result::kOk) << enough;
  }
  // What is parked before that needs less, if redeliveries count.
  EXPECT_EQ(ResultOf(check(4, {.max_attempts = 3})), Result::kOk);
  EXPECT_EQ(ResultOf(check(3, {.max_attempts = 3})), Result::kProblem);
  EXPECT_EQ(
      ResultOf(check(4, {.max_attempts = 3, .count_redeliveries = CountRedeliveries::kNever})),
      Result::kProblem);
  EXPECT_EQ(ResultOf(CheckDeliveryLimit(WithArguments({{"x-delivery-limit", 3}}), {})),
            Result::kOk);

  const auto of_policy = CheckDeliveryLimit(WithPolicy({{"delivery-limit", 5}}, "quorum"), {});
  EXPECT_EQ(ResultOf(of_policy), Result::kProblem);
  EXPECT_THAT(of_policy->remedy, HasSubstr("rabbitmqctl set_policy"));
  // Of both the stricter one counts, and no limit is none.
  const KeptQueue both = WithPolicy({{"delivery-limit", 5}}, "quorum");
  json_["arguments"] = {{"x-delivery-limit", -1}};
  EXPECT_EQ(ResultOf(CheckDeliveryLimit(both, {})), Result::kProblem);
  const KeptQueue none = WithPolicy({{"delivery-limit", -1}}, "quorum");
  json_["arguments"] = {{"x-delivery-limit", 5}};
  EXPECT_EQ(ResultOf(CheckDeliveryLimit(none, {})), Result::kProblem);
}

// Bindings of an exchange: a queue and a key each; "->x" is another exchange.
Json Bindings(const std::vector<std::pair<std::string, std::string>>& all) {
  Json bindings = Json::array();
  for (const auto& [to, key] : all) {
    const bool is_exchange = to.starts_with("->");
    bindings.push_back({{"destination", to},
                        {"destination_type", is_exchange ? "exchange" : "queue"},
                        {"routing_key", key}});
  }
  return bindings;
}

TEST_F(QueueRules, MindAWorkExchangeThatFeedsOtherQueuesToo) {
  const auto check = [](const char* type, const Json& bindings, bool share_retries = true) {
    const auto finding = CheckWorkBindings({{"type", type}}, bindings,
                                           {.queue = "orders", .share_retries = share_retries});
    return finding ? finding->finding : "";
  };
  const Json two_keys = Bindings({{"orders", "o"}, {"mails", "m"}});
  EXPECT_EQ(check("direct", Bindings({{"orders", "o"}})), "");
  EXPECT_EQ(check("direct", two_keys), "");
  EXPECT_EQ(check("topic", two_keys), "");
  EXPECT_THAT(check("fanout", two_keys), HasSubstr("it also leads to 'mails'"));
  EXPECT_THAT(check("headers", two_keys), HasSubstr("it also leads to 'mails'"));
  EXPECT_THAT(check("direct", Bindings({{"orders", "o"}, {"mails", "m"}, {"mails", "o"}})),
              HasSubstr("'mails'"));
  EXPECT_THAT(check("topic", Bindings({{"orders", "o.*"}, {"mails", "m"}})), HasSubstr("'mails'"));
  EXPECT_THAT(check("topic", Bindings({{"orders", "o"}, {"a", "#"}, {"b", "#"}, {"c", "o"}})),
              HasSubstr("'a' and 2 more queues"));
  EXPECT_THAT(check("direct", Bindings({{"orders", "o"}, {"->next", "x"}})),
              HasSubstr("another exchange"));
  EXPECT_EQ(check("fanout", two_keys, /*share_retries=*/false), "");
  EXPECT_THAT(check("fanout", Bindings({{"mails", ""}})), HasSubstr("no binding leads from it"));
  EXPECT_EQ(check("fanout", Json("?")), "");
}

TEST_F(QueueRules, SeeWhereDeadLettersArrive) {
  const Json direct = {{"type", "direct"}, {"arguments", Json::object()}};
  EXPECT_TRUE(LeadsNowhere(direct, Json::array(), ""));
  EXPECT_FALSE(LeadsNowhere(direct, Bindings({{"dead", "k"}}), ""));
  EXPECT_FALSE(LeadsNowhere(direct, Bindings({{"dead", "k"}}), "k"));
  EXPECT_TRUE(LeadsNowhere(direct, Bindings({{"dead", "k"}}), "other"));
  EXPECT_FALSE(LeadsNowhere({{"type", "fanout"}}, Bindings({{"dead", "k"}}), "other"));
  EXPECT_FALSE(LeadsNowhere({{"arguments", {{"alternate-exchange", "all"}}}}, Json::array(), ""));
  EXPECT_FALSE(LeadsNowhere(direct, Json(), ""));
}

TEST_F(QueueRules, MindDelayedRetry) {
  for (const char* type : {"all", "failed", "returned"}) {
    const Json arguments = {{"x-delayed-retry-type", type}};
    EXPECT_EQ(ResultOf(CheckDelayedRetry(WithArguments(arguments, "quorum"))), Result::kWarning);
    EXPECT_EQ(ResultOf(CheckDelayedRetry(WithArguments(arguments))), Result::kOk);
    const auto of_policy = CheckDelayedRetry(
        WithPolicy({{"delayed-retry-type", type}, {"delayed-retry-min", 100}}, "quorum"));
    EXPECT_EQ(ResultOf(of_policy), Result::kWarning);
    EXPECT_THAT(of_policy->remedy, HasSubstr("'^(?!(?:or[.]ders$|retry[.])).*(?:^or)'"));
  }
  EXPECT_EQ(
      ResultOf(CheckDelayedRetry(WithArguments({{"x-delayed-retry-type", "disabled"}}, "quorum"))),
      Result::kOk);
}

TEST_F(QueueRules, MindExchangesThatScatter) {
  for (const char* type : {"x-random", "x-local-random", "x-consistent-hash", "x-modulus-hash"}) {
    EXPECT_EQ(ResultOf(CheckExchangeType({{"type", type}})), Result::kProblem) << type;
  }
  for (const char* type : {"topic", "direct", "fanout", "headers", "x-recent-history"}) {
    EXPECT_EQ(ResultOf(CheckExchangeType({{"type", type}})), Result::kOk) << type;
  }
}

TEST_F(QueueRules, MindMessagesThatNobodyTakes) {
  EXPECT_EQ(CheckConsumed("orders", 0, 0), std::nullopt);
  EXPECT_EQ(CheckConsumed("orders", 7, 1), std::nullopt);
  EXPECT_THAT(TextOf(*CheckConsumed("orders", 7, 0)), HasSubstr("7 messages are ready"));
  DoctorOptions options;
  options.queue = "orders";
  options.parked_queue = "orders.parked";
  EXPECT_EQ(CheckNothingParked(options, 0), std::nullopt);
  EXPECT_THAT(CheckNothingParked(options, 3)->remedy,
              EndsWith("retryq parked list --queue 'orders'"));
  options.parked_queue = "dead";
  EXPECT_THAT(CheckNothingParked(options, 3)->remedy,
              EndsWith("retryq parked list --queue 'orders' --parked 'dead'"));
}

}  // namespace queue_rules_test
}  // namespace retryq::cli
