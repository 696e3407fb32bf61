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

// Returns the policy of GET /api/policies/VHOST that RabbitMQ applies to an object of this name:
// the matching policy of the highest priority. Of several with this priority it is the one called
// `of_equals`, otherwise the first. Null without a match.
const nlohmann::json& PolicyFor(const nlohmann::json& policies, const std::string& name,
                                PolicyTarget target,
                                std::optional<std::string_view> of_equals = std::nullopt);

// Returns the policy of this name; null if there is none.
const nlohmann::json& PolicyNamed(const nlohmann::json& policies, const std::string& name);

// Returns whether these are policies with valid patterns.
bool CanBeRead(const nlohmann::json& policies);

// Computes the effect of policies on a queue, in the fields of the management API: "policy",
// "operator_policy", "effective_policy_definition". The API itself reports it some seconds later.
// `shown`, if given, only decides between policies of the same priority.
nlohmann::json WithPolicies(const std::string& queue, PolicyTarget target,
                            const nlohmann::json& policies, const nlohmann::json& operator_policies,
                            const nlohmann::json* shown = nullptr);

// A regular expression for the beginning of the names of all queues in which a worker with these
// options keeps messages: its work queue, its parked queue and its delay queues. Each command that
// excludes some of them from a policy excludes all, so that no command undoes another.
std::string OwnNames(const DoctorOptions& options);

// The rabbitmqctl command that excludes all names that begin with a match of `names` from a policy
// and does not change it for other names.
std::string KeepOffCommand(const nlohmann::json& policy, bool of_operator, const std::string& names,
                           const std::string& vhost);

// The rabbitmqctl commands that remove these keys from one queue. Other keys of its policy stay,
// and a policy without other keys excludes all `own_names`. `queue` has the fields named above.
// Empty if its policies set none of the keys.
std::string WithoutKeysCommand(const nlohmann::json& queue, const nlohmann::json& policies,
                               const nlohmann::json& operator_policies,
                               const std::vector<std::string>& keys, const std::string& own_names,
                               const std::string& vhost);

// Reports each policy that federates delay queues or their exchanges, which duplicates messages
// (F44 in doc/rabbitmq_facts.md).
std::vector<Finding> CheckFederation(const nlohmann::json& policies, const DoctorOptions& options);

// Reports each shovel that moves messages out of or into delay queues. `shovels`: GET
// /api/parameters/shovel/VHOST.
std::vector<Finding> CheckShovels(const nlohmann::json& shovels, const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_POLICY_RULES_H_
