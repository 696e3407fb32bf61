#ifndef RETRYQ_CLI_MANAGEMENT_ROUTING_H_
#define RETRYQ_CLI_MANAGEMENT_ROUTING_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retryq/amqp/table.h"

namespace retryq::cli {

// Where an exchange routes a message.
struct Route {
  std::vector<std::string> queues;
  // Exchanges to which the message is routed: by bindings or, if none matches, the alternate
  // exchange.
  std::vector<std::string> exchanges;
  // Whether the message may also reach unknown destinations, such as the alternate exchange of a
  // policy that cannot be read.
  bool may_lead_on = false;

  bool is_empty() const { return queues.empty() && exchanges.empty() && !may_lead_on; }
};

// The known parts of the message. If a part is not known, a binding that depends on it counts as
// matching.
struct RoutedMessage {
  std::optional<std::string_view> routing_key;
  const amqp::Table* headers = nullptr;
};

// The path of the policy that may set the alternate exchange; empty if there is none. `exchange` is
// the JSON of GET /api/exchanges/VHOST/NAME.
std::string PathOfPolicy(const nlohmann::json& exchange);

// `bindings` is the JSON of the path /bindings/source below `exchange`, and `policy` that of
// PathOfPolicy, null if it is not known; they may have any content. All bindings of exchanges of
// types other than direct, fanout, topic and headers match.
Route RouteOf(const nlohmann::json& exchange, const nlohmann::json& bindings,
              const nlohmann::json& policy, const RoutedMessage& message);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_ROUTING_H_
