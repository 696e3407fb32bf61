#include "cli/worker/child_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "cli/text/headers_json.h"

namespace retryq::cli {
namespace {

std::string Assignment(std::string_view name, std::string_view value) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string assignment(name);
  assignment.push_back('=');
  const std::size_t limit = assignment.size() + kMaxVariable;
  for (const char c : value) {
    if (assignment.size() >= limit) break;
    if (c == '\0') {
      assignment.append(kReplacement);
    } else {
      assignment.push_back(c);
    }
  }
  return assignment;
}

template <typename Number>
std::string TextOrNone(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : "";
}

bool SameName(std::string_view a, std::string_view b) {
  return a.substr(0, a.find('=')) == b.substr(0, b.find('='));
}

}  // namespace

void ForgetUrls() {
  ::unsetenv("RETRYQ_URL");
  ::unsetenv("RETRYQ_MANAGEMENT_URL");
}

std::vector<std::string> InheritedEnvironment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

std::vector<std::string> ChildEnvironment(const MessageFacts& message) {
  const Delivery& delivery = message.delivery;
  const amqp::Properties& properties = delivery.properties();
  const amqp::TableView headers = delivery.headers().all();
  std::vector<std::string> variables = {
      Assignment("RETRYQ_ATTEMPT", std::to_string(message.failures)),
      Assignment("RETRYQ_MAX_ATTEMPTS", std::to_string(message.max_attempts)),
      Assignment("RETRYQ_LAST_ERROR", message.last_error),
      Assignment("RETRYQ_ID", message.id),
      Assignment("RETRYQ_QUEUE", delivery.queue()),
      Assignment("RETRYQ_EXCHANGE", delivery.exchange()),
      Assignment("RETRYQ_ROUTING_KEY", delivery.routing_key()),
      Assignment("RETRYQ_MESSAGE_ID", properties.message_id.value_or("")),
      Assignment("RETRYQ_CORRELATION_ID", properties.correlation_id.value_or("")),
      Assignment("RETRYQ_CONTENT_TYPE", properties.content_type.value_or("")),
      Assignment("RETRYQ_CONTENT_ENCODING", properties.content_encoding.value_or("")),
      Assignment("RETRYQ_REPLY_TO", properties.reply_to.value_or("")),
      Assignment("RETRYQ_TYPE", properties.type.value_or("")),
      Assignment("RETRYQ_APP_ID", properties.app_id.value_or("")),
      Assignment("RETRYQ_PRIORITY", TextOrNone(properties.priority)),
      Assignment("RETRYQ_TIMESTAMP", TextOrNone(properties.timestamp)),
      Assignment("RETRYQ_EXPIRATION", properties.expiration.value_or("")),
      Assignment("RETRYQ_REDELIVERED", delivery.redelivered() ? "true" : "false"),
      Assignment("TRACEPARENT", headers.FindString("traceparent").value_or("")),
      Assignment("TRACESTATE", headers.FindString("tracestate").value_or("")),
      Assignment("RETRYQ_HEADERS", HeadersJson(delivery.headers(), kMaxVariable)),
  };
  const auto ours_end = static_cast<std::ptrdiff_t>(variables.size());
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    const auto ours = variables.begin();
    const bool replaced = std::any_of(
        ours, ours + ours_end,
        [inherited](std::string_view variable) { return SameName(variable, *inherited); });
    if (!replaced) variables.emplace_back(*inherited);
  }
  return variables;
}

}  // namespace retryq::cli
