#include "cli/doctor/queue_rules.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/doctor/policy_rules.h"
#include "cli/doctor/remedy_text.h"
#include "cli/management/json_fields.h"
#include "cli/management/queue_settings.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

// A setting of a queue and its source.
struct Setting {
  Json value;
  std::string source;  // "its argument x-message-ttl" or "policy 'a'"
  bool is_argument;    // which cannot be changed
};

// The names of the policies that apply to the queue.
std::string PolicySource(const KeptQueue& queue, const char* key) {
  const auto sets = [key](const Json& policies, const std::optional<std::string>& name) {
    return name && !FieldOf(FieldOf(PolicyNamed(policies, *name), "definition"), key).is_null();
  };
  const std::optional<std::string> policy = TextOf(queue.json, "policy");
  const std::optional<std::string> of_operator = TextOf(queue.json, "operator_policy");
  const bool is_operators =
      of_operator &&
      (!policy || (sets(queue.operator_policies, of_operator) && !sets(queue.policies, policy)));
  if (is_operators) return absl::StrCat("operator policy ", InQuotes(*of_operator));
  return policy ? absl::StrCat("policy ", InQuotes(*policy)) : "a policy";
}

std::optional<Setting> SettingOf(const KeptQueue& queue, const char* key) {
  const std::optional<QueueSetting> setting = QueueSettingOf(queue.json, key);
  if (!setting) return std::nullopt;
  return Setting{.value = setting->value,
                 .source = setting->is_argument ? absl::StrCat("its argument x-", key)
                                                : PolicySource(queue, key),
                 .is_argument = setting->is_argument};
}

std::optional<Setting> LimitOf(const KeptQueue& queue, const char* key) {
  std::optional<Setting> limit = SettingOf(queue, key);
  if (!limit || !limit->value.is_number()) return std::nullopt;
  return limit;
}

// A length limit and its key.
std::optional<std::pair<Setting, const char*>> LengthLimitOf(const KeptQueue& queue) {
  const std::vector<LengthLimit> limits = LengthLimitsOf(queue.json);
  if (limits.empty()) return std::nullopt;
  const char* const key = limits.front().key;
  return std::pair(*SettingOf(queue, key), key);
}

bool RefusesWhenFull(const KeptQueue& queue) { return RefusalOf(queue.json).has_value(); }

bool IsOfType(const KeptQueue& queue, const char* type) {
  return TextOf(queue.json, "type") == type;
}

// How often a message of a quorum queue can be returned before a worker moves it behind the others
// (doc/queue_types.md).
constexpr std::int64_t kMovedAfter = 10;

bool HasDeadLetterExchange(const KeptQueue& queue) {
  return SettingOf(queue, "dead-letter-exchange").has_value();
}

std::string SettingText(const Setting& setting) { return JsonLine(setting.value); }

// The remedy for a queue that must be declared differently, as it cannot be changed.
std::string DeclareAgain(const KeptQueue& queue, const std::string& how) {
  return absl::StrCat("once it is empty, delete it (rabbitmqctl delete_queue -p ",
                      ForShell(queue.vhost), " --if-empty ", OperandForShell(queue.name),
                      ") and declare it ", how);
}

// The keys that remove messages; one command removes all of them.
std::vector<std::string> KeysThatTakeAway(const KeptQueue& queue) {
  std::vector<std::string> keys = {"message-ttl",        "expires",           "delivery-limit",
                                   "delayed-retry-type", "delayed-retry-min", "delayed-retry-max"};
  if (!RefusesWhenFull(queue)) {
    keys.insert(keys.end(), {"max-length", "max-length-bytes", "overflow"});
  }
  return keys;
}

std::string RemedyFor(const KeptQueue& queue, const Setting& setting, const char* key,
                      const std::vector<std::string>& keys) {
  if (setting.is_argument) return DeclareAgain(queue, absl::StrCat("without x-", key));
  const std::string command = WithoutKeysCommand(
      queue.json, queue.policies, queue.operator_policies, keys, queue.own_names, queue.vhost);
  if (!command.empty()) return command;
  return absl::StrCat("take ", key, " out of ", setting.source, ", or let its pattern leave out '^",
                      Escaped(queue.name), "$'");
}

