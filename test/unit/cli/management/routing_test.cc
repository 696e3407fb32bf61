#include <nlohmann/json.hpp>

#include "cli/management/management_api.h"
#include "support/test.h"

namespace retryq::cli::routing_test {

using Json = nlohmann::json;

Json Binding(const std::string& key, const Json& arguments = Json::object()) {
  return {{"destination", "orders"},
          {"destination_type", "queue"},
          {"routing_key", key},
          {"arguments", arguments}};
}

bool Leads(const Json& exchange, const std::string& bound, const std::string& key) {
  return !RouteOf(exchange, Json::array({Binding(bound)}), Json(), {.routing_key = key}).is_empty();
}

TEST(RouteOf, MatchesTopicsAsTheBrokerDoes) {
  const Json topic = {{"type", "topic"}};
  for (const char* pattern : {"order.placed", "order.*", "*.placed", "#", "order.#", "#.placed",
                              "order.placed.#", "#.order.#.placed", "*.#", "#.#.#", "*.*"}) {
    EXPECT_TRUE(Leads(topic, pattern, "order.placed")) << pattern;
  }
  for (const char* pattern :
       {"order", "order.", "*", "*.*.*", "order.placed.*", "#.order", "", "order.*.placed"}) {
    EXPECT_FALSE(Leads(topic, pattern, "order.placed")) << pattern;
  }
  EXPECT_TRUE(Leads(topic, "", ""));
}

TEST(RouteOf, MatchesAPatternOfManyWordsInTime) {
  std::string pattern;
  std::string key;
  for (int i = 0; i < 60; ++i) pattern += "#.";
  for (int i = 0; i < 120; ++i) key += "a.";
  EXPECT_FALSE(Leads({{"type", "topic"}}, pattern + "b", key + "a"));
}

TEST(RouteOf, MatchesHeadersAsTheBrokerDoes) {
  const amqp::Table headers = {{"kind", "book"}, {"pages", std::int64_t{7}}, {"new", true}};
  const auto leads = [&headers](const Json& arguments) {
    return !RouteOf({{"type", "headers"}}, Json::array({Binding("", arguments)}), Json(),
                    {.routing_key = "", .headers = &headers})
                .is_empty();
  };
  for (const Json& arguments :
       {Json{{"kind", "book"}}, Json{{"kind", "book"}, {"pages", 7}, {"new", true}},
        Json{{"x-match", "any"}, {"kind", "film"}, {"pages", 7}}, Json::object(),
        Json{{"x-match", "all-with-x"}, {"kind", "film"}},
        Json{{"kind", "book"}, {"x-other", 1}}}) {
    EXPECT_TRUE(leads(arguments)) << arguments;
  }
  for (const Json& arguments :
       {Json{{"kind", "film"}}, Json{{"kind", "book"}, {"pages", 8}}, Json{{"old", true}},
        Json{{"new", false}}, Json{{"x-match", "any"}, {"kind", "film"}},
        Json{{"x-match", "any"}}}) {
    EXPECT_FALSE(leads(arguments)) << arguments;
  }
}

TEST(RouteOf, AssumesAMatchThatCannotBeExcluded) {
  EXPECT_TRUE(Leads({{"type", "direct"}}, "k", "k"));
  EXPECT_FALSE(Leads({{"type", "direct"}}, "#", "k"));
  for (const char* type : {"fanout", "headers", "x-random"}) {
    EXPECT_TRUE(Leads({{"type", type}}, "other", "k")) << type;
    EXPECT_TRUE(RouteOf({{"type", type}}, Json::array(), Json(), {.routing_key = "k"}).is_empty())
        << type;
  }
  EXPECT_TRUE(Leads({{"type", "direct"}, {"policy", "p"}}, "a", "k"));
  EXPECT_FALSE(
      RouteOf({{"type", "direct"}}, Json("not a list"), Json(), {.routing_key = "k"}).is_empty());
  EXPECT_FALSE(RouteOf({{"type", "direct"}}, Json::array({Binding("a")}), Json(), {}).is_empty());
}

TEST(RouteOf, UsesTheAlternateExchangeIfNoBindingMatches) {
  const Json exchange = {{"type", "direct"}, {"arguments", {{"alternate-exchange", "rest"}}}};
  const Json bindings = Json::array({Binding("a")});
  EXPECT_THAT(RouteOf(exchange, bindings, Json(), {.routing_key = "k"}).exchanges,
              ElementsAre("rest"));
  const Route matched = RouteOf(exchange, bindings, Json(), {.routing_key = "a"});
  EXPECT_THAT(matched.queues, ElementsAre("orders"));
  EXPECT_THAT(matched.exchanges, ElementsAre());
}

TEST(RouteOf, UsesTheAlternateExchangeOfAPolicy) {
  const Json exchange = {{"type", "direct"}, {"policy", "a/b"}, {"vhost", "/"}};
  EXPECT_EQ(PathOfPolicy(exchange), "/policies/%2F/a%2Fb");
  const auto route = [&exchange](const Json& policy) {
    return RouteOf(exchange, Json::array({Binding("a")}), policy, {.routing_key = "k"});
  };
  EXPECT_THAT(route({{"definition", {{"alternate-exchange", "rest"}}}}).exchanges,
              ElementsAre("rest"));
  EXPECT_TRUE(route({{"definition", {{"federation-upstream-set", "all"}}}}).is_empty());
  EXPECT_TRUE(route(Json()).may_lead_on);
  Json with_argument = exchange;
  with_argument["arguments"]["alternate-exchange"] = "other";
  EXPECT_EQ(PathOfPolicy(with_argument), "");
  EXPECT_EQ(PathOfPolicy({{"type", "direct"}}), "");
}

}  // namespace retryq::cli::routing_test
