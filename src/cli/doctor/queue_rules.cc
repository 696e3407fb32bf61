#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/doctor/doctor_rules.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;
using Result = Finding::Result;
using Keys = std::vector<std::string>;
using Sentence = std::optional<std::string>;

constexpr const char* kKeysThatTakeMessages[] = {
    "message-ttl",        "expires",           "delivery-limit",
    "delayed-retry-type", "delayed-retry-min", "delayed-retry-max",
    "max-length",         "max-length-bytes",  "overflow"};

// How often a message of a quorum queue can be returned before a worker moves it behind the others
// (doc/queue_types.md).
constexpr std::int64_t kMovedAfter = 10;

std::string NameOf(const KeptQueue& queue) {
  return queue.kind == KeptQueue::Kind::kWork ? queue.options.queue : queue.options.parked_queue;
}
const char* CheckOf(const KeptQueue& queue) {
  return queue.kind == KeptQueue::Kind::kWork ? "work queue" : "parked queue";
}
const std::string& VhostOf(const DoctorOptions& options) { return options.place.connection.vhost; }

bool IsOfType(const KeptQueue& queue, const char* type) {
  return TextOf(queue.json, "type") == type;
}
bool HasClassicDelays(const KeptQueue& queue) {
  return queue.options.delay_queues.queue_type == QueueType::kClassic;
}
bool RefusesWhenFull(const KeptQueue& queue) { return RefusalOf(queue.json).has_value(); }

// The policy that sets `key` for the queue: an operator policy only if no other one does.
std::string PolicySource(const KeptQueue& queue, const char* key) {
  std::optional<std::string> policy = TextOf(queue.json, "policy");
  const std::optional<std::string> of_operator = TextOf(queue.json, "operator_policy");
  for (const AppliedPolicy& each : PoliciesOf(queue.json, queue.policies)) {
    const bool sets = !FieldOf(FieldOf(each.json, "definition"), key).is_null();
    if (!each.is_operators && !sets && of_operator) policy.reset();
  }
  if (policy) return absl::StrCat("policy ", InQuotes(*policy));
  if (of_operator) return absl::StrCat("operator policy ", InQuotes(*of_operator));
  return "a policy";
}

// "policy 'a' sets max-length 10"
std::string Sets(const KeptQueue& queue, const char* key) {
  const std::optional<QueueSetting> setting = QueueSettingOf(queue.json, key);
  return absl::StrCat(
      setting->is_argument ? absl::StrCat("argument x-", key) : PolicySource(queue, key), " sets ",
      key, " ",
      setting->value.is_string() ? Printable(setting->value.get<std::string>(), 40)
                                 : JsonLine(setting->value));
}

// The key of a length limit; nullptr without one.
const char* LengthKey(const KeptQueue& queue) {
  const std::vector<LengthLimit> limits = LengthLimitsOf(queue.json);
  return limits.empty() ? nullptr : limits.front().key;
}

bool IsNumber(const KeptQueue& queue, const char* key) {
  const std::optional<QueueSetting> setting = QueueSettingOf(queue.json, key);
  return setting && setting->value.is_number();
}

// The delivery limit that a worker needs, as each of its crashes counts.
std::int64_t NeededDeliveryLimit(const KeptQueue& queue) {
  const RetryOptions& retry = queue.options.retry;
  const bool parks_before = retry.count_redeliveries != CountRedeliveries::kNever &&
                            retry.max_attempts > 0 &&
                            retry.max_attempts < static_cast<std::uint64_t>(kMovedAfter);
  return parks_before ? static_cast<std::int64_t>(retry.max_attempts) : kMovedAfter;
}

// The remedy for a queue that must be declared differently, as it cannot be changed.
std::string DeclareAgain(const KeptQueue& queue, const std::string& how) {
  return absl::StrCat("when it is empty, delete it (rabbitmqctl delete_queue -p ",
                      ShellQuoted(VhostOf(queue.options)), " --if-empty ",
                      OperandForShell(NameOf(queue)), ") and declare it ", how);
}