// The finding that messages leave the queue without a consumer.
Finding TakenAway(const KeptQueue& queue, const Setting& setting, const char* key,
                  const std::string& what) {
  Finding finding =
      Problem(queue.check,
              absl::StrCat(setting.source, " sets ", key, " ", SettingText(setting), ": ", what,
                           HasDeadLetterExchange(queue) ? " to the queue's own dead-letter exchange"
                                                        : " for good"),
              RemedyFor(queue, setting, key, KeysThatTakeAway(queue)));
  if (HasDeadLetterExchange(queue)) finding.result = Finding::Result::kWarning;
  return finding;
}

void AddTo(std::vector<Finding>& findings, std::optional<Finding> finding) {
  if (finding) findings.push_back(*std::move(finding));
}

std::vector<Finding> CheckKept(const KeptQueue& queue) {
  std::vector<Finding> findings;
  AddTo(findings, CheckStream(queue));
  if (!findings.empty()) return findings;  // other settings do not matter for a stream
  AddTo(findings, CheckExclusive(queue));
  AddTo(findings, CheckAutoDelete(queue));
  AddTo(findings, CheckDurable(queue));
  AddTo(findings, CheckMessageTtl(queue));
  AddTo(findings, CheckExpires(queue));
  AddTo(findings, CheckDropHead(queue));
  AddTo(findings, CheckPolicyThatRefuses(queue));
  return findings;
}

}  // namespace

std::optional<Finding> CheckStream(const KeptQueue& queue) {
  if (!IsOfType(queue, "stream")) return std::nullopt;
  return Problem(queue.check, "it is a stream, which messages cannot be taken off",
                 "use a classic or quorum queue, by another name");
}

std::optional<Finding> CheckExclusive(const KeptQueue& queue) {
  if (BoolOf(queue.json, "exclusive") != true) return std::nullopt;
  return Problem(queue.check,
                 "it is exclusive: only the connection that declared it can use it, and it goes "
                 "with that connection, messages included",
                 "declare it without exclusive, and durable");
}

std::optional<Finding> CheckAutoDelete(const KeptQueue& queue) {
  if (BoolOf(queue.json, "auto_delete") != true) return std::nullopt;
  return Problem(queue.check,
                 "it is auto-delete: it goes with its last consumer, as when a connection is lost, "
                 "and messages that wait for a retry find no queue to return to",
                 DeclareAgain(queue, "without auto-delete"));
}

std::optional<Finding> CheckDurable(const KeptQueue& queue) {
  // Exclusive queues are never durable.
  if (BoolOf(queue.json, "durable") != false || BoolOf(queue.json, "exclusive") == true) {
    return std::nullopt;
  }
  return Problem(queue.check, "it is not durable: a restart of the broker deletes it",
                 DeclareAgain(queue, "durable"));
}

std::optional<Finding> CheckMessageTtl(const KeptQueue& queue) {
  const std::optional<Setting> ttl = LimitOf(queue, "message-ttl");
  if (!ttl) return std::nullopt;
  return TakenAway(queue, *ttl, "message-ttl", "what waits longer than that leaves the queue");
}

std::optional<Finding> CheckExpires(const KeptQueue& queue) {
  const std::optional<Setting> expires = LimitOf(queue, "expires");
  if (!expires) return std::nullopt;
  return Problem(queue.check,
                 absl::StrCat(expires->source, " sets expires ", SettingText(*expires),
                              ": without a consumer for that long the queue is deleted, messages "
                              "included"),
                 RemedyFor(queue, *expires, "expires", KeysThatTakeAway(queue)));
}

std::optional<Finding> CheckDropHead(const KeptQueue& queue) {
  if (RefusesWhenFull(queue)) return std::nullopt;
  const auto limit = LengthLimitOf(queue);
  if (!limit) return std::nullopt;
  return TakenAway(queue, limit->first, limit->second,
                   "when the queue is full, each new message pushes the oldest one out");
}

std::optional<Finding> CheckPolicyThatRefuses(const KeptQueue& queue) {
  const std::optional<QueueSetting> refusal = RefusalOf(queue.json);
  const auto limit = LengthLimitOf(queue);
  if (!refusal || refusal->is_argument || !limit || limit->first.is_argument ||
      !IsOfType(queue, "classic")) {
    return std::nullopt;
  }
  const auto& [setting, key] = *limit;
  return Warning(
      queue.check,
      absl::StrCat(setting.source, " sets ", key, " ", SettingText(setting), ", and ",
                   PolicySource(queue, "overflow"), " sets overflow ",
                   Printable(refusal->value.get<std::string>(), 40),
                   ": where that begins to apply to a classic queue, RabbitMQ first drops its "
                   "oldest messages, until no more than that are left, and only then refuses new "
                   "ones"),
      absl::StrCat("leave the policy as it is while more than that are in the queue; ",
                   DeclareAgain(queue,
                                "with the argument x-overflow reject-publish, or as a quorum "
                                "queue: neither drops any")));
}

