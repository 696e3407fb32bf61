#include <cstddef>
#include <utility>
#include <variant>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/quoting.h"
#include "cli/management/management_api.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

// Matches as topic exchanges do: "*" is one word, "#" any number of words. Takes time for each
// pair of words, whatever the pattern is.
bool MatchesTopic(const std::string& pattern, std::string_view key) {
  const std::vector<std::string> words =
      absl::StrSplit(absl::string_view(key.data(), key.size()), '.');
  std::vector<bool> matched(words.size() + 1);  // [n]: the parts so far match n words
  matched[0] = true;
  for (const absl::string_view part : absl::StrSplit(pattern, '.')) {
    std::vector<bool> next(matched.size());
    for (std::size_t i = 0; i < matched.size(); ++i) {
      if (part == "#") {
        next[i] = matched[i] || (i > 0 && next[i - 1]);
      } else {
        next[i] = i > 0 && matched[i - 1] && (part == "*" || part == words[i - 1]);
      }
    }
    matched = std::move(next);
  }
  return matched.back();
}

// Whether a header has the value that a binding requires, or the two cannot be compared.
bool HasValue(const amqp::Value& header, const Json& wanted) {
  if (const auto* text = std::get_if<std::string>(&header.variant)) {
    return !wanted.is_string() || *text == wanted.get_ref<const std::string&>();
  }
  if (const auto* number = std::get_if<std::int64_t>(&header.variant)) {
    return !wanted.is_number_integer() || wanted == *number;
  }
  if (const auto* flag = std::get_if<bool>(&header.variant)) {
    return !wanted.is_boolean() || wanted == *flag;
  }
  return true;
}

// Matches as headers exchanges do, which ignore arguments that begin with "x-".
bool MatchesHeaders(const Json& arguments, const amqp::Table& headers) {
  if (!arguments.is_object()) return true;
  const std::string match = TextOf(arguments, "x-match").value_or("all");
  if (match != "all" && match != "any") return true;
  bool all = true;
  bool any = false;
  for (const auto& [name, wanted] : arguments.items()) {
    if (name.starts_with("x-")) continue;
    const amqp::Value* const header = headers.Find(name);
    const bool matches = header != nullptr && HasValue(*header, wanted);
    all = all && matches;
    any = any || matches;
  }
  return match == "all" ? all : any;
}

bool Matches(const std::string& type, const Json& binding, const RoutedMessage& message) {
  const std::string bound = TextOf(binding, "routing_key").value_or("");
  if (type == "direct") return !message.routing_key || bound == *message.routing_key;
  if (type == "topic") return !message.routing_key || MatchesTopic(bound, *message.routing_key);
  if (type == "headers" && message.headers != nullptr) {
    return MatchesHeaders(FieldOf(binding, "arguments"), *message.headers);
  }
  return true;
}

const Json& AlternateOf(const Json& exchange) {
  return FieldOf(FieldOf(exchange, "arguments"), "alternate-exchange");
}

}  // namespace

std::string PathOfPolicy(const Json& exchange) {
  const std::string policy = TextOf(exchange, "policy").value_or("");
  if (policy.empty() || !AlternateOf(exchange).is_null()) return "";
  return UrlPath({"policies", TextOf(exchange, "vhost").value_or(""), policy});
}

Route RouteOf(const Json& exchange, const Json& bindings, const Json& policy,
              const RoutedMessage& message) {
  Route route;
  if (!bindings.is_array()) {
    route.may_lead_on = true;
    return route;
  }
  const std::string type = TextOf(exchange, "type").value_or("");
  for (const Json& binding : bindings) {
    if (!Matches(type, binding, message)) continue;
    const bool to_exchange = TextOf(binding, "destination_type") == "exchange";
    (to_exchange ? route.exchanges : route.queues)
        .push_back(TextOf(binding, "destination").value_or(""));
  }
  if (!route.is_empty()) return route;
  const Json& by_policy = FieldOf(FieldOf(policy, "definition"), "alternate-exchange");
  const Json& alternate = AlternateOf(exchange).is_null() ? by_policy : AlternateOf(exchange);
  if (alternate.is_string() && !alternate.get_ref<const std::string&>().empty()) {
    route.exchanges.push_back(alternate);
  } else {
    route.may_lead_on =
        !alternate.is_null() || (policy.is_null() && !PathOfPolicy(exchange).empty());
  }
  return route;
}

}  // namespace retryq::cli