std::string SetPolicyCommand(const AppliedPolicy& policy, const std::string& vhost,
                             std::int64_t priority, const std::string& apply_to,
                             const std::string& name, const std::string& pattern,
                             const Json& definition) {
  return absl::StrCat("rabbitmqctl ", policy.is_operators ? "set_operator_policy" : "set_policy",
                      " -p ", ShellQuoted(vhost), " --priority ", priority, " --apply-to ",
                      ShellQuoted(apply_to), " ", OperandForShell(name), " ", ShellQuoted(pattern),
                      " ", ShellQuoted(JsonLine(definition)));
}

std::int64_t PriorityOf(const Json& policy) { return IntegerOf(policy, "priority").value_or(0); }

// The commands that remove these keys from one queue. Other keys of its policy stay, and a policy
// without other keys excludes all queues of the worker. Empty if no policy sets one of the keys.
std::string WithoutKeysCommand(const KeptQueue& queue, const Keys& keys) {
  const std::string name = NameOf(queue);
  const std::string& vhost = VhostOf(queue.options);
  std::vector<std::string> commands;
  for (const AppliedPolicy& policy : PoliciesOf(queue.json, queue.policies)) {
    Json rest = FieldOf(policy.json, "definition");
    if (!rest.is_object()) continue;
    const std::size_t size = rest.size();
    for (const std::string& key : keys) rest.erase(key);
    if (rest.size() == size) continue;
    commands.push_back(rest.empty()
                           ? KeepOffCommand(policy, OwnNames(queue.options), vhost)
                           : SetPolicyCommand(policy, vhost, PriorityOf(policy.json) + 1, "queues",
                                              absl::StrCat(TextOf(policy.json, "name").value_or(""),
                                                           " for ", name),
                                              absl::StrCat("^", RegexEscaped(name), "$"), rest));
  }
  return absl::StrJoin(commands, " && ");
}

// Removes a setting. One command removes all settings of a policy that take messages.
std::string Without(const KeptQueue& queue, const char* key) {
  if (QueueSettingOf(queue.json, key)->is_argument) {
    return DeclareAgain(queue, absl::StrCat("without x-", key));
  }
  Keys keys(std::begin(kKeysThatTakeMessages), std::end(kKeysThatTakeMessages));
  if (RefusesWhenFull(queue)) {
    const bool is_length = std::string(key).starts_with("max-length");
    std::erase_if(keys, [is_length](const std::string& each) {
      return (each.starts_with("max-length") || each == "overflow") != is_length;
    });
  }
  const std::string command = WithoutKeysCommand(queue, keys);
  if (!command.empty()) return command;
  return absl::StrCat("remove ", key, " from ", PolicySource(queue, key), ", or exclude '^",
                      RegexEscaped(NameOf(queue)), "$' from its pattern");
}

Sentence If(bool is_so, std::string sentence) {
  return is_so ? Sentence(std::move(sentence)) : std::nullopt;
}

// The rules of queues that must keep their messages: the sentence, if something is wrong, and the
// remedy.
struct QueueRule {
  enum class Of { kAll, kWorkQueues };
  enum class Harm {
    kProblem,
    kWarning,
    kTakesMessages,  // a problem, but a warning if the queue has a dead-letter exchange
  };
  Of of;
  Harm harm;
  Sentence (*wrong)(const KeptQueue& queue);
  std::string (*remedy)(const KeptQueue& queue);
};
using Of = QueueRule::Of;
using Harm = QueueRule::Harm;

