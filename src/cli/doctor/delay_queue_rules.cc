#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/doctor/doctor_command.h"
#include "cli/flags/shared_flags.h"
#include "cli/text/json_line.h"
#include "retryq/amqp/table.h"
#include "retryq/backoff.h"
#include "retryq/broker/delay_queue_name.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

constexpr char kDelayQueues[] = "delay queues";
constexpr std::size_t kMostNamed = 3;

// "a, b, c and 4 more"
std::string Some(const Names& all) {
  if (all.size() <= kMostNamed) return absl::StrJoin(all, ", ");
  return absl::StrCat(absl::StrJoin(all.begin(), all.begin() + kMostNamed, ", "), " and ",
                      all.size() - kMostNamed, " more");
}

// What full delay queues do if a policy limits their length. The argument x-overflow, which clients
// set for quorum queues and with a limit of their own, wins over the policy.
const char* HarmOfFull(const Json& definition, const WorkOptions& worker) {
  const DelayQueueOptions& own = worker.delay_queues();
  const std::string overflow = TextOf(definition, "overflow").value_or("");
  if (own.queue_type == QueueType::kQuorum || own.max_length > 0 || own.max_length_bytes > 0 ||
      overflow == "reject-publish") {
    return "full queues refuse messages";
  }
  return overflow == "reject-publish-dlx"
             ? "overflow reject-publish-dlx: full queues refuse messages and also return them at "
               "once, so that each is handled twice"
             : "full queues push messages out too early";
}

// The harmful effects of a policy's definition on delay queues of these options.
Names HarmsOf(const Json& definition, const WorkOptions& worker) {
  Names harms;
  const absl::Duration longest = LongestDelay(worker.consumer.retry.backoff);
  const auto at_least = [&](const char* key, absl::Duration needed, const char* harm) {
    const std::optional<std::int64_t> value = IntegerOf(definition, key);
    if (!value || *value < 0 || absl::Milliseconds(*value) >= needed) return;
    harms.push_back(absl::StrCat(key, " ", *value, " (", harm, ")"));
  };
  at_least("message-ttl", longest, "messages return too early");
  at_least("expires",
           worker.delay_queues().declare ? QueueLifetime(longest, worker.delay_queues())
                                         : kMaxQueueLifetime,
           "queues are deleted before their lease ends, with their messages");
  const auto no_less_than = [&](const char* key, std::uint64_t own) {
    const std::optional<std::int64_t> limit = IntegerOf(definition, key);
    if (!limit || *limit < 0) return;
    if (own > 0 && own <= static_cast<std::uint64_t>(*limit)) return;
    harms.push_back(absl::StrCat(key, " ", *limit, " (", HarmOfFull(definition, worker), ")"));
  };
  no_less_than("max-length", worker.delay_queues().max_length);
  no_less_than("max-length-bytes", worker.delay_queues().max_length_bytes);
  if (const auto key = TextOf(definition, "dead-letter-routing-key")) {
    harms.push_back(absl::StrCat("dead-letter-routing-key ", InQuotes(*key),
                                 " (messages cannot return to their queue)"));
  }
  return harms;
}

bool Federates(const Json& definition) {
  constexpr const char* kKeys[] = {"federation-upstream", "federation-upstream-set",
                                   "federation-upstream-pattern"};
  return std::any_of(std::begin(kKeys), std::end(kKeys),
                     [&](const char* key) { return !FieldOf(definition, key).is_null(); });
}

// The names of the policies whose definition is of a kind.
template <typename Predicate>
Names NamesOf(const Policies& policies, const Predicate& is_of_kind) {
  Names names;
  for (const Json* const list : {&policies.user, &policies.of_operator}) {
    if (!list->is_array()) continue;
    for (const Json& policy : *list) {
      if (is_of_kind(FieldOf(policy, "definition"))) {
        names.push_back(InQuotes(TextOf(policy, "name").value_or("")));
      }
    }
  }
  return names;
}

Names HarmfulNames(const Policies& policies, const WorkOptions& worker) {
  return NamesOf(policies, [&](const Json& each) { return !HarmsOf(each, worker).empty(); });
}

std::string PolicyRemedy(const WorkOptions& worker) {
  return absl::StrCat("exclude '^", RegexEscaped(worker.delay_queues().prefix + "."),
                      "' from the pattern, or remove the setting from the policy (rabbitmqctl "
                      "list_policies, list_operator_policies -p ",
                      ShellQuoted(worker.place.connection.vhost), ")");
}

