#include "cli/doctor/management_checks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/doctor/policy_rules.h"
#include "cli/management/json_fields.h"
#include "cli/management/management_answer.h"
#include "cli/management/queue_settings.h"

namespace retryq::cli {
namespace {

constexpr char kBindingsFrom[] = "/bindings/source";

std::optional<std::string> TextSetting(const nlohmann::json& queue, const char* key) {
  const std::optional<QueueSetting> setting = QueueSettingOf(queue, key);
  if (!setting || !setting->value.is_string()) return std::nullopt;
  return setting->value.get<std::string>();
}

}  // namespace

ManagementChecks::ManagementChecks(ManagementApi& api, const DoctorOptions& options)
    : api_(api), options_(options) {
  policies_ = Get("policies").value_or(nullptr);
  operator_policies_ = Get("operator-policies").value_or(nullptr);
}

absl::StatusOr<nlohmann::json> ManagementChecks::Get(const std::string& kind,
                                                     const std::string& name,
                                                     const std::string& more) {
  auto answer =
      api_.Get(absl::StrCat(VhostPath(kind, options_.place.connection.vhost, name), more));
  if (!answer.ok()) return answer.status();
  return std::move(answer->json);
}

// Returns a queue as the management API shows it. The policies' effect is computed from the
// policies if all are readable, as the API's statistics are seconds old. If the queue does not
// exist and a worker would declare it, returns the queue that this would create. Null if it is
// missing or not visible.
nlohmann::json ManagementChecks::KeptQueueOf(const std::string& name,
                                             std::optional<QueueType> made_as) {
  if (name.empty()) return nullptr;
  const auto answer = Get("queues", name);
  nlohmann::json queue = answer.value_or(nullptr);
  if (absl::IsNotFound(answer.status()) && made_as) {
    queue = {{"type", *made_as == QueueType::kQuorum ? "quorum" : "classic"}};
  }
  if (!queue.is_object()) return nullptr;
  const bool is_shown = FieldOf(queue, "effective_policy_definition").is_object();
  is_known_ = is_shown || (policies_.is_array() && operator_policies_.is_array());
  if (!is_shown || (CanBeRead(policies_) && CanBeRead(operator_policies_))) {
    queue.update(WithPolicies(name,
                              TextOf(queue, "type") == "quorum" ? PolicyTarget::kQuorumQueue
                                                                : PolicyTarget::kClassicQueue,
                              policies_, operator_policies_, &queue));
  }
  return queue;
}

KeptQueue ManagementChecks::Kept(const std::string& check, const std::string& name,
                                 const nlohmann::json& queue) const {
  return {.check = check,
          .name = name,
          .vhost = options_.place.connection.vhost,
          .own_names = OwnNames(options_),
          .json = queue,
          .policies = policies_,
          .operator_policies = operator_policies_};
}

std::vector<Finding> ManagementChecks::WorkQueue() {
  const nlohmann::json queue = KeptQueueOf(options_.queue, options_.declare_queue);
  if (queue.is_null()) return {};
  const KeptQueue kept = Kept("work queue", options_.queue, queue);
  std::vector<Finding> findings =
      CheckKeptWorkQueue(kept, options_.delay_queues.queue_type, options_.retry);
  for (Finding& finding : DeadLetters(kept)) findings.push_back(std::move(finding));
  if (!is_known_) {
    findings.push_back(Warning(kept.check,
                               "it is not known which policies apply to it, and one may take "
                               "messages away: the broker has no statistics of the queue yet, and "
                               "does not show its policies to this user",
                               "look again in some seconds, or give the user the tag "
                               "'policymaker' (rabbitmqctl set_user_tags)"));
  }
  return findings;
}

std::vector<Finding> ManagementChecks::ParkedQueue() {
  // The first worker declares one of the type of its delay queues.
  const nlohmann::json queue =
      KeptQueueOf(options_.parked_queue, options_.delay_queues.declare
                                             ? std::optional(options_.delay_queues.queue_type)
                                             : std::nullopt);
  if (queue.is_null()) return {};
  return CheckKeptParkedQueue(Kept("parked queue", options_.parked_queue, queue));
}

// Checks whether the queue's own dead letters reach a queue.
std::vector<Finding> ManagementChecks::DeadLetters(const KeptQueue& queue) {
  const bool rejects = options_.retry.on_limit == OnLimit::kReject;
  const std::optional<std::string> exchange = TextSetting(queue.json, "dead-letter-exchange");
  const std::string key = TextSetting(queue.json, "dead-letter-routing-key").value_or("");
  if (!exchange) {
    if (!rejects) return {};
    return {Problem(queue.check,
                    "it has no dead-letter exchange: with --on-limit reject RabbitMQ drops each "
                    "message whose attempts are used up",
                    "leave out --on-limit reject, which parks them; or give the queue a "
                    "dead-letter-exchange by a policy")};
  }
  if (exchange->empty() && !key.empty() && key != queue.name) {
    if (!absl::IsNotFound(Get("queues", key).status())) return {};
    return {DeadLettersLost(
        queue, "its dead letters go to the queue " + InQuotes(key) + ", which is not there",
        "declare that queue (retryq declare --queue)")};
  }
  if (exchange->empty()) {
    if (!rejects) return {};
    return {Warning(queue.check,
                    "its own dead letters return to itself: with --on-limit reject a message whose "
                    "attempts are used up is rejected again and again",
                    "leave out --on-limit reject, or set another dead-letter exchange")};
  }
  const std::string name = "its own dead-letter exchange " + InQuotes(*exchange);
  const auto there = Get("exchanges", *exchange);
  if (absl::IsNotFound(there.status())) {
    return {DeadLettersLost(queue, name + " is not there",
                            "declare that exchange, or take it out of the queue's arguments or "
                            "policy")};
  }
  if (!there.ok()) {
    return {Skipped(queue.check,
                    absl::StrCat(name, " cannot be seen: ", std::string(there.status().message())),
                    "")};
  }
  const auto bindings = Get("exchanges", *exchange, kBindingsFrom);
  if (bindings.ok() && LeadsNowhere(*there, *bindings, key)) {
    return {DeadLettersLost(
        queue,
        absl::StrCat(name, " leads to no queue", key.empty() ? "" : " by the key " + InQuotes(key)),
        "bind a queue to it (retryq declare --queue QUEUE --exchange EXCHANGE "
        "--routing-key KEY)")};
  }
  return {Ok(queue.check, name + " is there")};
}

std::vector<Finding> ManagementChecks::WorkExchange() {
  if (options_.work_exchange.empty()) return {};
  const auto exchange = Get("exchanges", options_.work_exchange);
  if (!exchange.ok()) return {};
  std::vector<Finding> findings;
  if (auto scattering = CheckExchangeType(*exchange)) findings.push_back(*std::move(scattering));
  const auto bindings = Get("exchanges", options_.work_exchange, kBindingsFrom);
  if (!bindings.ok()) return findings;
  if (auto leading = CheckWorkBindings(*exchange, *bindings, options_)) {
    findings.push_back(*std::move(leading));
  }
  return findings;
}

absl::StatusOr<std::vector<Finding>> CheckQueuesOfAWorker(ManagementApi& api,
                                                          const DoctorOptions& options) {
  const auto vhost = api.Get(VhostPath("queues", options.place.connection.vhost, options.queue));
  if (!vhost.ok() && !absl::IsNotFound(vhost.status())) return vhost.status();
  ManagementChecks checks(api, options);
  std::vector<Finding> findings;
  for (std::vector<Finding>& some :
       std::vector{checks.WorkQueue(), checks.WorkExchange(),
                   options.retry.on_limit == OnLimit::kPark ? checks.ParkedQueue()
                                                            : std::vector<Finding>()}) {
    for (Finding& finding : some) {
      const bool is_wrong = finding.result == Finding::Result::kProblem ||
                            finding.result == Finding::Result::kWarning;
      if (is_wrong) findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace retryq::cli
