#include <nlohmann/json.hpp>

#include "cli/doctor/doctor_command.h"
#include "support/test.h"

namespace retryq::cli::queue_rules_test {

using Json = nlohmann::json;
using Kind = KeptQueue::Kind;

// "problem: finding" of each.
std::vector<std::string> Lines(const Findings& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    lines.push_back((finding.result == Finding::Result::kProblem   ? "problem: "
                     : finding.result == Finding::Result::kWarning ? "warning: "
                     : finding.result == Finding::Result::kOk      ? "ok: "
                                                                   : "skipped: ") +
                    finding.finding);
  }
  return lines;
}

// The queue "or.ders", as the management API shows it.
class QueueRules : public ::testing::Test {
 protected:
  QueueRules() {
    options_.consumer.queue = "or.ders";
    options_.place.connection.vhost = "shop";
    options_.place.client.delay_queues.queue_type = QueueType::kQuorum;
  }

  static Json Queue(const Json& changes) {
    Json queue = {{"name", "or.ders"},
                  {"type", "classic"},
                  {"durable", true},
                  {"auto_delete", false},
                  {"exclusive", false},
                  {"arguments", Json::object()},
                  {"effective_policy_definition", Json::object()}};
    queue.update(changes);
    return queue;
  }
  // With an argument, or under a policy with this definition.
  static Json With(const Json& arguments, const std::string& type = "classic") {
    return Queue({{"arguments", arguments}, {"type", type}});
  }
  Json Under(const Json& definition, const std::string& type = "classic") {
    policies_.user = Json::array({{{"name", "limits"},
                                   {"pattern", "^or"},
                                   {"apply-to", "queues"},
                                   {"priority", 3},
                                   {"definition", definition}}});
    return Queue(
        {{"policy", "limits"}, {"effective_policy_definition", definition}, {"type", type}});
  }
  Findings Check(const Json& queue, Kind kind = Kind::kWork) {
    options_.consumer.parked_queue = kind == Kind::kParked ? "or.ders" : "";
    return CheckKeptQueue({kind, queue, policies_, options_});
  }

  WorkOptions options_;
  Policies policies_;
};

TEST_F(QueueRules, AcceptAnyJson) {
  for (const Json& json : {Json(), Json(7), Json::array(), Json::object(),
                           Json({{"arguments", 7}, {"durable", "no"}, {"type", 1}}),
                           Json({{"arguments", {{"x-message-ttl", "1"}, {"x-overflow", 2}}},
                                 {"effective_policy_definition", Json::array()}})}) {
    policies_ = {json, json};
    EXPECT_THAT(Lines(Check(json)), IsEmpty()) << json;
  }
}

TEST_F(QueueRules, ReportAQueueThatPushesMessagesOut) {
  EXPECT_THAT(Lines(Check(Under({{"max-length", 1}}))),
              ElementsAre(StartsWith("problem: policy 'limits' sets max-length")));
}

// CommandDoctorPolicies tests the commands.
TEST_F(QueueRules, ExplainHowToRemoveASettingOfAPolicyThatIsNotKnown) {
  EXPECT_EQ(Check(Queue({{"effective_policy_definition", {{"expires", 1}}}}))[0].remedy,
            "remove expires from a policy, or exclude '^or[.]ders$' from its pattern");
}

