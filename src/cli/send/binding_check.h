#ifndef RETRYQ_CLI_SEND_BINDING_CHECK_H_
#define RETRYQ_CLI_SEND_BINDING_CHECK_H_

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/management/management_url.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/outgoing_message.h"

namespace retryq::cli {

// Whether a binding of an exchange takes messages with this routing key. `exchange` and `bindings`
// as the management API has them. True where that cannot be told: another type than direct, fanout
// and topic, an alternate exchange, a policy that may set one.
bool LeadsToAQueue(const nlohmann::json& exchange, const nlohmann::json& bindings,
                   std::string_view routing_key);

// Looks, before a message is published to an exchange with a delay, whether that leads to a queue:
// the broker drops what leads nowhere when it is due, and reports that to nobody. Only the
// management API knows the bindings. What it has answered of an exchange is used for five seconds.
class BindingCheck {
 public:
  explicit BindingCheck(amqp::ConnectionOptions broker) : broker_(std::move(broker)) {}

  // kNotFound if no queue would get the message; kUnavailable if that cannot be looked up. Blocks.
  absl::Status Check(const OutgoingMessage& message);

 private:
  struct Known {
    absl::Time until = absl::InfinitePast();
    absl::Status looked_up = {};
    std::shared_ptr<const nlohmann::json> exchange = nullptr;
    std::shared_ptr<const nlohmann::json> bindings = nullptr;
  };
  Known LookUp(const std::string& exchange) const;

  const amqp::ConnectionOptions broker_;
  // By RETRYQ_MANAGEMENT_URL, once that was looked for.
  std::optional<std::optional<ManagementUrl>> management_;
  std::map<std::string, Known> known_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_BINDING_CHECK_H_
