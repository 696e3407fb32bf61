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

// Returns whether a binding of an exchange matches this routing key. `exchange` and `bindings` are
// replies of the management API. True if it cannot be decided: for types other than direct, fanout
// and topic, and if there is an alternate exchange or a policy that may set one.
bool LeadsToAQueue(const nlohmann::json& exchange, const nlohmann::json& bindings,
                   std::string_view routing_key);

// Checks, before a message is published to an exchange with a delay, whether the exchange routes it
// to a queue: when a message that cannot be routed is due, the broker drops it without a report.
// Only the management API knows the bindings. Its reply about an exchange is cached for five
// seconds.
class BindingCheck {
 public:
  explicit BindingCheck(amqp::ConnectionOptions broker) : broker_(std::move(broker)) {}

  // Returns kNotFound if no queue would receive the message, kUnavailable if this cannot be looked
  // up. Blocks.
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
  // From RETRYQ_MANAGEMENT_URL; not set before the first look.
  std::optional<std::optional<ManagementUrl>> management_;
  std::map<std::string, Known> known_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_SEND_BINDING_CHECK_H_