std::optional<Finding> CheckRefusesWhenFull(const KeptQueue& queue, QueueType delay_queues) {
  const auto limit = LengthLimitOf(queue);
  if (!limit || !RefusesWhenFull(queue) || !IsOfType(queue, "classic") ||
      delay_queues != QueueType::kClassic) {
    return std::nullopt;
  }
  const auto& [setting, key] = *limit;
  return Problem(
      queue.check,
      absl::StrCat(setting.source, " sets ", key, " ", SettingText(setting),
                   ", and a full queue refuses messages: retries that come due while it is full "
                   "are dropped by their classic delay queues"),
      absl::StrCat("retry by --queue-type quorum, which keeps them until there is room; or ",
                   RemedyFor(queue, setting, key, {"max-length", "max-length-bytes", "overflow"})));
}

std::optional<Finding> CheckQuorumBesideClassic(const KeptQueue& queue, QueueType delay_queues) {
  if (!IsOfType(queue, "quorum") || delay_queues != QueueType::kClassic) return std::nullopt;
  return Warning(queue.check,
                 "it is a quorum queue, and the delay queues are classic: retries that come due "
                 "while it has no leader, as during a restart of the broker, are dropped",
                 "retry by --queue-type quorum");
}

std::optional<Finding> CheckDelayedRetry(const KeptQueue& queue) {
  const std::optional<Setting> type = SettingOf(queue, "delayed-retry-type");
  if (!type || !type->value.is_string() || !IsOfType(queue, "quorum") ||
      type->value == "disabled") {
    return std::nullopt;
  }
  return Warning(queue.check,
                 absl::StrCat(type->source, " sets delayed-retry-type ",
                              Printable(type->value.get<std::string>(), 40),
                              ": from RabbitMQ 4.3 on the broker itself delays what is returned to "
                              "the queue, at a stop of a worker too"),
                 RemedyFor(queue, *type, "delayed-retry-type", KeysThatTakeAway(queue)));
}

std::optional<Finding> CheckDeliveryLimit(const KeptQueue& queue, const RetryOptions& retry) {
  const std::optional<Setting> limit = LimitOf(queue, "delivery-limit");
  if (!limit || limit->value < 0 || !IsOfType(queue, "quorum")) return std::nullopt;
  const bool parks_before = retry.count_redeliveries != CountRedeliveries::kNever &&
                            retry.max_attempts > 0 &&
                            retry.max_attempts < static_cast<std::uint64_t>(kMovedAfter);
  const std::int64_t needed =
      parks_before ? static_cast<std::int64_t>(retry.max_attempts) : kMovedAfter;
  if (limit->value > needed) return std::nullopt;
  return TakenAway(
      queue, *limit, "delivery-limit",
      absl::StrCat("each crash of a worker counts for every message that it had prefetched, and "
                   "the queue needs a limit above ",
                   needed, "; what comes back more often than the limit leaves the queue"));
}

std::vector<Finding> CheckKeptWorkQueue(const KeptQueue& queue, QueueType delay_queues,
                                        const RetryOptions& retry) {
  std::vector<Finding> findings = CheckKept(queue);
  AddTo(findings, CheckRefusesWhenFull(queue, delay_queues));
  AddTo(findings, CheckQuorumBesideClassic(queue, delay_queues));
  AddTo(findings, CheckDelayedRetry(queue));
  AddTo(findings, CheckDeliveryLimit(queue, retry));
  return findings;
}

std::vector<Finding> CheckKeptParkedQueue(const KeptQueue& queue) { return CheckKept(queue); }

std::optional<Finding> CheckExchangeType(const Json& exchange) {
  static constexpr const char* kScattering[] = {"x-random", "x-local-random", "x-consistent-hash",
                                                "x-modulus-hash"};
  const std::string type = TextOf(exchange, "type").value_or("");
  if (std::find(std::begin(kScattering), std::end(kScattering), type) == std::end(kScattering)) {
    return std::nullopt;
  }
  return Problem("work exchange",
                 absl::StrCat("it is of type ", type,
                              ", which routes at random or by hash: a retry may arrive in another "
                              "queue, whose worker acks it unseen, so that it is lost"),
                 "leave out --work-exchange: retries then return straight to their queue");
}

