#include "cli/doctor/policy_rules.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/doctor/name_pattern.h"
#include "cli/doctor/remedy_text.h"
#include "cli/management/json_fields.h"
#include "cli/management/queue_settings.h"
#include "cli/text/json_line.h"
#include "retryq/delay_queue_declaration.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kFederationKeys[] = {"federation-upstream", "federation-upstream-set",
                                           "federation-upstream-pattern"};

// Returns whether the pattern matches in the name. An invalid pattern never matches.
bool Matches(const std::string& pattern, const std::string& name) {
  const std::optional<NamePattern> expression = NamePattern::Create(pattern);
  return expression && expression->IsFoundIn(name);
}

bool AppliesTo(const std::string& apply_to, PolicyTarget target) {
  if (apply_to == "all") return true;
  switch (target) {
    case PolicyTarget::kExchange:
      return apply_to == "exchanges";
    case PolicyTarget::kClassicQueue:
      return apply_to == "queues" || apply_to == "classic_queues";
    case PolicyTarget::kQuorumQueue:
      break;
  }
  return apply_to == "queues" || apply_to == "quorum_queues";
}

std::int64_t PriorityOf(const Json& policy) { return IntegerOf(policy, "priority").value_or(0); }

std::string SetPolicyCommand(bool of_operator, const std::string& vhost, std::int64_t priority,
                             const std::string& apply_to, const std::string& name,
                             const std::string& pattern, const Json& definition) {
  return absl::StrCat("rabbitmqctl ", of_operator ? "set_operator_policy" : "set_policy", " -p ",
                      ForShell(vhost), " --priority ", priority, " --apply-to ", ForShell(apply_to),
                      " ", OperandForShell(name), " ", ForShell(pattern), " ",
                      ForShell(JsonLine(definition)));
}

std::string WithoutKeysOf(const Json& policy, bool of_operator, const std::string& queue,
                          const std::vector<std::string>& keys, const std::string& own_names,
                          const std::string& vhost) {
  Json rest = FieldOf(policy, "definition");
  if (!rest.is_object()) return "";
  const std::size_t size = rest.size();
  for (const std::string& key : keys) rest.erase(key);
  if (rest.size() == size) return "";
  if (rest.empty()) return KeepOffCommand(policy, of_operator, own_names, vhost);
  return SetPolicyCommand(of_operator, vhost, PriorityOf(policy) + 1, "queues",
                          absl::StrCat(TextOf(policy, "name").value_or(""), " for ", queue),
                          absl::StrCat("^", Escaped(queue), "$"), rest);
}

bool Federates(const Json& policy) {
  const Json& definition = FieldOf(policy, "definition");
  return std::any_of(std::begin(kFederationKeys), std::end(kFederationKeys),
                     [&](const char* key) { return !FieldOf(definition, key).is_null(); });
}

}  // namespace

const Json& PolicyFor(const Json& policies, const std::string& name, PolicyTarget target,
                      std::optional<std::string_view> of_equals) {
  static const Json kNone;
  const Json* best = &kNone;
  if (!policies.is_array()) return *best;
  for (const Json& policy : policies) {
    if (!AppliesTo(TextOf(policy, "apply-to").value_or("all"), target)) continue;
    const std::int64_t priority = PriorityOf(policy);
    const bool is_worse =
        !best->is_null() && priority <= PriorityOf(*best) &&
        (priority < PriorityOf(*best) || !of_equals || TextOf(policy, "name") != of_equals);
    if (is_worse) continue;
    const std::optional<std::string> pattern = TextOf(policy, "pattern");
    if (pattern && Matches(*pattern, name)) best = &policy;
  }
  return *best;
}

const Json& PolicyNamed(const Json& policies, const std::string& name) {
  static const Json kNone;
  if (!policies.is_array()) return kNone;
  for (const Json& policy : policies) {
    if (TextOf(policy, "name") == name) return policy;
  }
  return kNone;
}

bool CanBeRead(const Json& policies) {
  return policies.is_array() &&
         std::all_of(policies.begin(), policies.end(), [](const Json& policy) {
           const std::optional<std::string> pattern = TextOf(policy, "pattern");
           return pattern && NamePattern::Create(*pattern);
         });
}

