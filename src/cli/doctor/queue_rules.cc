#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "cli/doctor/doctor_command.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;
using Result = Finding::Result;
using Keys = std::vector<std::string>;
using Queue = const KeptQueue&;

constexpr const char* kKeysThatTakeMessages[] = {
    "message-ttl",        "expires",           "delivery-limit",
    "delayed-retry-type", "delayed-retry-min", "delayed-retry-max",
    "max-length",         "max-length-bytes",  "overflow"};

// How often a message of a quorum queue can be requeued before a worker moves it to the end
// (doc/queue_types.md).
constexpr std::int64_t kMovedAfter = 10;

std::string NameOf(Queue queue) {
  const ConsumerOptions& consumer = queue.worker.consumer;
  return queue.kind == KeptQueue::Kind::kWork ? consumer.queue : consumer.parked_queue;
}
const std::string& VhostOf(const WorkOptions& worker) { return worker.place.connection.vhost; }

bool IsOfType(Queue queue, const char* type) { return TextOf(queue.json, "type") == type; }
bool HasClassicDelays(Queue queue) {
  return queue.worker.delay_queues().queue_type == QueueType::kClassic;
}
bool RefusesWhenFull(Queue queue) { return RefusalOf(queue.json).has_value(); }

// The policy that sets `key` for the queue: an operator policy only if no other one does.
std::string PolicySource(Queue queue, const char* key) {
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
std::string Sets(Queue queue, const char* key) {
  const std::optional<QueueSetting> setting = QueueSettingOf(queue.json, key);
  return absl::StrCat(
      setting->is_argument ? absl::StrCat("argument x-", key) : PolicySource(queue, key), " sets ",
      key, " ",
      setting->value.is_string() ? Printable(setting->value.get<std::string>(), 40)
                                 : JsonLine(setting->value));
}

// The key of a length limit; nullptr without one.
const char* LengthKey(Queue queue) {
  const std::vector<LengthLimit> limits = LengthLimitsOf(queue.json);
  return limits.empty() ? nullptr : limits.front().key;
}

// `key` if the queue has this setting as a number, otherwise nullptr.
const char* NumberKey(Queue queue, const char* key) {
  const std::optional<QueueSetting> setting = QueueSettingOf(queue.json, key);
  return setting && setting->value.is_number() ? key : nullptr;
}

// The delivery limit that a worker needs, because each of its crashes counts.
std::int64_t NeededDeliveryLimit(const RetryOptions& retry) {
  const bool parks_before = retry.count_redeliveries != CountRedeliveries::kNever &&
                            retry.max_attempts > 0 &&
                            retry.max_attempts < static_cast<std::uint64_t>(kMovedAfter);
  return parks_before ? static_cast<std::int64_t>(retry.max_attempts) : kMovedAfter;
}

// The remedy for a queue that must be declared differently: RabbitMQ cannot change its arguments.
std::string DeclareAgain(Queue queue, const std::string& how) {
  return absl::StrCat("when it is empty, delete it (rabbitmqctl delete_queue -p ",
                      ShellQuoted(VhostOf(queue.worker)), " --if-empty ",
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

// The commands that make these keys of policies not apply to one queue. Other keys of its policy
// stay; a policy without other keys is changed so that it excludes all queues of the worker. Empty
// if no policy sets one of the keys.
std::string WithoutKeysCommand(Queue queue, const Keys& keys) {
  const std::string name = NameOf(queue);
  const std::string& vhost = VhostOf(queue.worker);
  std::vector<std::string> commands;
  for (const AppliedPolicy& policy : PoliciesOf(queue.json, queue.policies)) {
    Json rest = FieldOf(policy.json, "definition");
    if (!rest.is_object()) continue;
    const std::size_t size = rest.size();
    for (const std::string& key : keys) rest.erase(key);
    if (rest.size() == size) continue;
    commands.push_back(rest.empty()
                           ? KeepOffCommand(policy, OwnNames(queue.worker), vhost)
                           : SetPolicyCommand(policy, vhost, PriorityOf(policy.json) + 1, "queues",
                                              absl::StrCat(TextOf(policy.json, "name").value_or(""),
                                                           " for ", name),
                                              absl::StrCat("^", RegexEscaped(name), "$"), rest));
  }
  return absl::StrJoin(commands, " && ");
}

// Removes a setting. One command removes all settings of a policy that remove messages.
std::string Without(Queue queue, const char* key) {
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

// A rule of queues that must keep their messages.
struct QueueRule {
  enum class Of { kAll, kWorkQueues };
  enum class Harm {
    kProblem,
    kWarning,
    kTakesMessages,  // a problem, but a warning if the queue has a dead-letter exchange
  };
  Of of;
  Harm harm;
  // Returns the key of the wrong setting, kIt if the queue itself is wrong, and nullptr if nothing
  // is.
  const char* (*wrong)(Queue queue);
  // Follows "policy 'a' sets max-length 10" if a setting is wrong. $0: NeededDeliveryLimit.
  const char* sentence;
  std::string (*remedy)(Queue queue) = nullptr;  // null: removes the setting
};
using Of = QueueRule::Of;
using Harm = QueueRule::Harm;

constexpr char kIt[] = "";
const char* It(bool is_wrong) { return is_wrong ? kIt : nullptr; }

const QueueRule kQueueRules[] = {
    {Of::kAll, Harm::kProblem,
     [](Queue queue) { return It(BoolOf(queue.json, "exclusive") == true); },
     "it is exclusive: only the connection that declared it can use it, and RabbitMQ deletes it "
     "and "
     "its messages with that connection",
     [](Queue) -> std::string { return "declare it durable and not exclusive"; }},
    {Of::kAll, Harm::kProblem,
     [](Queue queue) { return It(BoolOf(queue.json, "auto_delete") == true); },
     "it is auto-delete: RabbitMQ deletes it with its last consumer, for example when a connection "
     "is lost, and messages that wait for a retry cannot return",
     [](Queue queue) { return DeclareAgain(queue, "without auto-delete"); }},
    {Of::kAll, Harm::kProblem,
     [](Queue queue) {  // exclusive queues are never durable
       return It(BoolOf(queue.json, "durable") == false && BoolOf(queue.json, "exclusive") != true);
     },
     "it is not durable: a restart of the broker deletes it",
     [](Queue queue) { return DeclareAgain(queue, "durable"); }},
    {Of::kAll, Harm::kTakesMessages, [](Queue queue) { return NumberKey(queue, "message-ttl"); },
     ": messages that wait longer leave the queue"},
    {Of::kAll, Harm::kProblem, [](Queue queue) { return NumberKey(queue, "expires"); },
     ": if the queue has no consumer for this time, RabbitMQ deletes it and its messages"},
    {Of::kAll, Harm::kTakesMessages,
     [](Queue queue) { return RefusesWhenFull(queue) ? nullptr : LengthKey(queue); },
     ": when the queue is full, new messages push the oldest ones out"},
    // F56.
    {Of::kAll, Harm::kWarning,
     [](Queue queue) -> const char* {
       const std::optional<QueueSetting> refusal = RefusalOf(queue.json);
       const char* const key = LengthKey(queue);
       const bool begins = refusal && !refusal->is_argument && key != nullptr &&
                           !QueueSettingOf(queue.json, key)->is_argument;
       return begins && IsOfType(queue, "classic") ? key : nullptr;
     },
     ", and a full queue refuses messages: when the policy begins to apply to a classic queue, "
     "RabbitMQ first drops its oldest messages down to the limit, and refuses new ones only then",
     [](Queue queue) {
       return absl::StrCat(
           "do not change the policy while the queue is longer than the limit; ",
           DeclareAgain(queue,
                        "with the argument x-overflow reject-publish, or as a quorum queue: "
                        "neither drops messages"));
     }},
    // F39.
    {Of::kWorkQueues, Harm::kProblem,
     [](Queue queue) {
       return RefusesWhenFull(queue) && IsOfType(queue, "classic") && HasClassicDelays(queue)
                  ? LengthKey(queue)
                  : nullptr;
     },
     ", and a full queue refuses messages: the classic delay queues drop retries that come due "
     "while it is full",
     [](Queue queue) {
       return absl::StrCat(
           "use --queue-type quorum, whose delay queues wait until there is room; or ",
           Without(queue, LengthKey(queue)));
     }},
    // F26.
    {Of::kWorkQueues, Harm::kWarning,
     [](Queue queue) { return It(IsOfType(queue, "quorum") && HasClassicDelays(queue)); },
     "it is a quorum queue, and the delay queues are classic: they drop retries that come due "
     "while it has no leader, for example during a restart of the broker",
     [](Queue) -> std::string { return "use --queue-type quorum"; }},
    // F49.
    {Of::kWorkQueues, Harm::kWarning,
     [](Queue queue) -> const char* {
       const std::optional<QueueSetting> type = QueueSettingOf(queue.json, "delayed-retry-type");
       const bool is_on = type && type->value.is_string() && type->value != "disabled";
       return is_on && IsOfType(queue, "quorum") ? "delayed-retry-type" : nullptr;
     },
     ": RabbitMQ 4.3 and newer itself delays messages that are returned to the queue, also when a "
     "worker stops"},
    // The limit is reached before a worker has moved or parked a message that returned after its
    // crashes (F19, F33).
    {Of::kWorkQueues, Harm::kTakesMessages,
     [](Queue queue) -> const char* {
       const std::int64_t needed = NeededDeliveryLimit(queue.worker.consumer.retry);
       const char* const key = NumberKey(queue, "delivery-limit");
       if (key == nullptr || !IsOfType(queue, "quorum")) return nullptr;
       const Json& limit = QueueSettingOf(queue.json, key)->value;
       return limit < 0 || limit > needed ? nullptr : key;
     },
     ": each crash of a worker counts for every message that it had prefetched, so the queue needs "
     "a limit above $0; messages that return more often leave the queue"},
};

Finding Apply(const QueueRule& rule, Queue queue, const char* key) {
  std::string sentence =
      absl::Substitute(rule.sentence, NeededDeliveryLimit(queue.worker.consumer.retry));
  if (key != kIt) sentence.insert(0, Sets(queue, key));
  bool warns = rule.harm == Harm::kWarning;
  if (rule.harm == Harm::kTakesMessages) {
    warns = QueueSettingOf(queue.json, "dead-letter-exchange").has_value();
    sentence +=
        warns ? "; removed messages go to its dead-letter exchange" : "; removed messages are lost";
  }
  const std::string remedy = rule.remedy == nullptr ? Without(queue, key) : rule.remedy(queue);
  return warns ? Warning(queue.check(), sentence, remedy)
               : Problem(queue.check(), sentence, remedy);
}

}  // namespace

Findings CheckKeptQueue(Queue queue) {
  if (IsOfType(queue, "stream")) {  // whose settings do not matter
    return {Problem(queue.check(), "it is a stream, and messages cannot be removed from a stream",
                    "use a classic or quorum queue with another name")};
  }
  Findings findings;
  for (const QueueRule& rule : kQueueRules) {
    if (rule.of == Of::kWorkQueues && queue.kind != KeptQueue::Kind::kWork) continue;
    if (const char* key = rule.wrong(queue)) findings.push_back(Apply(rule, queue, key));
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

absl::StatusOr<Json> JsonAt(const ManagementApi::Fetch& get, const std::string& path) {
  absl::StatusOr<ManagementApi::Answer> answer = get(path);
  if (!answer.ok()) return answer.status();
  return std::move(answer->json);
}

namespace {

void Append(Findings& findings, Findings more) {
  for (Finding& finding : more) findings.push_back(std::move(finding));
}

std::string TextSetting(const Json& queue, const char* key) {
  const std::optional<QueueSetting> setting = QueueSettingOf(queue, key);
  return setting && setting->value.is_string() ? setting->value.get<std::string>() : "";
}

// The routing key of messages that a worker rejects at its limit; empty if it is not known. Retries
// that return through the default exchange have the name of their queue.
std::string KeyOfRejected(const WorkOptions& worker) {
  const RetryOptions& retry = worker.consumer.retry;
  const bool has_returned = worker.consumer.work_exchange.empty() && retry.max_attempts != 1;
  return retry.on_limit == OnLimit::kReject && has_returned ? worker.consumer.queue : "";
}

Finding DeadLettersLost(const std::string& why, const std::string& remedy) {
  return Problem("work queue",
                 why + ": messages that are rejected or expire in the work queue are dropped",
                 remedy);
}

// The dead letters of the work queue return to it.
Findings RejectedReturn(const WorkOptions& worker) {
  if (worker.consumer.retry.on_limit != OnLimit::kReject) return {};
  return {Warning("work queue",
                  "its dead letters return to it: with --on-limit reject, a message whose attempts "
                  "are used up comes back, and is parked then",
                  "remove --on-limit reject, or set another dead-letter exchange")};
}

// Checks a work queue whose dead-letter exchange is the default exchange.
Findings CheckDefaultDeadLetters(const QueueFacts& facts, const std::string& key) {
  const WorkOptions& worker = facts.worker;
  if (!key.empty() && key != worker.consumer.queue) {
    const auto target = facts.get(UrlPath({"queues", VhostOf(worker), key}));
    if (!absl::IsNotFound(target.status())) return {};
    return {
        DeadLettersLost("its dead letters go to queue " + InQuotes(key) + ", which does not exist",
                        "declare this queue (retryq declare --queue)")};
  }
  return RejectedReturn(worker);
}

// The policy that may set the alternate exchange; null if there is none or it is not known.
Json PolicyOf(const QueueFacts& facts, const Json& exchange) {
  const std::string path = PathOfPolicy(exchange);
  return path.empty() ? Json() : JsonAt(facts.get, path).value_or(Json());
}

// Checks whether the work queue's dead letters reach a queue.
Findings CheckDeadLetters(const QueueFacts& facts, const Json& queue) {
  const WorkOptions& worker = facts.worker;
  const std::string key = TextSetting(queue, "dead-letter-routing-key");
  const auto setting = QueueSettingOf(queue, "dead-letter-exchange");
  if (!setting || !setting->value.is_string()) {
    if (worker.consumer.retry.on_limit != OnLimit::kReject) return {};
    return {Problem("work queue",
                    "it has no dead-letter exchange: with --on-limit reject, RabbitMQ drops each "
                    "message whose attempts are used up",
                    "remove --on-limit reject, so that these messages are parked; or set a "
                    "dead-letter-exchange for the queue with a policy")};
  }
  const std::string exchange = setting->value.get<std::string>();
  if (exchange.empty()) return CheckDefaultDeadLetters(facts, key);
  const std::string path = UrlPath({"exchanges", VhostOf(worker), exchange});
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
  if (!bindings.ok()) return {Ok("work queue", name + " exists")};
  const std::string used = key.empty() ? KeyOfRejected(worker) : key;
  RoutedMessage rejected;
  if (!used.empty()) rejected.routing_key = used;
  const Route route = RouteOf(*there, *bindings, PolicyOf(facts, *there), rejected);
  if (route.is_empty()) {
    return {DeadLettersLost(
        absl::StrCat(name, " routes to no queue",
                     used.empty() ? "" : " with the routing key " + InQuotes(used)),
        "bind a queue to it (retryq declare --queue QUEUE --exchange EXCHANGE --routing-key KEY)")};
  }
  const bool only_back =
      !route.may_lead_on && route.exchanges.empty() &&
      std::all_of(route.queues.begin(), route.queues.end(),
                  [&](const std::string& to) { return to == worker.consumer.queue; });
  Findings back = only_back ? RejectedReturn(worker) : Findings();
  return back.empty() ? Findings{Ok("work queue", name + " exists")} : back;
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
Findings CheckWorkBindings(const QueueFacts& facts, const Json& exchange, const Json& bindings) {
  const WorkOptions& worker = facts.worker;
  if (!bindings.is_array() || worker.consumer.queue.empty()) return {};
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
  const Keys ours = queues[worker.consumer.queue];
  queues.erase(worker.consumer.queue);
  const auto has_alternate = [&] {
    return !RouteOf(exchange, Json::array(), PolicyOf(facts, exchange), {}).is_empty();
  };
  if (ours.empty() && !leads_on && !has_alternate()) {
    return {Warning("work exchange",
                    absl::StrCat("it has no binding to ", InQuotes(worker.consumer.queue),
                                 ": messages that came through it cannot return"),
                    "bind the queue to it, or remove --work-exchange")};
  }
  const std::string type = TextOf(exchange, "type").value_or("");
  std::erase_if(queues,
                [&](const auto& queue) { return !ShareMessages(type, ours, queue.second); });
  if (!worker.consumer.share_retries || (queues.empty() && !leads_on)) return {};
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

Findings CheckWorkQueue(const QueueFacts& facts) {
  if (facts.worker.consumer.queue.empty()) return {};
  const absl::StatusOr<Json> queue = facts.queue(facts.worker.consumer.queue);
  if (!queue.ok()) return {};
  Findings findings =
      CheckKeptQueue({KeptQueue::Kind::kWork, *queue, facts.policies, facts.worker});
  Append(findings, CheckDeadLetters(facts, *queue));
  if (!FieldOf(*queue, "effective_policy_definition").is_object() &&
      MayTakeMessages(facts.policies)) {
    findings.push_back(Warning(
        "work queue",
        "its policies are not known, and one may take messages out of it: the broker has no "
        "statistics of the queue",
        "run retryq doctor again in 10 seconds; if the statistics are disabled, see rabbitmqctl "
        "list_queues name effective_policy_definition"));
  }
  return findings;
}

Findings CheckParkedQueue(const QueueFacts& facts) {
  if (facts.worker.consumer.parked_queue.empty()) return {};
  const absl::StatusOr<Json> queue = facts.queue(facts.worker.consumer.parked_queue);
  if (!queue.ok()) return {};
  Findings findings =
      CheckKeptQueue({KeptQueue::Kind::kParked, *queue, facts.policies, facts.worker});
  if (const std::int64_t count = IntegerOf(*queue, "consumers").value_or(0); count > 0) {
    findings.push_back(
        Warning("parked queue",
                absl::StrCat("it has ", count,
                             count == 1 ? " consumer, which takes" : " consumers, which take",
                             " the parked messages"),
                "name a queue without consumers by --parked"));
  }
  return findings;
}

Findings CheckWorkExchange(const QueueFacts& facts) {
  const std::string& name = facts.worker.consumer.work_exchange;
  if (name.empty()) return {};
  const std::string path = UrlPath({"exchanges", VhostOf(facts.worker), name});
  const absl::StatusOr<Json> exchange = JsonAt(facts.get, path);
  if (!exchange.ok()) return {};
  Findings findings = CheckExchangeType(*exchange);
  const absl::StatusOr<Json> bindings = JsonAt(facts.get, path + "/bindings/source");
  if (bindings.ok()) Append(findings, CheckWorkBindings(facts, *exchange, *bindings));
  return findings;
}

Finding CheckRejectionUnseen() {
  return Warning("work queue",
                 "only the management API shows whether it has a dead-letter exchange: without "
                 "one, --on-limit reject drops each message whose attempts are used up",
                 "name the management API with --management, or remove --on-limit reject");
}

absl::StatusOr<Findings> CheckQueuesOfAWorker(const ManagementApi::Fetch& get,
                                              const WorkOptions& worker) {
  const std::string& vhost = VhostOf(worker);
  const auto queue = [&](const std::string& name) {
    return JsonAt(get, UrlPath({"queues", vhost, name}));
  };
  const absl::StatusOr<Json> first = queue(worker.consumer.queue);
  if (!first.ok() && !absl::IsNotFound(first.status())) return first.status();
  const auto policies = [&](const char* kind) {
    return JsonAt(get, UrlPath({kind, vhost})).value_or(nullptr);
  };
  const QueueFacts facts = {.worker = worker,
                            .get = get,
                            .queue = queue,
                            .policies = {policies("policies"), policies("operator-policies")}};
  Findings findings = CheckWorkQueue(facts);
  Append(findings, CheckWorkExchange(facts));
  if (worker.consumer.retry.on_limit == OnLimit::kPark) Append(findings, CheckParkedQueue(facts));
  std::erase_if(findings, [](const Finding& finding) {
    return finding.result == Result::kOk || finding.result == Result::kSkipped;
  });
  return findings;
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

std::string OwnNames(const WorkOptions& worker) {
  std::string names = "(?:";
  for (const std::string* queue : {&worker.consumer.queue, &worker.consumer.parked_queue}) {
    if (!queue->empty()) absl::StrAppend(&names, RegexEscaped(*queue), "$|");
  }
  return absl::StrCat(names, RegexEscaped(worker.delay_queues().prefix + "."), ")");
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