TEST_F(QueueRules, NeedADeliveryLimitAboveTheRedeliveriesOfAWorker) {
  const auto is_low = [this](const Json& limit, const RetryOptions& retry = {}) {
    options_.consumer.retry = retry;
    return !Check(With({{"x-delivery-limit", limit}}, "quorum")).empty();
  };
  for (const Json& low : {Json(0), Json(3), Json(10)}) EXPECT_TRUE(is_low(low)) << low;
  for (const Json& high : {Json(11), Json(-1), Json("3")}) EXPECT_FALSE(is_low(high)) << high;
  // Messages that are parked before need less, if redeliveries count.
  EXPECT_FALSE(is_low(4, {.max_attempts = 3}));
  EXPECT_TRUE(is_low(3, {.max_attempts = 3}));
  EXPECT_TRUE(is_low(4, {.max_attempts = 3, .count_redeliveries = CountRedeliveries::kNever}));
  // If one of the two sets no limit, the limit of the other applies.
  Json queue = Under({{"delivery-limit", 5}}, "quorum");
  queue["arguments"] = {{"x-delivery-limit", -1}};
  EXPECT_EQ(Check(queue)[0].remedy,
            "rabbitmqctl set_policy -p 'shop' --priority 3 --apply-to 'queues' 'limits' "
            "'^(?!(?:or[.]ders$|retry[.])).*(?:^or)' '{\"delivery-limit\":5}'");
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

// A management API that has these paths.
QueueFacts Facts(const WorkOptions& worker, const std::map<std::string, Json>& replies) {
  const ManagementApi::Fetch get =
      [replies](const std::string& path) -> absl::StatusOr<ManagementApi::Answer> {
    const auto found = replies.find(path);
    if (found == replies.end()) return absl::NotFoundError(path);
    return ManagementApi::Answer{.http_status = 200, .json = found->second};
  };
  return {.worker = worker,
          .get = get,
          .queue = [get](const std::string& name) -> absl::StatusOr<Json> {
            const auto answer = get("/queues/shop/" + name);
            return answer.ok() ? absl::StatusOr<Json>(answer->json) : answer.status();
          },
          .policies = {Json::array(), Json::array()}};
}

TEST_F(QueueRules, FollowTheBindingsOfTheWorkExchange) {
  options_.consumer.queue = "orders";
  options_.consumer.work_exchange = "x";
  options_.consumer.share_retries = true;
  Json exchange;
  const auto check = [&](const char* type, const Json& bindings) {
    exchange["type"] = type;
    const QueueFacts facts = Facts(options_, {{"/exchanges/shop/x", exchange},
                                              {"/exchanges/shop/x/bindings/source", bindings}});
    const Findings findings = CheckWorkExchange(facts);
    return findings.empty() ? "" : findings[0].finding;
  };
  const Json two_keys = Bindings({{"orders", "o"}, {"mails", "m"}});
  EXPECT_EQ(check("direct", Bindings({{"orders", "o"}})), "");
  EXPECT_EQ(check("direct", two_keys), "");
  EXPECT_EQ(check("topic", two_keys), "");
  EXPECT_THAT(check("fanout", two_keys), HasSubstr("it also routes to 'mails'"));
  EXPECT_THAT(check("headers", two_keys), HasSubstr("it also routes to 'mails'"));
  EXPECT_THAT(check("direct", Bindings({{"orders", "o"}, {"mails", "m"}, {"mails", "o"}})),
              HasSubstr("'mails'"));
  EXPECT_THAT(check("topic", Bindings({{"orders", "o.*"}, {"mails", "m"}})), HasSubstr("'mails'"));
  EXPECT_THAT(check("topic", Bindings({{"orders", "o"}, {"a", "#"}, {"b", "#"}, {"c", "o"}})),
              HasSubstr("'a' and 2 more queues"));
  EXPECT_THAT(check("direct", Bindings({{"orders", "o"}, {"->next", "x"}})),
              HasSubstr("another exchange"));
  EXPECT_THAT(check("fanout", Bindings({{"mails", ""}})), HasSubstr("it has no binding to"));
  EXPECT_EQ(check("fanout", Json("?")), "");
  EXPECT_THAT(check("x-modulus-hash", Json()), HasSubstr("routes at random or by hash"));
  options_.consumer.share_retries = false;
  EXPECT_EQ(check("fanout", two_keys), "");
  exchange["arguments"] = {{"alternate-exchange", "all"}};
  EXPECT_EQ(check("topic", Json::array()), "");
}

TEST_F(QueueRules, FollowTheDeadLettersOfTheWorkQueue) {
  const auto check = [this](const Json& arguments, const Json& exchange, const Json& bindings) {
    return Lines(
        CheckWorkQueue(Facts(options_, {{"/queues/shop/or.ders", With(arguments)},
                                        {"/queues/shop/dead", With({})},
                                        {"/exchanges/shop/dlx", exchange},
                                        {"/exchanges/shop/dlx/bindings/source", bindings}})));
  };
  const Json to_dlx = {{"x-dead-letter-exchange", "dlx"}};
  const Json by_key = {{"x-dead-letter-exchange", "dlx"}, {"x-dead-letter-routing-key", "other"}};
  const Json direct = {{"type", "direct"}};
  const Json bound = Bindings({{"dead", "k"}});
  EXPECT_THAT(check(to_dlx, direct, Json::array()), ElementsAre(HasSubstr("routes to no queue")));
  EXPECT_THAT(check(to_dlx, direct, bound), ElementsAre(StartsWith("ok: ")));
  EXPECT_THAT(check(by_key, direct, bound), ElementsAre(HasSubstr("the routing key 'other'")));
  EXPECT_THAT(check(by_key, {{"type", "fanout"}}, bound), ElementsAre(StartsWith("ok: ")));
  EXPECT_THAT(check(by_key, {{"arguments", {{"alternate-exchange", "all"}}}}, Json::array()),
              ElementsAre(StartsWith("ok: ")));
  EXPECT_THAT(check(to_dlx, direct, Json()), ElementsAre(StartsWith("ok: ")));
  const Json to_queue = {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "gone"}};
  EXPECT_THAT(check(to_queue, {}, {}), ElementsAre(HasSubstr("'gone', which does not exist")));
  const Json to_itself = {{"x-dead-letter-exchange", ""}};
  EXPECT_THAT(check(to_itself, {}, {}), IsEmpty());
  options_.consumer.retry.on_limit = OnLimit::kReject;
  EXPECT_THAT(check(to_itself, {}, {}), ElementsAre(HasSubstr("comes back, and is parked then")));
  EXPECT_THAT(check({}, {}, {}), ElementsAre(HasSubstr("it has no dead-letter exchange")));
  EXPECT_THAT(check(to_dlx, {{"type", "fanout"}}, Bindings({{"or.ders", ""}})),
              ElementsAre(HasSubstr("comes back, and is parked then")));
  EXPECT_THAT(check(to_dlx, {{"type", "fanout"}}, Bindings({{"or.ders", ""}, {"dead", ""}})),
              ElementsAre(StartsWith("ok: ")));
}