const QueueRule kQueueRules[] = {
    {Of::kAll, Harm::kProblem,
     [](const KeptQueue& queue) {
       return If(BoolOf(queue.json, "exclusive") == true,
                 "it is exclusive: only the connection that declared it can use it, and RabbitMQ "
                 "deletes it and its messages with that connection");
     },
     [](const KeptQueue&) -> std::string { return "declare it durable and not exclusive"; }},
    {Of::kAll, Harm::kProblem,
     [](const KeptQueue& queue) {
       return If(BoolOf(queue.json, "auto_delete") == true,
                 "it is auto-delete: RabbitMQ deletes it with its last consumer, for example when "
                 "a connection is lost, and messages that wait for a retry cannot return");
     },
     [](const KeptQueue& queue) { return DeclareAgain(queue, "without auto-delete"); }},
    {Of::kAll, Harm::kProblem,
     [](const KeptQueue& queue) {  // exclusive queues are never durable
       return If(BoolOf(queue.json, "durable") == false && BoolOf(queue.json, "exclusive") != true,
                 "it is not durable: a restart of the broker deletes it");
     },
     [](const KeptQueue& queue) { return DeclareAgain(queue, "durable"); }},
    {Of::kAll, Harm::kTakesMessages,
     [](const KeptQueue& queue) {
       if (!IsNumber(queue, "message-ttl")) return Sentence();
       return Sentence(Sets(queue, "message-ttl") + ": messages that wait longer leave the queue");
     },
     [](const KeptQueue& queue) { return Without(queue, "message-ttl"); }},
    {Of::kAll, Harm::kProblem,
     [](const KeptQueue& queue) {
       if (!IsNumber(queue, "expires")) return Sentence();
       return Sentence(Sets(queue, "expires") +
                       ": if the queue has no consumer for this time, RabbitMQ deletes it and its "
                       "messages");
     },
     [](const KeptQueue& queue) { return Without(queue, "expires"); }},
    {Of::kAll, Harm::kTakesMessages,
     [](const KeptQueue& queue) {
       const char* const key = LengthKey(queue);
       if (key == nullptr || RefusesWhenFull(queue)) return Sentence();
       return Sentence(Sets(queue, key) +
                       ": when the queue is full, new messages push the oldest ones out");
     },
     [](const KeptQueue& queue) { return Without(queue, LengthKey(queue)); }},
    // When such a policy is applied to a queue above the limit (F56).
    {Of::kAll, Harm::kWarning,
     [](const KeptQueue& queue) {
       const std::optional<QueueSetting> refusal = RefusalOf(queue.json);
       const char* const key = LengthKey(queue);
       if (!refusal || refusal->is_argument || key == nullptr ||
           QueueSettingOf(queue.json, key)->is_argument || !IsOfType(queue, "classic")) {
         return Sentence();
       }
       return Sentence(absl::StrCat(
           Sets(queue, key), ", and ", Sets(queue, "overflow"),
           ": when the policy begins to apply to a classic queue, RabbitMQ first drops its oldest "
           "messages down to the limit, and refuses new ones only then"));
     },
     [](const KeptQueue& queue) {
       return absl::StrCat(
           "do not change the policy while the queue is longer than the limit; ",
           DeclareAgain(queue,
                        "with the argument x-overflow reject-publish, or as a quorum queue: "
                        "neither drops messages"));
     }},
    // F39.
    {Of::kWorkQueues, Harm::kProblem,
     [](const KeptQueue& queue) {
       const char* const key = LengthKey(queue);
       if (key == nullptr || !RefusesWhenFull(queue) || !IsOfType(queue, "classic") ||
           !HasClassicDelays(queue)) {
         return Sentence();
       }
       return Sentence(Sets(queue, key) +
                       ", and a full queue refuses messages: the classic delay queues drop retries "
                       "that come due while it is full");
     },
     [](const KeptQueue& queue) {
       return absl::StrCat(
           "use --queue-type quorum, whose delay queues wait until there is room; "
           "or ",
           Without(queue, LengthKey(queue)));
     }},
    // F26.
    {Of::kWorkQueues, Harm::kWarning,
     [](const KeptQueue& queue) {
       return If(IsOfType(queue, "quorum") && HasClassicDelays(queue),
                 "it is a quorum queue, and the delay queues are classic: they drop retries that "
                 "come due while it has no leader, for example during a restart of the broker");
     },
     [](const KeptQueue&) -> std::string { return "use --queue-type quorum"; }},
    // F49.
    {Of::kWorkQueues, Harm::kWarning,
     [](const KeptQueue& queue) {
       const std::optional<QueueSetting> type = QueueSettingOf(queue.json, "delayed-retry-type");
       if (!type || !type->value.is_string() || !IsOfType(queue, "quorum") ||
           type->value == "disabled") {
         return Sentence();
       }
       return Sentence(Sets(queue, "delayed-retry-type") +
                       ": RabbitMQ 4.3 and newer itself delays messages that are returned to the "
                       "queue, also when a worker stops");
     },
     [](const KeptQueue& queue) { return Without(queue, "delayed-retry-type"); }},
    // The limit is reached before a worker has moved or parked a message that returned after its
    // crashes (F19, F33).
    {Of::kWorkQueues, Harm::kTakesMessages,
     [](const KeptQueue& queue) {
       const std::int64_t needed = NeededDeliveryLimit(queue);
       if (!IsNumber(queue, "delivery-limit") || !IsOfType(queue, "quorum")) return Sentence();
       const Json& limit = QueueSettingOf(queue.json, "delivery-limit")->value;
       if (limit < 0 || limit > needed) return Sentence();
       return Sentence(absl::StrCat(
           Sets(queue, "delivery-limit"),
           ": each crash of a worker counts for every message that it had prefetched, so the queue "
           "needs a limit above ",
           needed, "; messages that return more often leave the queue"));
     },
     [](const KeptQueue& queue) { return Without(queue, "delivery-limit"); }},
};