Json WithPolicies(const std::string& queue, PolicyTarget target, const Json& policies,
                  const Json& operator_policies, const Json* shown) {
  const auto best_of = [&](const Json& list, const char* field) -> const Json& {
    return PolicyFor(list, queue, target, shown ? TextOf(*shown, field) : std::nullopt);
  };
  const Json& policy = best_of(policies, "policy");
  const Json& of_operator = best_of(operator_policies, "operator_policy");
  Json effective = Json::object();
  for (const Json* each : {&policy, &of_operator}) {
    const Json& definition = FieldOf(*each, "definition");
    if (!definition.is_object()) continue;
    for (const auto& [key, value] : definition.items()) {
      const Json& other = FieldOf(effective, key.c_str());
      if (!other.is_number() || !value.is_number() || IsStricter(value, other)) {
        effective[key] = value;
      }
    }
  }
  return {{"name", queue},
          {"policy", FieldOf(policy, "name")},
          {"operator_policy", FieldOf(of_operator, "name")},
          {"effective_policy_definition", std::move(effective)}};
}

std::string OwnNames(const DoctorOptions& options) {
  std::string names = "(?:";
  for (const std::string* queue : {&options.queue, &options.parked_queue}) {
    if (!queue->empty()) absl::StrAppend(&names, Escaped(*queue), "$|");
  }
  return absl::StrCat(names, Escaped(options.delay_queues.prefix + "."), ")");
}

std::string KeepOffCommand(const Json& policy, bool of_operator, const std::string& names,
                           const std::string& vhost) {
  return SetPolicyCommand(
      of_operator, vhost, PriorityOf(policy), TextOf(policy, "apply-to").value_or("all"),
      TextOf(policy, "name").value_or(""),
      absl::StrCat("^(?!", names, ").*(?:", TextOf(policy, "pattern").value_or(""), ")"),
      FieldOf(policy, "definition"));
}

std::string WithoutKeysCommand(const Json& queue, const Json& policies,
                               const Json& operator_policies, const std::vector<std::string>& keys,
                               const std::string& own_names, const std::string& vhost) {
  const std::string name = TextOf(queue, "name").value_or("");
  std::vector<std::string> commands;
  const auto add = [&](const Json& list, const char* field, bool of_operator) {
    const std::optional<std::string> policy = TextOf(queue, field);
    if (!policy) return;
    std::string command =
        WithoutKeysOf(PolicyNamed(list, *policy), of_operator, name, keys, own_names, vhost);
    if (!command.empty()) commands.push_back(std::move(command));
  };
  add(policies, "policy", /*of_operator=*/false);
  add(operator_policies, "operator_policy", /*of_operator=*/true);
  return absl::StrJoin(commands, " && ");
}

std::vector<Finding> CheckFederation(const Json& policies, const DoctorOptions& options) {
  // Checks one example of each kind.
  const DeclareParams params =
      DelayQueueDeclaration(absl::Seconds(1), DelayTarget{}, options.delay_queues);
  const PolicyTarget queue_target = options.delay_queues.queue_type == QueueType::kQuorum
                                        ? PolicyTarget::kQuorumQueue
                                        : PolicyTarget::kClassicQueue;
  std::vector<Finding> findings;
  std::set<std::string> named;
  const auto look = [&](const std::string& name, PolicyTarget target, const char* what) {
    const Json& policy = PolicyFor(policies, name, target);
    const std::string policy_name = TextOf(policy, "name").value_or("");
    if (!Federates(policy) || !named.insert(policy_name).second) return;
    findings.push_back(Problem(
        "federation",
        absl::StrCat("policy ", InQuotes(policy_name), " federates ", what,
                     ": a message that fails here is also handled where they lead to"),
        KeepOffCommand(policy, /*of_operator=*/false, Escaped(options.delay_queues.prefix + "."),
                       options.place.connection.vhost)));
  };
  look(params.exchange->name, PolicyTarget::kExchange, "delay exchanges");
  look(params.queue.name, queue_target, "delay queues");
  return findings;
}

std::vector<Finding> CheckShovels(const Json& shovels, const DoctorOptions& options) {
  std::vector<Finding> findings;
  if (!shovels.is_array()) return findings;
  const std::string beginning = options.delay_queues.prefix + ".";
  for (const Json& shovel : shovels) {
    const Json& value = FieldOf(shovel, "value");
    for (const char* end : {"src-queue", "src-exchange", "dest-queue", "dest-exchange"}) {
      const std::string object = TextOf(value, end).value_or("");
      if (!object.starts_with(beginning)) continue;
      const std::string name = TextOf(shovel, "name").value_or("");
      findings.push_back(Problem(
          "shovels",
          absl::StrCat("shovel ", InQuotes(name), " has ", InQuotes(object), " as its ", end,
                       ": messages that wait for a retry take another way"),
          absl::StrCat("rabbitmqctl clear_parameter -p ", ForShell(options.place.connection.vhost),
                       " shovel ", OperandForShell(name))));
      break;
    }
  }
  return findings;
}

}  // namespace retryq::cli