// The remedy as commands, if the policies that apply to the queue are known.
std::string KeepOffCommands(const Json& queue, const Policies& policies,
                            const WorkOptions& worker) {
  Names commands;
  for (const AppliedPolicy& policy : PoliciesOf(queue, policies)) {
    if (HarmsOf(FieldOf(policy.json, "definition"), worker).empty()) continue;
    commands.push_back(KeepOffCommand(policy, OwnNames(worker), worker.place.connection.vhost));
  }
  return commands.empty() ? PolicyRemedy(worker) : absl::StrJoin(commands, " && ");
}

}  // namespace

bool MayHarm(const Policies& policies, const WorkOptions& worker) {
  return !HarmfulNames(policies, worker).empty();
}

bool MayFederate(const Policies& policies) { return !NamesOf(policies, Federates).empty(); }

Finding CheckPolicies(const Policies& policies, const std::vector<Json>& queues,
                      const WorkOptions& worker) {
  const Names suspects = HarmfulNames(policies, worker);
  if (suspects.empty()) return Ok("policies", "no policy changes delay queues");
  bool is_known = false;
  for (const Json& queue : queues) {
    const Json& effective = FieldOf(queue, "effective_policy_definition");
    if (effective.is_null()) continue;
    is_known = true;
    const Names harms = HarmsOf(effective, worker);
    if (harms.empty()) continue;
    return Problem("policies",
                   absl::StrCat(PolicyNames(queue), " applies to delay queues and sets ",
                                absl::StrJoin(harms, ", ")),
                   KeepOffCommands(queue, policies, worker));
  }
  if (is_known) {
    return Ok("policies", "no policy changes delay queues; not applied to them: " + Some(suspects));
  }
  return Warning("policies",
                 "these policies would harm delay queues if they apply to them: " + Some(suspects),
                 "check their patterns; if this user may declare delay queues, doctor asks the "
                 "broker");
}

Finding PolicyThatDropsQueues(const Policies& policies, const WorkOptions& worker) {
  return Problem("policies",
                 "delay queues are deleted as soon as they are declared, because one of these "
                 "policies sets 'expires': " +
                     Some(HarmfulNames(policies, worker)),
                 PolicyRemedy(worker));
}

Findings CheckFederation(const Json& queue, const Json& exchange, const Policies& policies,
                         const WorkOptions& worker) {
  Findings findings;
  std::set<const Json*> reported;
  const auto check = [&](const Json& object, const char* what) {
    for (const AppliedPolicy& policy : PoliciesOf(object, policies)) {
      if (!Federates(FieldOf(policy.json, "definition"))) continue;
      if (!reported.insert(&policy.json).second) continue;
      findings.push_back(Problem(
          "federation",
          absl::StrCat("policy ", InQuotes(TextOf(policy.json, "name").value_or("")), " federates ",
                       what, ": a message that fails here is also handled on the other broker"),
          KeepOffCommand(policy, RegexEscaped(worker.delay_queues().prefix + "."),
                         worker.place.connection.vhost)));
    }
  };
  check(exchange, "the exchanges of delay queues");
  check(queue, kDelayQueues);
  return findings;
}