Finding Apply(const QueueRule& rule, const KeptQueue& queue, std::string sentence) {
  const std::string check = CheckOf(queue);
  bool warns = rule.harm == Harm::kWarning;
  if (rule.harm == Harm::kTakesMessages) {
    warns = QueueSettingOf(queue.json, "dead-letter-exchange").has_value();
    sentence +=
        warns ? "; removed messages go to its dead-letter exchange" : "; removed messages are lost";
  }
  return warns ? Warning(check, std::move(sentence), rule.remedy(queue))
               : Problem(check, std::move(sentence), rule.remedy(queue));
}

}  // namespace

Findings CheckKeptQueue(const KeptQueue& queue) {
  if (IsOfType(queue, "stream")) {  // whose settings do not matter
    return {Problem(CheckOf(queue), "it is a stream, and messages cannot be removed from a stream",
                    "use a classic or quorum queue with another name")};
  }
  Findings findings;
  for (const QueueRule& rule : kQueueRules) {
    if (rule.of == Of::kWorkQueues && queue.kind != KeptQueue::Kind::kWork) continue;
    if (Sentence wrong = rule.wrong(queue)) {
      findings.push_back(Apply(rule, queue, *std::move(wrong)));
    }
  }
  return findings;
}

bool MayTakeMessages(const Policies& policies) {
  for (const Json* const list : {&policies.user, &policies.of_operator}) {
    if (!list->is_array()) return true;
    for (const Json& policy : *list) {
      const Json& definition = FieldOf(policy, "definition");
      if (std::any_of(std::begin(kKeysThatTakeMessages), std::end(kKeysThatTakeMessages),
                      [&](const char* key) { return !FieldOf(definition, key).is_null(); })) {
        return true;
      }
    }
  }
  return false;
}

