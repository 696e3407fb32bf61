#include "cli/send/binding_check.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/header_names.h"
#include "base/quoting.h"
#include "cli/management/json_fields.h"
#include "cli/management/management_api.h"
#include "cli/management/management_flags.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr absl::Duration kTrusted = absl::Seconds(5);
constexpr std::size_t kMostKnown = 1000;

// Removes and returns the first word, up to a dot; nullopt if no word is left.
std::optional<std::string_view> TakeWord(std::optional<std::string_view>* rest) {
  if (!*rest) return std::nullopt;
  const std::size_t dot = (*rest)->find('.');
  const std::string_view word = (*rest)->substr(0, dot);
  *rest = dot == std::string_view::npos ? std::nullopt : std::optional((*rest)->substr(dot + 1));
  return word;
}

// Matches as topic exchanges do: "*" is one word, "#" any number of words.
bool MatchesTopic(std::optional<std::string_view> pattern, std::optional<std::string_view> key) {
  const std::optional<std::string_view> part = TakeWord(&pattern);
  if (!part) return !key;
  if (*part == "#") {
    for (;;) {
      if (MatchesTopic(pattern, key)) return true;
      if (!TakeWord(&key)) return false;
    }
  }
  const std::optional<std::string_view> word = TakeWord(&key);
  return word && (*part == "*" || *part == *word) && MatchesTopic(pattern, key);
}

}  // namespace

bool LeadsToAQueue(const Json& exchange, const Json& bindings, std::string_view routing_key) {
  const bool has_alternate =
      !FieldOf(FieldOf(exchange, "arguments"), "alternate-exchange").is_null() ||
      !TextOf(exchange, "policy").value_or("").empty();
  const std::string type = TextOf(exchange, "type").value_or("");
  if (has_alternate || !bindings.is_array()) return true;
  return std::any_of(bindings.begin(), bindings.end(), [&](const Json& binding) {
    const std::string key = TextOf(binding, "routing_key").value_or("");
    if (type == "direct") return key == routing_key;
    if (type == "topic") return MatchesTopic(std::string_view(key), routing_key);
    return true;
  });
}

BindingCheck::Known BindingCheck::LookUp(const std::string& exchange) const {
  Known known{.until = absl::Now() + kTrusted};
  EventLoop loop;
  ManagementApi api(loop, **management_);
  const std::string path = UrlPath({"exchanges", broker_.vhost, exchange});
  const auto found = api.Get(path);
  const auto bindings = found.ok() ? api.Get(path + "/bindings/source") : found;
  known.looked_up = bindings.status();
  if (!bindings.ok()) return known;
  known.exchange = std::make_shared<const Json>(found->json);
  known.bindings = std::make_shared<const Json>(bindings->json);
  return known;
}

absl::Status BindingCheck::Check(const OutgoingMessage& message) {
  if (!management_) management_ = ManagementByEnvironment(broker_);
  if (!*management_) {
    return absl::UnavailableError(
        "the bindings of the exchange were not checked; remedy: set RETRYQ_MANAGEMENT_URL to the "
        "URL of the management API");
  }
  // The message may have more routing keys than one.
  const auto& headers = message.headers.fields();
  if (std::any_of(headers.begin(), headers.end(),
                  [](const auto& field) { return IsRoutingHeader(field.first); })) {
    return absl::OkStatus();
  }
  if (known_.size() > kMostKnown) known_.clear();
  Known& known = known_[message.exchange];
  if (absl::Now() >= known.until) known = LookUp(message.exchange);
  if (!known.looked_up.ok()) {
    return absl::UnavailableError(absl::StrCat("the bindings of the exchange cannot be read: ",
                                               std::string(known.looked_up.message())));
  }
  if (LeadsToAQueue(*known.exchange, *known.bindings, message.routing_key)) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(
      "no queue is bound to exchange ", InQuotes(message.exchange), " for routing key ",
      InQuotes(message.routing_key), ", so the broker would drop the message when it is due"));
}

}  // namespace retryq::cli