namespace {

// The differences between a queue and its declaration: "x-expires is 1 instead of 2", …
Names Differences(const Json& queue, const amqp::Table& wanted, bool stamped) {
  constexpr std::int64_t kStamps = 997;
  const Json& found = FieldOf(queue, "arguments");
  Names differences;
  std::set<std::string> known;
  const auto note = [&differences](const std::string& name, const Json& is, const Json& should) {
    const std::string text = is.is_null() ? "not set" : Printable(JsonLine(is), 60);
    differences.push_back(
        absl::StrCat(name, " is ", text, " instead of ", Printable(JsonLine(should), 60)));
  };
  for (const auto& [name, value] : wanted.fields()) {
    known.insert(name);
    const Json& is = FieldOf(found, name.c_str());
    const auto* number = std::get_if<std::int64_t>(&value.variant);
    if (number != nullptr) {
      const std::optional<std::int64_t> given = IntegerOf(found, name.c_str());
      // x-expires of a quorum queue also contains its epoch.
      const std::int64_t spread = stamped && name == "x-expires" ? kStamps : 1;
      if (!given || *given < *number || *given - *number >= spread) note(name, is, *number);
    } else {
      const std::string text = std::get<std::string>(value.variant);
      if (TextOf(found, name.c_str()) != text) note(name, is, text);
    }
  }
  if (found.is_object()) {
    for (const auto& [name, value] : found.items()) {
      if (!known.contains(name)) differences.push_back(Printable(name, 60) + " is set");
    }
  }
  return differences;
}

bool HaveOneWorkQueue(const DelayQueueOptions& options) {
  return options.queue_type == QueueType::kQuorum && !options.share;
}

// Whether this delay queue belongs to the worker's work queue.
bool BelongsToOurs(const DelayQueueName& parts, const WorkOptions& worker) {
  const std::string name =
      DelayQueueDeclaration(parts.ttl,
                            {.direct = parts.direct, .work_queue = worker.consumer.queue},
                            worker.delay_queues())
          .queue.name;
  const auto ours = ParseDelayQueueName(name, worker.delay_queues().prefix);
  return ours && ours->work_queue == parts.work_queue;
}

// The delay queues of a prefix, compared with those of a worker.
struct Survey {
  std::size_t count = 0;
  std::int64_t quorum = 0;
  std::size_t most_delays = 0;  // of queues of one kind
  Names hashed;
  Names different;    // from the options
  Names shared;       // although each work queue has its own with these options
  Names undelivered;  // have due messages that cannot be delivered
};

// Whether clients with these options declare a queue of this kind, so that it can be compared with
// the options.
bool IsComparable(const DelayQueueName& parts, const WorkOptions& worker) {
  const bool quorum = worker.delay_queues().queue_type == QueueType::kQuorum;
  // Delay queues of the other type have other names, and those of other work queues may have other
  // options.
  if (parts.slot.has_value() != quorum || !parts.exchange.empty()) return false;
  if (parts.work_queue.empty()) return true;
  return quorum && (worker.consumer.queue.empty() || BelongsToOurs(parts, worker));
}

Survey SurveyOf(const std::vector<Json>& queues, const WorkOptions& worker) {
  Survey survey;
  using Kind = std::tuple<bool, bool, bool, std::string, std::string, std::string>;
  std::map<Kind, std::set<absl::Duration>> ttls;
  for (const Json& queue : queues) {
    const std::string name = TextOf(queue, "name").value_or("");
    const auto parts = ParseDelayQueueName(name, worker.delay_queues().prefix);
    if (!parts) continue;
    ++survey.count;
    const std::int64_t undelivered = IntegerOf(queue, "messages_dlx").value_or(0);
    if (undelivered > 0) {
      survey.undelivered.push_back(absl::StrCat(Printable(name), " (", undelivered, ")"));
    }
    if (parts->slot || !parts->work_queue.empty() || !parts->exchange.empty()) ++survey.quorum;
    std::set<absl::Duration>& of_kind =
        ttls[{parts->slot.has_value(), parts->direct, !parts->hash.empty(), parts->work_queue,
              parts->exchange, parts->routing_key}];
    of_kind.insert(parts->ttl);
    survey.most_delays = std::max(survey.most_delays, of_kind.size());
    if (!parts->hash.empty()) {
      survey.hashed.push_back(name);
      continue;
    }
    if (!IsComparable(*parts, worker)) continue;
    if (parts->work_queue.empty() && HaveOneWorkQueue(worker.delay_queues())) {
      survey.shared.push_back(name);
      continue;
    }
    const DelayTarget target{
        .dead_letter_exchange = parts->direct ? "" : worker.consumer.work_exchange,
        .direct = parts->direct};
    const DeclareParams params = DelayQueueDeclaration(parts->ttl, target, worker.delay_queues());
    const Names differences = Differences(queue, params.queue.arguments,
                                          worker.delay_queues().queue_type == QueueType::kQuorum);
    if (!differences.empty()) {
      survey.different.push_back(absl::StrCat(name, " (", absl::StrJoin(differences, ", "), ")"));
    }
  }
  return survey;
}

// If workers declare nothing, all queues must exist and must not expire.
Findings CheckImported(const std::vector<Json>& queues, const WorkOptions& worker) {
  if (worker.consumer.queue.empty() && HaveOneWorkQueue(worker.delay_queues())) {
    return {Skipped(kDelayQueues, "quorum delay queues belong to one work queue",
                    "name the work queue with --queue")};
  }
  std::set<std::string> there;
  Names leaving;
  for (const Json& queue : queues) {
    const std::string name = TextOf(queue, "name").value_or("");
    there.insert(name);
    if (!FieldOf(FieldOf(queue, "arguments"), "x-expires").is_null()) leaving.push_back(name);
  }
  Names missing;
  const auto want = [&](absl::Duration ttl, const DelayTarget& target) {
    const std::string name = DelayQueueDeclaration(ttl, target, worker.delay_queues()).queue.name;
    if (!there.contains(name)) missing.push_back(name);
  };
  // Without a random part, a policy needs only the queues of its own delays.
  std::set<absl::Duration> ttls;
  for (std::uint64_t failures = 0; failures < 1000; ++failures) {
    if (worker.consumer.retry.max_attempts != 0 &&
        failures + 1 >= worker.consumer.retry.max_attempts)
      break;
    ttls.insert(BackoffDelay(worker.consumer.retry.backoff, failures));
  }
  const std::vector<absl::Duration> all =
      DelayQueueTtls(worker.consumer.retry, worker.delay_queues());
  // A delay without its own queue may pass through all shorter ones.
  const bool hops = !std::includes(all.begin(), all.end(), ttls.begin(), ttls.end());
  for (const absl::Duration ttl : all) {
    if (hops ? ttl > *ttls.rbegin() : !ttls.contains(ttl)) continue;
    want(ttl, {.dead_letter_exchange = worker.consumer.work_exchange,
               .work_queue = worker.consumer.queue});
    if (worker.consumer.work_exchange.empty()) continue;
    want(ttl, {.dead_letter_exchange = "", .direct = true, .work_queue = worker.consumer.queue});
  }
  Findings findings;
  if (!missing.empty()) {
    findings.push_back(Problem(kDelayQueues, "missing: " + Some(missing),
                               "import the output of retryq plan --definitions for this policy, as "
                               "a user with configure permission"));
  }
  if (!leaving.empty()) {
    findings.push_back(Problem(
        kDelayQueues,
        "these have an x-expires, which workers with --no-declare do not renew: " + Some(leaving),
        "delete them and import the output of retryq plan --definitions, or remove --no-declare"));
  }
  if (findings.empty()) findings.push_back(Ok(kDelayQueues, "all queues of this policy exist"));
  return findings;
}

}  // namespace