namespace {

absl::StatusOr<Json> JsonAt(const ManagementApi::Fetch& get, const std::string& path) {
  const absl::StatusOr<ManagementApi::Answer> answer = get(path);
  if (!answer.ok()) return answer.status();
  return answer->json;
}

std::string TextSetting(const Json& queue, const char* key) {
  const std::optional<QueueSetting> setting = QueueSettingOf(queue, key);
  return setting && setting->value.is_string() ? setting->value.get<std::string>() : "";
}

// Whether a dead-letter exchange routes to no queue at all. `key` is the routing key of dead
// letters; empty: each keeps its own.
bool LeadsNowhere(const Json& exchange, const Json& bindings, const std::string& key) {
  if (!bindings.is_array()) return false;
  if (!FieldOf(FieldOf(exchange, "arguments"), "alternate-exchange").is_null()) return false;
  const bool by_key = TextOf(exchange, "type") == "direct" && !key.empty();
  return std::none_of(bindings.begin(), bindings.end(), [&](const Json& binding) {
    return !by_key || TextOf(binding, "routing_key") == key;
  });
}

Finding DeadLettersLost(const std::string& why, const std::string& remedy) {
  return Problem("work queue",
                 why + ": messages that are rejected or expire in the work queue are dropped",
                 remedy);
}

// Checks the default exchange as the dead-letter exchange.
Findings CheckDefaultDeadLetters(const QueueFacts& facts, const std::string& key,
                                 const DoctorOptions& options) {
  if (!key.empty() && key != options.queue) {
    const auto target = facts.get(VhostPath("queues", VhostOf(options), key));
    if (!absl::IsNotFound(target.status())) return {};
    return {
        DeadLettersLost("its dead letters go to queue " + InQuotes(key) + ", which does not exist",
                        "declare this queue (retryq declare --queue)")};
  }
  if (options.retry.on_limit != OnLimit::kReject) return {};
  return {Warning("work queue",
                  "its dead letters return to it: with --on-limit reject, a message whose attempts "
                  "are used up is rejected again and again",
                  "remove --on-limit reject, or set another dead-letter exchange")};
}

// Checks whether the work queue's dead letters reach a queue.
Findings CheckDeadLetters(const QueueFacts& facts, const Json& queue,
                          const DoctorOptions& options) {
  const std::string key = TextSetting(queue, "dead-letter-routing-key");
  const auto setting = QueueSettingOf(queue, "dead-letter-exchange");
  if (!setting || !setting->value.is_string()) {
    if (options.retry.on_limit != OnLimit::kReject) return {};
    return {Problem("work queue",
                    "it has no dead-letter exchange: with --on-limit reject, RabbitMQ drops each "
                    "message whose attempts are used up",
                    "remove --on-limit reject, so that these messages are parked; or set a "
                    "dead-letter-exchange for the queue with a policy")};
  }
  const std::string exchange = setting->value.get<std::string>();
  if (exchange.empty()) return CheckDefaultDeadLetters(facts, key, options);
  const std::string path = VhostPath("exchanges", VhostOf(options), exchange);
  const std::string name = "its dead-letter exchange " + InQuotes(exchange);
  const auto there = JsonAt(facts.get, path);
  if (absl::IsNotFound(there.status())) {
    return {DeadLettersLost(
        name + " does not exist",
        "declare this exchange, or remove it from the arguments or the policy of the queue")};
  }
  if (!there.ok()) {
    return {Skipped("work queue", absl::StrCat("cannot check ", name, ": ",
                                               std::string(there.status().message())))};
  }
  const auto bindings = JsonAt(facts.get, path + "/bindings/source");
  if (bindings.ok() && LeadsNowhere(*there, *bindings, key)) {
    return {DeadLettersLost(
        absl::StrCat(name, " routes to no queue",
                     key.empty() ? "" : " with the routing key " + InQuotes(key)),
        "bind a queue to it (retryq declare --queue QUEUE --exchange EXCHANGE --routing-key KEY)")};
  }
  return {Ok("work queue", name + " exists")};
}

// With random or hash routing, a message returns to another queue, where its attempts count from
// zero.
Findings CheckExchangeType(const Json& exchange) {
  constexpr const char* kScattering[] = {"x-random", "x-local-random", "x-consistent-hash",
                                         "x-modulus-hash"};
  const std::string type = TextOf(exchange, "type").value_or("");
  if (std::find(std::begin(kScattering), std::end(kScattering), type) == std::end(kScattering)) {
    return {};
  }
  return {Problem("work exchange",
                  absl::StrCat("its type is ", type,
                               ", which routes at random or by hash: a retry may reach another "
                               "queue, whose worker discards it, so that it is lost"),
                  "remove --work-exchange, so that retries return directly to their queue")};
}

// Whether a message can reach both queues.
bool ShareMessages(const std::string& type, const Keys& ours, const Keys& theirs) {
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

// The work exchange must route to the work queue, and to no other queue whose worker handles the
// same retry.
Findings CheckWorkBindings(const Json& exchange, const Json& bindings,
                           const DoctorOptions& options) {
  if (!bindings.is_array() || options.queue.empty()) return {};
  std::map<std::string, Keys> queues;
  bool leads_on = false;  // to another exchange, and from there to any queue
  for (const Json& binding : bindings) {
    if (TextOf(binding, "destination_type") == "queue") {
      queues[TextOf(binding, "destination").value_or("")].push_back(
          TextOf(binding, "routing_key").value_or(""));
    } else {
      leads_on = true;
    }
  }
  const Keys ours = queues[options.queue];
  queues.erase(options.queue);
  if (ours.empty() && !leads_on) {
    return {Warning("work exchange",
                    absl::StrCat("it has no binding to ", InQuotes(options.queue),
                                 ": messages that came through it cannot return"),
                    "bind the queue to it, or remove --work-exchange")};
  }
  const std::string type = TextOf(exchange, "type").value_or("");
  std::erase_if(queues,
                [&](const auto& queue) { return !ShareMessages(type, ours, queue.second); });
  if (!options.share_retries || (queues.empty() && !leads_on)) return {};
  return {
      Warning("work exchange",
              absl::StrCat(
                  "it also routes to ",
                  queues.empty() ? "another exchange" : InQuotes(queues.begin()->first),
                  queues.size() > 1 ? absl::StrCat(" and ", queues.size() - 1, " more queues") : "",
                  ": with --share-retries, each of these workers handles every retry again"),
              "remove --share-retries, so that only the queue that failed handles the retry")};
}

}  // namespace

Findings CheckWorkQueue(const QueueFacts& facts, const DoctorOptions& options) {
  if (options.queue.empty()) return {};
  const absl::StatusOr<Json> queue = facts.queue(options.queue);
  if (!queue.ok()) return {};
  Findings findings = CheckKeptQueue({.kind = KeptQueue::Kind::kWork,
                                      .json = *queue,
                                      .policies = facts.policies,
                                      .options = options});
  Append(findings, CheckDeadLetters(facts, *queue, options));
  if (!FieldOf(*queue, "effective_policy_definition").is_object() &&
      MayTakeMessages(facts.policies)) {
    findings.push_back(Warning(
        "work queue",
        "its policies are not known, and one may take messages out of it: the broker has no "
        "statistics of the queue yet",
        "run retryq doctor in 10 seconds"));
  }
  return findings;
}

Findings CheckParkedQueue(const QueueFacts& facts, const DoctorOptions& options) {
  if (options.parked_queue.empty()) return {};
  const absl::StatusOr<Json> queue = facts.queue(options.parked_queue);
  if (!queue.ok()) return {};
  return CheckKeptQueue({.kind = KeptQueue::Kind::kParked,
                         .json = *queue,
                         .policies = facts.policies,
                         .options = options});
}

Findings CheckWorkExchange(const QueueFacts& facts, const DoctorOptions& options) {
  if (options.work_exchange.empty()) return {};
  const std::string path = VhostPath("exchanges", VhostOf(options), options.work_exchange);
  const absl::StatusOr<Json> exchange = JsonAt(facts.get, path);
  if (!exchange.ok()) return {};
  Findings findings = CheckExchangeType(*exchange);
  const absl::StatusOr<Json> bindings = JsonAt(facts.get, path + "/bindings/source");
  if (bindings.ok()) Append(findings, CheckWorkBindings(*exchange, *bindings, options));
  return findings;
}

Finding CheckRejectionUnseen() {
  return Warning("work queue",
                 "only the management API shows whether it has a dead-letter exchange: without "
                 "one, --on-limit reject drops each message whose attempts are used up",
                 "name the management API with --management, or remove --on-limit reject");
}

absl::StatusOr<Findings> CheckQueuesOfAWorker(const ManagementApi::Fetch& get,
                                              const DoctorOptions& options) {
  const std::string& vhost = VhostOf(options);
  const auto queue = [&](const std::string& name) {
    return JsonAt(get, VhostPath("queues", vhost, name));
  };
  const absl::StatusOr<Json> first = queue(options.queue);
  if (!first.ok() && !absl::IsNotFound(first.status())) return first.status();
  const QueueFacts facts = {
      .get = get,
      .queue = queue,
      .policies = {
          .user = JsonAt(get, VhostPath("policies", vhost)).value_or(nullptr),
          .of_operator = JsonAt(get, VhostPath("operator-policies", vhost)).value_or(nullptr)}};
  Findings findings = CheckWorkQueue(facts, options);
  Append(findings, CheckWorkExchange(facts, options));
  if (options.retry.on_limit == OnLimit::kPark) {
    Append(findings, CheckParkedQueue(facts, options));
  }
  std::erase_if(findings, [](const Finding& finding) {
    return finding.result == Result::kOk || finding.result == Result::kSkipped;
  });
  return findings;
}

std::optional<Finding> CheckConsumed(const std::string& queue, std::uint32_t ready,
                                     std::uint32_t consumers) {
  if (ready == 0 || consumers > 0) return std::nullopt;
  return Warning("work queue",
                 absl::StrCat(InQuotes(queue), " has ", ready, " ready messages and no consumer"),
                 absl::StrCat("start a worker: retryq work --queue ", ShellQuoted(queue),
                              "; a running worker does not consume while its circuit breaker is "
                              "open (event breaker_opened) or COMMAND cannot be run (paused)"));
}

std::optional<Finding> CheckNothingParked(const DoctorOptions& options, std::uint32_t parked) {
  if (parked == 0) return std::nullopt;
  const std::string& queue = options.parked_queue;
  const bool is_default = queue == options.queue + ".parked";
  return Warning("parked queue", absl::StrCat(InQuotes(queue), " has ", parked, " parked messages"),
                 absl::StrCat("look at their errors, then replay or drop them: retryq parked list "
                              "--queue ",
                              ShellQuoted(options.queue),
                              is_default ? "" : " --parked " + ShellQuoted(queue)));
}

std::vector<AppliedPolicy> PoliciesOf(const Json& object, const Policies& policies) {
  std::vector<AppliedPolicy> applied;
  const auto add = [&](const Json& list, const char* field, bool is_operators) {
    const std::optional<std::string> name = TextOf(object, field);
    if (!name || !list.is_array()) return;
    for (const Json& policy : list) {
      if (TextOf(policy, "name") == name) applied.push_back({policy, is_operators});
    }
  };
  add(policies.user, "policy", /*is_operators=*/false);
  add(policies.of_operator, "operator_policy", /*is_operators=*/true);
  return applied;
}

std::string PolicyNames(const Json& queue) {
  std::vector<std::string> names;
  if (const auto name = TextOf(queue, "policy")) names.push_back("policy " + InQuotes(*name));
  if (const auto name = TextOf(queue, "operator_policy")) {
    names.push_back("operator policy " + InQuotes(*name));
  }
  return names.empty() ? "a policy" : absl::StrJoin(names, " and ");
}

std::string OwnNames(const DoctorOptions& options) {
  std::string names = "(?:";
  for (const std::string* queue : {&options.queue, &options.parked_queue}) {
    if (!queue->empty()) absl::StrAppend(&names, RegexEscaped(*queue), "$|");
  }
  return absl::StrCat(names, RegexEscaped(options.delay_queues.prefix + "."), ")");
}

std::string KeepOffCommand(const AppliedPolicy& policy, const std::string& names,
                           const std::string& vhost) {
  const Json& json = policy.json;
  return SetPolicyCommand(
      policy, vhost, PriorityOf(json), TextOf(json, "apply-to").value_or("all"),
      TextOf(json, "name").value_or(""),
      absl::StrCat("^(?!", names, ").*(?:", TextOf(json, "pattern").value_or(""), ")"),
      FieldOf(json, "definition"));
}

}  // namespace retryq::cli