namespace {

using SettingKeys = std::vector<std::string>;

// Returns whether a message can reach both queues.
bool ShareMessages(const std::string& type, const SettingKeys& ours, const SettingKeys& theirs) {
  if (type != "direct" && type != "topic") return true;
  const auto is_pattern = [&](const std::string& key) {
    return type == "topic" && key.find_first_of("*#") != std::string::npos;
  };
  return std::any_of(ours.begin(), ours.end(), [&](const std::string& key) {
    return is_pattern(key) || std::any_of(theirs.begin(), theirs.end(), [&](const auto& other) {
             return other == key || is_pattern(other);
           });
  });
}

}  // namespace

std::optional<Finding> CheckWorkBindings(const Json& exchange, const Json& bindings,
                                         const DoctorOptions& options) {
  if (!bindings.is_array() || options.queue.empty()) return std::nullopt;
  std::map<std::string, SettingKeys> queues;
  bool leads_on = false;  // to another exchange, and from there to any queue
  for (const Json& binding : bindings) {
    if (TextOf(binding, "destination_type") == "queue") {
      queues[TextOf(binding, "destination").value_or("")].push_back(
          TextOf(binding, "routing_key").value_or(""));
    } else {
      leads_on = true;
    }
  }
  const SettingKeys ours = queues[options.queue];
  queues.erase(options.queue);
  if (ours.empty() && !leads_on) {
    return Warning("work exchange",
                   absl::StrCat("no binding leads from it to ", InQuotes(options.queue),
                                ": what came through it does not come back"),
                   "bind the queue to it, or leave out --work-exchange");
  }
  const std::string type = TextOf(exchange, "type").value_or("");
  std::erase_if(queues,
                [&](const auto& queue) { return !ShareMessages(type, ours, queue.second); });
  if (!options.share_retries || (queues.empty() && !leads_on)) return std::nullopt;
  return Warning(
      "work exchange",
      absl::StrCat(
          "it also leads to ",
          queues.empty() ? "another exchange" : InQuotes(queues.begin()->first),
          queues.size() > 1 ? absl::StrCat(" and ", queues.size() - 1, " more queues") : "",
          ": with --share-retries each of them handles every retry again"),
      "leave out --share-retries: the queue that failed then takes the retry alone");
}

bool LeadsNowhere(const Json& exchange, const Json& bindings, const std::string& key) {
  if (!bindings.is_array()) return false;
  if (!FieldOf(FieldOf(exchange, "arguments"), "alternate-exchange").is_null()) return false;
  const bool by_key = TextOf(exchange, "type") == "direct" && !key.empty();
  return std::none_of(bindings.begin(), bindings.end(), [&](const Json& binding) {
    return !by_key || TextOf(binding, "routing_key") == key;
  });
}

Finding CheckRejectionUnseen() {
  return Warning(
      "work queue",
      "only the management API shows whether it has a dead-letter exchange: without one, "
      "--on-limit reject drops each message whose attempts are used up",
      "say where the management API is with --management, or leave out --on-limit reject");
}

Finding DeadLettersLost(const KeptQueue& queue, const std::string& why, const std::string& remedy) {
  return Problem(queue.check, why + ": what is rejected, or expires in the work queue, is dropped",
                 remedy);
}

std::optional<Finding> CheckConsumed(const std::string& queue, std::uint32_t ready,
                                     std::uint32_t consumers) {
  if (ready == 0 || consumers > 0) return std::nullopt;
  return Warning(
      "work queue",
      absl::StrCat(ready, " messages are ready in ", InQuotes(queue), " and nothing consumes them"),
      absl::StrCat("start a worker: retryq work --queue ", ForShell(queue),
                   "; a worker that runs and does not consume has opened its circuit breaker "
                   "(breaker_opened in its log), or cannot run COMMAND (paused)"));
}

std::optional<Finding> CheckNothingParked(const DoctorOptions& options, std::uint32_t parked) {
  if (parked == 0) return std::nullopt;
  const std::string& queue = options.parked_queue;
  const bool is_by_name = queue == options.queue + ".parked";
  return Warning(
      "parked queue", absl::StrCat(parked, " messages were given up and wait in ", InQuotes(queue)),
      absl::StrCat("see why, then replay or drop them: retryq parked list --queue ",
                   ForShell(options.queue), is_by_name ? "" : " --parked " + ForShell(queue)));
}

}  // namespace retryq::cli
