#ifndef RETRYQ_CLI_DOCTOR_POLICY_RULES_H_
#define RETRYQ_CLI_DOCTOR_POLICY_RULES_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/doctor_command.h"
#include "cli/doctor/doctor_report.h"

namespace retryq::cli {

enum class PolicyTarget { kExchange, kClassicQueue, kQuorumQueue };

// The policy of these (GET /api/policies/VHOST) that RabbitMQ gives to something of this name: of
// those that match, the one of the highest priority; of several of that, the one called
// `of_equals`, else the first one. Null where there is none.
const nlohmann::json& PolicyFor(const nlohmann::json& policies, const std::string& name,
                                PolicyTarget target,
                                std::optional<std::string_view> of_equals = std::nullopt);

// The policy of this name; null where there is none.
const nlohmann::json& PolicyNamed(const nlohmann::json& policies, const std::string& name);

// Whether these are policies, and all their patterns are regular expressions.
bool CanBeRead(const nlohmann::json& policies);

// What policies make of a queue, in the fields that the management API has: "policy",
// "operator_policy", "effective_policy_definition". The API itself says it some seconds late:
// `shown`, if any, only decides between policies of one priority.
nlohmann::json WithPolicies(const std::string& queue, PolicyTarget target,
                            const nlohmann::json& policies, const nlohmann::json& operator_policies,
                            const nlohmann::json* shown = nullptr);

// A regular expression for how the names begin that a worker with these options keeps messages in:
// its work queue, its parked queue and its delay queues. All commands that keep one policy off some
// of them keep it off all, so that none undoes what another did.
std::string OwnNames(const DoctorOptions& options);

// The rabbitmqctl command that keeps a policy off all names that begin with what `names` matches,
// and changes it for no other.
std::string KeepOffCommand(const nlohmann::json& policy, bool of_operator, const std::string& names,
                           const std::string& vhost);

// The rabbitmqctl commands that take these keys off one queue: what else the policy sets for it
// stays, and a policy that sets nothing else is kept off all `own_names`. `queue` has the fields
// named above. Empty where its policies set none of the keys.
std::string WithoutKeysCommand(const nlohmann::json& queue, const nlohmann::json& policies,
                               const nlohmann::json& operator_policies,
                               const std::vector<std::string>& keys, const std::string& own_names,
                               const std::string& vhost);

// Policies that federate delay queues or their exchanges, which multiplies messages (F44 in
// doc/rabbitmq_facts.md). A finding for each.
std::vector<Finding> CheckFederation(const nlohmann::json& policies, const DoctorOptions& options);

// Shovels that take messages out of delay queues, or put some in: GET
// /api/parameters/shovel/VHOST. A finding for each.
std::vector<Finding> CheckShovels(const nlohmann::json& shovels, const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_POLICY_RULES_H_