Findings CheckDelayQueues(const std::vector<Json>& queues, const WorkOptions& worker) {
  if (!worker.delay_queues().declare) return CheckImported(queues, worker);
  const Survey survey = SurveyOf(queues, worker);
  Findings findings;
  const auto warn = [&findings](const std::string& finding, const std::string& remedy) {
    findings.push_back(Warning(kDelayQueues, finding, remedy));
  };
  if (!survey.undelivered.empty()) {
    warn(absl::StrCat("messages are due but not delivered yet: ", Some(survey.undelivered),
                      "; RabbitMQ delivers at most 32 messages of a queue at a time, and the "
                      "others wait behind them"),
         "check again in some seconds; if they are still there, declare their work queue again or "
         "make room in it: RabbitMQ tries again every 3 minutes, and drops them when the lease of "
         "the delay queue ends");
  }
  if (!survey.shared.empty()) {
    findings.push_back(
        Ok(kDelayQueues,
           absl::StrCat("shared among work queues, by older clients or --share-delay-queues: ",
                        Some(survey.shared), "; they expire when they are no longer used")));
  }
  if (!survey.different.empty()) {
    warn(absl::StrCat("declared with other options: ", Some(survey.different),
                      "; a worker with these options adds a hash to their names"),
         "give all clients of this vhost and prefix the same options, or this client its own "
         "--prefix");
  }
  if (!survey.hashed.empty()) {
    warn(
        "queues with a hash in their names replace queues that had other options or could not be "
        "used: " +
            Some(survey.hashed),
        "see the event 'renamed' in the logs of the clients; the queues expire by themselves");
  }
  const DelayQueueOptions& options = worker.delay_queues();
  if (survey.quorum > kManyQuorumQueues) {
    warn(absl::StrCat("this prefix has ", survey.quorum,
                      " quorum delay queues: ", ManyQuorumQueuesCost()),
         FewerQuorumQueues(options));
  }
  if (survey.most_delays > options.max_delay_queues) {
    warn(absl::StrCat(survey.most_delays, " delays have queues",
                      HaveOneWorkQueue(options) ? " of one work queue" : "",
                      ", more than --max-delay-queues ", options.max_delay_queues,
                      ": clients use different exact delays"),
         options.exact_queues
             ? "give all clients of this prefix the same policy, or --no-exact-queues "
               "(DelayQueueOptions::exact_queues), which limits the delays of all clients "
               "together; or raise --max-delay-queues if you need that many"
             : "some clients of this prefix do not use --no-exact-queues "
               "(DelayQueueOptions::exact_queues): set it for all of them, or give them another "
               "--prefix");
  }
  if (!findings.empty()) return findings;
  if (survey.count == 0) return {Ok(kDelayQueues, "none; no message has failed recently")};
  return {Ok(kDelayQueues, absl::StrCat(survey.count, ", as these options declare them"))};
}

}  // namespace retryq::cli