// A message whose attempts are used up has returned through the default exchange, with the name of
// its queue as routing key.
TEST_F(QueueRules, FollowTheRoutingKeyOfRejectedMessages) {
  const auto check = [this](const std::string& type, const std::string& key) {
    const Findings findings = CheckWorkQueue(
        Facts(options_, {{"/queues/shop/or.ders", With({{"x-dead-letter-exchange", "dlx"}})},
                         {"/exchanges/shop/dlx", {{"type", type}}},
                         {"/exchanges/shop/dlx/bindings/source", Bindings({{"dead", key}})}}));
    return findings.size() == 1 && findings[0].result == Finding::Result::kOk;
  };
  EXPECT_TRUE(check("direct", "order.placed"));
  options_.consumer.retry.on_limit = OnLimit::kReject;
  EXPECT_FALSE(check("direct", "order.placed"));
  EXPECT_TRUE(check("direct", "or.ders"));
  EXPECT_TRUE(check("topic", "or.*"));
  EXPECT_FALSE(check("topic", "order.#"));
  EXPECT_TRUE(check("headers", "order.placed"));
  options_.consumer.retry.max_attempts = 1;
  EXPECT_TRUE(check("direct", "order.placed")) << "with the routing key of its publisher";
  options_.consumer.retry.max_attempts = 2;
  options_.consumer.work_exchange = "shop";
  EXPECT_TRUE(check("direct", "order.placed")) << "with the routing key of its publisher";
}

TEST_F(QueueRules, ReportConsumersOfTheParkedQueue) {
  options_.consumer.parked_queue = "parked";
  const auto check = [this](const Json& queue) {
    return Lines(CheckParkedQueue(Facts(options_, {{"/queues/shop/parked", queue}})));
  };
  EXPECT_THAT(check(Queue({{"consumers", 0}})), IsEmpty());
  EXPECT_THAT(check(Queue({{"consumers", 1}})), ElementsAre(StartsWith("warning: it has 1")));
}

TEST_F(QueueRules, ReportIfRelevantPoliciesAreUnknown) {
  QueueFacts facts =
      Facts(options_, {{"/queues/shop/or.ders", {{"type", "classic"}, {"durable", true}}}});
  EXPECT_THAT(CheckWorkQueue(facts), IsEmpty());
  facts.policies.user = Json::array({{{"name", "p"}, {"definition", {{"expires", 1}}}}});
  EXPECT_THAT(Lines(CheckWorkQueue(facts)), ElementsAre(HasSubstr("its policies are not known")));
}

}  // namespace retryq::cli::queue_rules_test
