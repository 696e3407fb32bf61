#include "cli/doctor/doctor_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/doctor/policy_rules.h"
#include "cli/doctor/remedy_text.h"
#include "cli/management/json_fields.h"
#include "cli/management/management_answer.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"
#include "cli/text/many_quorum_queues.h"
#include "retryq/amqp/table.h"
#include "retryq/backoff.h"
#include "retryq/delay_queue_declaration.h"
#include "retryq/delay_queue_name.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostNamed = 3;

// "a, b, c and 4 more"
std::string Some(const std::vector<std::string>& all) {
  if (all.size() <= kMostNamed) return absl::StrJoin(all, ", ");
  return absl::StrCat(absl::StrJoin(all.begin(), all.begin() + kMostNamed, ", "), " and ",
                      all.size() - kMostNamed, " more");
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// The harmful effects of a policy's definition on delay queues of these options, one clause each.
std::vector<std::string> HarmsOf(const Json& definition, const DoctorOptions& options) {
  std::vector<std::string> harms;
  const absl::Duration longest = LongestDelay(options.retry.backoff);
  const auto below = [&definition](const char* key, absl::Duration limit) {
    const std::optional<std::int64_t> value = IntegerOf(definition, key);
    return value && *value >= 0 && absl::Milliseconds(*value) < limit ? value : std::nullopt;
  };
  if (const auto ttl = below("message-ttl", longest)) {
    harms.push_back(
        absl::StrCat("message-ttl ", *ttl, ", so that messages come back before their time"));
  }
  const absl::Duration lifetime = options.delay_queues.declare
                                      ? QueueLifetime(longest, options.delay_queues)
                                      : kMaxQueueLifetime;
  if (const auto expires = below("expires", lifetime)) {
    harms.push_back(absl::StrCat(
        "expires ", *expires, ", so that queues go before their lease ends, with their messages"));
  }
  const auto shortens = [&](const char* key, std::uint64_t own) {
    const std::optional<std::int64_t> limit = IntegerOf(definition, key);
    if (!limit || *limit < 0) return;
    if (own > 0 && own <= static_cast<std::uint64_t>(*limit)) return;
    harms.push_back(absl::StrCat(key, " ", *limit,
                                 ", so that full queues push messages out before their time"));
  };
  shortens("max-length", options.delay_queues.max_length);
  shortens("max-length-bytes", options.delay_queues.max_length_bytes);
  if (const auto key = TextOf(definition, "dead-letter-routing-key")) {
    harms.push_back(absl::StrCat("dead-letter-routing-key ", InQuotes(*key),
                                 ", so that messages do not find back to their queue"));
  }
  return harms;
}

// The names of the policies with a harmful key.
std::vector<std::string> NamesOfHurtful(const Json& policies, const DoctorOptions& options) {
  std::vector<std::string> names;
  if (!policies.is_array()) return names;
  for (const Json& policy : policies) {
    if (HarmsOf(FieldOf(policy, "definition"), options).empty()) continue;
    names.push_back(InQuotes(TextOf(policy, "name").value_or("")));
  }
  return names;
}

std::vector<std::string> Suspects(const Json& policies, const Json& operator_policies,
                                  const DoctorOptions& options) {
  std::vector<std::string> suspects = NamesOfHurtful(policies, options);
  for (std::string& name : NamesOfHurtful(operator_policies, options)) {
    suspects.push_back(std::move(name));
  }
  return suspects;
}

std::string PolicyRemedy(const DoctorOptions& options) {
  return absl::StrCat("let the pattern leave out '^", Escaped(options.delay_queues.prefix + "."),
                      "', or take that out of the policy (rabbitmqctl list_policies, "
                      "list_operator_policies -p ",
                      ForShell(options.place.connection.vhost), ")");
}

// The remedy as commands, if the policies that apply to the queue are known.
std::string KeepOffCommands(const Json& queue, const Json& policies, const Json& operator_policies,
                            const DoctorOptions& options) {
  std::vector<std::string> commands;
  const auto add = [&](const Json& list, const char* field, bool of_operator) {
    const std::string name = TextOf(queue, field).value_or("");
    const Json& policy = PolicyNamed(list, name);
    if (HarmsOf(FieldOf(policy, "definition"), options).empty()) return;
    commands.push_back(
        KeepOffCommand(policy, of_operator, OwnNames(options), options.place.connection.vhost));
  };
  add(policies, "policy", /*of_operator=*/false);
  add(operator_policies, "operator_policy", /*of_operator=*/true);
  return commands.empty() ? PolicyRemedy(options) : absl::StrJoin(commands, " && ");
}

// "policy 'a' and operator policy 'b'", which apply to the queue.
std::string PoliciesOf(const Json& queue) {
  std::vector<std::string> names;
  if (const auto name = TextOf(queue, "policy")) names.push_back("policy " + InQuotes(*name));
  if (const auto name = TextOf(queue, "operator_policy")) {
    names.push_back("operator policy " + InQuotes(*name));
  }
  return names.empty() ? "a policy" : absl::StrJoin(names, " and ");
}

// The differences between a queue and its declaration: "x-expires is 1 and not 2", …
std::vector<std::string> Differences(const Json& queue, const amqp::Table& wanted, bool stamped) {
  constexpr std::int64_t kStamps = 997;
  const Json& found = FieldOf(queue, "arguments");
  std::vector<std::string> differences;
  std::set<std::string> known;
  const auto note = [&differences](const std::string& name, const Json& is, const Json& should) {
    const auto text = [](const Json& value) {
      if (value.is_null()) return std::string("not set");
      return Printable(JsonLine(value), 60);
    };
    differences.push_back(absl::StrCat(name, " is ", text(is), " and not ", text(should)));
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

// Returns whether this delay queue belongs to the worker's work queue.
bool BelongsToOurs(const DelayQueueName& parts, const DoctorOptions& options) {
  const std::string name =
      DelayQueueDeclaration(parts.ttl, {.direct = parts.direct, .work_queue = options.queue},
                            options.delay_queues)
          .queue.name;
  const auto ours = ParseDelayQueueName(name, options.delay_queues.prefix);
  return ours && ours->work_queue == parts.work_queue;
}

// Checks for due messages that cannot be delivered.
std::vector<Finding> CheckUndelivered(const std::vector<Json>& queues, const std::string& prefix) {
  std::vector<std::string> stuck;
  for (const Json& queue : queues) {
    const std::string name = TextOf(queue, "name").value_or("");
    const auto parts = ParseDelayQueueName(name, prefix);
    const std::int64_t count = IntegerOf(queue, "messages_dlx").value_or(0);
    if (!parts || count <= 0) continue;
    stuck.push_back(absl::StrCat(Printable(name), " (", count, ")"));
  }
  if (stuck.empty()) return {};
  return {Warning("delay queues",
                  absl::StrCat("messages are due and not delivered yet: ", Some(stuck),
                               "; at most 32 of a queue are tried at a time, all others behind "
                               "them wait"),
                  "look again in some seconds; if they are still there, make the work queue that "
                  "they return to again, or make room in it: RabbitMQ tries again every 3 minutes, "
                  "and drops them when the lease of the delay queue ends")};
}

// If nothing is declared, all queues must exist and must not expire.
std::vector<Finding> CheckImported(const std::vector<Json>& queues, const DoctorOptions& options) {
  if (options.queue.empty() && HaveOneWorkQueue(options.delay_queues)) {
    return {Skipped("delay queues", "those of type quorum belong to one work queue",
                    "name it with --queue")};
  }
  std::set<std::string> there;
  std::vector<std::string> leaving;
  for (const Json& queue : queues) {
    const std::string name = TextOf(queue, "name").value_or("");
    there.insert(name);
    if (!FieldOf(FieldOf(queue, "arguments"), "x-expires").is_null()) leaving.push_back(name);
  }
  std::vector<std::string> missing;
  const auto want = [&](absl::Duration ttl, const DelayTarget& target) {
    const std::string name = DelayQueueDeclaration(ttl, target, options.delay_queues).queue.name;
    if (!there.contains(name)) missing.push_back(name);
  };
  // Without a random part, a policy needs only the queues of its own delays.
  std::set<absl::Duration> ttls;
  for (std::uint64_t failures = 0; failures < 1000; ++failures) {
    if (options.retry.max_attempts != 0 && failures + 1 >= options.retry.max_attempts) break;
    ttls.insert(BackoffDelay(options.retry.backoff, failures));
  }
  const std::vector<absl::Duration> all = DelayQueueTtls(options.retry, options.delay_queues);
  // A delay without its own queue may pass through all shorter ones.
  const bool hops = !std::includes(all.begin(), all.end(), ttls.begin(), ttls.end());
  for (const absl::Duration ttl : all) {
    if (hops ? ttl > *ttls.rbegin() : !ttls.contains(ttl)) continue;
    want(ttl, {.dead_letter_exchange = options.work_exchange, .work_queue = options.queue});
    if (options.work_exchange.empty()) continue;
    want(ttl, {.dead_letter_exchange = "", .direct = true, .work_queue = options.queue});
  }
  std::vector<Finding> findings;
  if (!missing.empty()) {
    findings.push_back(Problem("delay queues", absl::StrCat("missing: ", Some(missing)),
                               "have a user who may configure the broker import what retryq plan "
                               "--definitions prints for this policy"));
  }
  if (!leaving.empty()) {
    findings.push_back(Problem(
        "delay queues",
        absl::StrCat("with an x-expires, which nobody renews without declaring: ", Some(leaving)),
        "delete them and import them from retryq plan --definitions, or leave out --no-declare"));
  }
  if (findings.empty())
    findings.push_back(Ok("delay queues", "all that this policy needs are there"));
  return findings;
}

}  // namespace

Finding CheckVersion(const std::string& version, QueueType delay_queues) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  const std::string said = absl::StrCat("RabbitMQ ", Printable(version, 40));
  const int parts = std::sscanf(version.c_str(), "%d.%d.%d", &major, &minor, &patch);
  if (parts < 2) {
    return Warning("version", said + ", which is no version that retryq knows",
                   "use RabbitMQ 3.10 or newer");
  }
  if (major < 3 || (major == 3 && minor < 10)) {
    return Warning("version", said + ", which retryq is not tested with",
                   "use RabbitMQ 3.10 or newer");
  }
  if (delay_queues == QueueType::kQuorum && parts == 3 && major == 4 && minor == 3 && patch < 3) {
    return Warning("version",
                   said +
                       ", whose quorum delay queues may keep messages for good after a change "
                       "of their members",
                   "use RabbitMQ 4.3.3 or newer");
  }
  return Ok("version", said);
}

Finding CheckTls(const amqp::ConnectionOptions& connection) {
  if (connection.tls) {
    if (connection.tls->verify_peer)
      return Ok("tls", "on, and the broker's certificate is checked");
    return Warning("tls", "on, but with verify=verify_none: anyone on the way can read everything",
                   "name the broker's authority, ?cacertfile=FILE, and leave verify out");
  }
  for (const amqp::Endpoint& endpoint : connection.endpoints) {
    if (IsLoopback(endpoint.host)) continue;
    return Warning("tls",
                   absl::StrCat("off: password and messages can be read on the way to ",
                                InQuotes(endpoint.host)),
                   "use amqps:// where the network is not yours alone");
  }
  return Ok("tls", "off, and not needed on this machine");
}

Finding CheckClock(const std::optional<ManagementApi::ClockDifference>& clock,
                   const DelayQueueOptions& options) {
  // The difference from which workers report each other's clocks (the event `overridden`).
  constexpr absl::Duration kMuch = absl::Seconds(1);
  if (!clock) {
    return Skipped("clock", "the management API does not say what time it is",
                   "look whether the machines' clocks are synchronized");
  }
  const absl::Duration certain = absl::AbsDuration(clock->difference) - clock->error;
  const std::string error = DurationText(absl::Ceil(clock->error, absl::Milliseconds(100)));
  const std::string difference = absl::StrCat(
      "the broker's is ",
      DurationText(absl::Trunc(absl::AbsDuration(clock->difference), absl::Milliseconds(100))),
      clock->difference < absl::ZeroDuration() ? " behind" : " ahead", ", give or take ", error);
  constexpr char kRemedy[] = "synchronize the machines' clocks (chrony, systemd-timesyncd)";
  if (options.queue_type == QueueType::kQuorum && options.declare &&
      certain >= options.outage - options.confirm_timeout) {
    return Problem("clock",
                   difference + ": as much among workers would lose messages (see --outage)",
                   kRemedy);
  }
  if (certain > kMuch) {
    return Warning(
        "clock", difference + ": delays of several hops can be as much too early or late", kRemedy);
  }
  if (certain <= absl::ZeroDuration()) {
    return Ok("clock", absl::StrCat("the broker's is the same, give or take ", error));
  }
  return Ok("clock", difference);
}

Finding CheckAlarms(const ManagementApi::Answer& health) {
  constexpr int kOk = 200;
  const std::string status = TextOf(health.json, "status").value_or("");
  if (health.http_status == kOk && status != "failed") return Ok("alarms", "none");
  std::vector<std::string> alarms;
  const Json& list = FieldOf(health.json, "alarms");
  if (list.is_array()) {
    for (const Json& alarm : list) {
      alarms.push_back(absl::StrCat(Printable(TextOf(alarm, "resource").value_or("some"), 40),
                                    " on ",
                                    Printable(TextOf(alarm, "node").value_or("a node"), 100)));
    }
  }
  return Problem("alarms",
                 absl::StrCat("in effect: ", alarms.empty() ? "unnamed" : Some(alarms),
                              "; the broker takes no publishes, so nothing is retried or parked"),
                 "free memory or disk on that node, or raise its limits (vm_memory_high_watermark, "
                 "disk_free_limit); what waits goes on by itself");
}

Finding CheckCertificates(const ManagementApi::Answer& health) {
  constexpr int kOk = 200;
  if (health.http_status == kOk && TextOf(health.json, "status") != "failed") {
    return Ok("certificates", "the broker's are valid for a month at least");
  }
  return Warning("certificates", "one of the broker's expires within a month, or has expired",
                 "renew it (rabbitmq-diagnostics check_certificate_expiration names it)");
}

Finding CheckDefaultQueueType(const Json& vhosts, const std::string& vhost) {
  if (vhosts.is_array()) {
    for (const Json& each : vhosts) {
      if (TextOf(each, "name") != vhost) continue;
      const std::string type = TextOf(each, "default_queue_type").value_or("undefined");
      const std::string shown = type == "undefined" ? "classic" : Printable(type, 40);
      if (type == "stream") {
        return Warning("default queue type",
                       "stream: a work queue that is declared without a type is no queue",
                       "declare work queues with x-queue-type classic or quorum");
      }
      return Ok("default queue type", shown + "; delay queues say what they are by themselves");
    }
  }
  return Skipped("default queue type", "the management API does not show the vhost", "");
}

bool MayHurt(const Json& policies, const DoctorOptions& options) {
  return !NamesOfHurtful(policies, options).empty();
}

Finding CheckPolicies(const Json& policies, const Json& operator_policies,
                      const std::vector<Json>& queues, const DoctorOptions& options) {
  const std::vector<std::string> suspects = Suspects(policies, operator_policies, options);
  if (suspects.empty()) return Ok("policies", "none that changes delay queues");

  bool looked = false;
  for (const Json& queue : queues) {
    const Json& effective = FieldOf(queue, "effective_policy_definition");
    if (effective.is_null()) continue;
    looked = true;
    const std::vector<std::string> harms = HarmsOf(effective, options);
    if (harms.empty()) continue;
    return Problem(
        "policies",
        absl::StrCat(PoliciesOf(queue), " gives delay queues ", absl::StrJoin(harms, "; ")),
        KeepOffCommands(queue, policies, operator_policies, options));
  }
  if (!looked) {
    return Warning("policies",
                   absl::StrCat("could hurt, if they apply to delay queues: ", Some(suspects)),
                   "look at their patterns; with a right to declare delay queues doctor asks the "
                   "broker");
  }
  return Ok("policies", absl::StrCat(Some(suspects), " do not apply to delay queues"));
}

Finding PolicyThatDropsQueues(const Json& policies, const Json& operator_policies,
                              const DoctorOptions& options) {
  return Problem(
      "policies",
      absl::StrCat("a delay queue is dropped as soon as it is made, by 'expires' in one of: ",
                   Some(Suspects(policies, operator_policies, options))),
      PolicyRemedy(options));
}

std::vector<Finding> CheckDelayQueues(const std::vector<Json>& queues,
                                      const DoctorOptions& options) {
  if (!options.delay_queues.declare) return CheckImported(queues, options);
  const bool quorum = options.delay_queues.queue_type == QueueType::kQuorum;
  std::vector<std::string> hashed;
  std::vector<std::string> different;
  std::vector<std::string> shared;  // although each work queue has its own with these options
  using Kind = std::tuple<bool, bool, bool, std::string, std::string, std::string>;
  std::map<Kind, std::set<absl::Duration>> ttls;
  std::size_t count = 0;
  std::int64_t quorum_queues = 0;
  for (const Json& queue : queues) {
    const std::string name = TextOf(queue, "name").value_or("");
    const auto parts = ParseDelayQueueName(name, options.delay_queues.prefix);
    if (!parts) continue;
    ++count;
    if (parts->slot || !parts->work_queue.empty() || !parts->exchange.empty()) ++quorum_queues;
    ttls[{parts->slot.has_value(), parts->direct, !parts->hash.empty(), parts->work_queue,
          parts->exchange, parts->routing_key}]
        .insert(parts->ttl);
    if (!parts->hash.empty()) {
      hashed.push_back(name);
      continue;
    }
    // Delay queues of the other type have other names.
    if (parts->slot.has_value() != quorum) continue;
    // Those of other work queues may have other options.
    if (!parts->exchange.empty()) continue;
    const bool owned = !parts->work_queue.empty();
    if (owned && !quorum) continue;
    if (owned && !options.queue.empty() && !BelongsToOurs(*parts, options)) continue;
    if (!owned && HaveOneWorkQueue(options.delay_queues)) {
      shared.push_back(name);
      continue;
    }
    const DelayTarget target{.dead_letter_exchange = parts->direct ? "" : options.work_exchange,
                             .direct = parts->direct};
    const DeclareParams params = DelayQueueDeclaration(parts->ttl, target, options.delay_queues);
    const auto differences = Differences(queue, params.queue.arguments, quorum);
    if (!differences.empty()) {
      different.push_back(absl::StrCat(name, " (", absl::StrJoin(differences, ", "), ")"));
    }
  }
  std::vector<Finding> findings = CheckUndelivered(queues, options.delay_queues.prefix);
  if (!shared.empty()) {
    findings.push_back(
        Ok("delay queues",
           absl::StrCat("shared among work queues, by older clients or with "
                        "--share-delay-queues: ",
                        Some(shared), "; they go by themselves once nothing is published there")));
  }
  if (!different.empty()) {
    findings.push_back(Warning(
        "delay queues",
        absl::StrCat("made with other options than these: ", Some(different),
                     "; a worker with these puts a hash behind their names"),
        "give all clients of this vhost and prefix the same options, or this one a --prefix of its "
        "own"));
  }
  if (!hashed.empty()) {
    findings.push_back(Warning(
        "delay queues",
        absl::StrCat("clients do not agree, as hashes in names say: ", Some(hashed)),
        "see the event 'renamed' in their logs, which says why; the queues go by themselves"));
  }
  if (quorum_queues > kManyQuorumQueues) {
    findings.push_back(
        Warning("delay queues",
                absl::StrCat("there are ", quorum_queues,
                             " quorum delay queues of this prefix: ", ManyQuorumQueuesCost()),
                FewerQuorumQueues(options.delay_queues)));
  }
  std::size_t most = 0;
  for (const auto& [kind, of_kind] : ttls) most = std::max(most, of_kind.size());
  if (most > options.delay_queues.max_delay_queues) {
    findings.push_back(Warning(
        "delay queues",
        absl::StrCat("there are ", most, " delays with queues",
                     HaveOneWorkQueue(options.delay_queues) ? " of one work queue" : "",
                     ", more than the ", options.delay_queues.max_delay_queues,
                     " of max_delay_queues: the exact delays of different clients add up"),
        options.delay_queues.exact_queues
            ? "give all clients of this prefix the same policy, or --no-exact-queues "
              "(DelayQueueOptions::exact_queues), which keeps them to that number together; or "
              "raise --max-delay-queues if so many are wanted"
            : "some clients of this prefix do not say --no-exact-queues "
              "(DelayQueueOptions::exact_queues): let all of them do so, or give them a --prefix "
              "of their own"));
  }
  if (findings.empty()) {
    findings.push_back(Ok("delay queues", count == 0 ? "none yet, as nothing has failed lately"
                                                     : absl::StrCat(count,
                                                                    ", as these options "
                                                                    "would declare them")));
  }
  return findings;
}

namespace {

// A pattern that also matches the names that `granted` matches. `granted` comes first, so its
// groups keep their numbers.
std::string Merged(const std::string& granted, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return granted.empty() ? "^$" : granted;
  const std::string wanted = absl::StrCat("^(", absl::StrJoin(patterns, "|"), ")$");
  if (granted.empty() || granted == "^$") return wanted;
  if (granted == ".*" || granted == wanted || absl::EndsWith(granted, "|" + wanted)) return granted;
  return absl::StrCat(granted, "|", wanted);
}

}  // namespace

std::vector<Finding> CheckAmqp10(const Json& connections, const DoctorOptions& options) {
  std::int64_t count = 0;
  if (!connections.is_array()) return {};
  for (const Json& connection : connections) {
    count += TextOf(connection, "vhost") == options.place.connection.vhost &&
                     TextOf(connection, "protocol") == "AMQP 1-0"
                 ? 1
                 : 0;
  }
  if (count == 0) return {};
  return {Warning(
      "AMQP 1.0",
      absl::StrCat(count,
                   " AMQP 1.0 connection(s) to the vhost: a message with an application "
                   "property of a type that AMQP 0-9-1 lacks, such as uuid or char, makes "
                   "RabbitMQ close the connection of the worker of its queue with 541"),
      absl::StrCat("have senders to '", options.queue,
                   "' use strings and numbers; where it has "
                   "happened (event interrupted, 541), take the message out with an AMQP 1.0 "
                   "client or a shovel"))};
}

std::string GrantCommand(const DoctorOptions& options) {
  const std::string delay_queues = Escaped(options.delay_queues.prefix + ".") + ".*";
  std::vector<std::string> configure;
  std::vector<std::string> write = {delay_queues, Escaped("amq.default")};
  std::vector<std::string> read = {delay_queues};
  if (options.delay_queues.declare) {
    configure.push_back(delay_queues);
    if (!options.parked_queue.empty()) configure.push_back(Escaped(options.parked_queue));
  }
  if (!options.work_exchange.empty()) write.push_back(Escaped(options.work_exchange));
  if (!options.queue.empty()) read.push_back(Escaped(options.queue));
  const amqp::ConnectionOptions& connection = options.place.connection;
  const GrantedRights granted = options.granted.value_or(GrantedRights());
  const std::string command = absl::StrCat(
      "rabbitmqctl set_permissions -p ", ForShell(connection.vhost), " ",
      OperandForShell(connection.user), " ", ForShell(Merged(granted.configure, configure)), " ",
      ForShell(Merged(granted.write, write)), " ", ForShell(Merged(granted.read, read)));
  if (options.granted) return command;
  return absl::StrCat(
      "the user's present rights are not shown; put them in front, joined by |, as this replaces "
      "them (rabbitmqctl list_user_permissions ",
      OperandForShell(connection.user), "): ", command);
}

}  // namespace retryq::cli
