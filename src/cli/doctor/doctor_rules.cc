#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/broker_version.h"
#include "cli/doctor/doctor_command.h"
#include "cli/flags/shared_flags.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

// Whether a health check has passed.
bool HasPassed(const ManagementApi::Answer& health) {
  return health.http_status == kHttpOk && TextOf(health.json, "status") != "failed";
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

Finding CheckVersion(const std::string& version, QueueType delay_queues) {
  const BrokerVersion parsed = BrokerVersion::Parse(version);
  const std::string name = absl::StrCat("RabbitMQ ", Printable(version, 40));
  if (parsed < BrokerVersion{3, 10}) {
    return Warning("version", name + ": retryq is not tested with this version",
                   "use RabbitMQ 3.10 or newer");
  }
  if (delay_queues == QueueType::kQuorum && parsed.DeadLetteringMayStop()) {
    return Warning("version",
                   name +
                       ": quorum delay queues may keep messages forever after their members "
                       "change",
                   "use RabbitMQ 4.3.3 or newer");
  }
  return Ok("version", name);
}

Finding CheckTls(const amqp::ConnectionOptions& connection) {
  if (connection.tls && !connection.tls->verify_peer) {
    return Warning(
        "tls",
        "on, but the certificate is not verified (verify=verify_none): the connection "
        "can be intercepted",
        "name the certificate authority (?cacertfile=FILE) and remove verify from --url");
  }
  if (connection.tls) return Ok("tls", "on; the broker's certificate is verified");
  for (const amqp::Endpoint& endpoint : connection.endpoints) {
    if (IsLoopback(endpoint.host)) continue;
    return Warning("tls",
                   absl::StrCat("off: the password and messages can be read on the network to ",
                                InQuotes(endpoint.host)),
                   "use amqps:// unless the network is private");
  }
  return Ok("tls", "off; not needed on this machine");
}

Finding CheckClock(const std::optional<ManagementApi::ClockDifference>& clock,
                   const DelayQueueOptions& options) {
  // The difference from which workers report each other's clocks (the event `overridden`).
  constexpr absl::Duration kMuch = absl::Seconds(1);
  if (!clock) {
    return Skipped("clock", "the management API does not report its time",
                   "check that the clocks of all machines are synchronized");
  }
  constexpr absl::Duration kStep = absl::Milliseconds(100);
  const absl::Duration size = absl::AbsDuration(clock->difference);
  const absl::Duration certain = size - clock->error;
  const std::string accuracy =
      absl::StrCat(" (accurate to ", DurationText(absl::Ceil(clock->error, kStep)), ")");
  const std::string difference =
      absl::StrCat("the clock of the broker is ", DurationText(absl::Trunc(size, kStep)),
                   clock->difference < absl::ZeroDuration() ? " behind" : " ahead", accuracy);
  constexpr char kRemedy[] = "synchronize the clocks of the machines (chrony, systemd-timesyncd)";
  if (options.queue_type == QueueType::kQuorum && options.declare &&
      certain >= options.outage - options.confirm_timeout) {
    return Problem("clock",
                   difference + ": such a difference between workers loses messages (see --outage)",
                   kRemedy);
  }
  if (certain > kMuch) {
    return Warning("clock", difference + ": delays of several hops may be wrong by this difference",
                   kRemedy);
  }
  if (certain > absl::ZeroDuration()) return Ok("clock", difference);
  return Ok("clock", "the broker and this machine have the same time" + accuracy);
}

Finding CheckAlarms(const ManagementApi::Answer& health) {
  if (HasPassed(health)) return Ok("alarms", "none");
  std::vector<std::string> alarms;
  const Json& list = FieldOf(health.json, "alarms");
  if (list.is_array()) {
    for (const Json& alarm : list) {
      alarms.push_back(absl::StrCat(Printable(TextOf(alarm, "resource").value_or("unnamed"), 40),
                                    " on ",
                                    Printable(TextOf(alarm, "node").value_or("a node"), 100)));
    }
  }
  return Problem(
      "alarms",
      absl::StrCat("in effect: ", alarms.empty() ? "unnamed" : absl::StrJoin(alarms, ", "),
                   "; the broker accepts no publishes, so no message is retried or "
                   "parked"),
      "free memory or disk space on that node, or raise its limits "
      "(vm_memory_high_watermark, disk_free_limit); publishing resumes automatically");
}

Finding CheckCertificates(const ManagementApi::Answer& health) {
  if (HasPassed(health)) {
    return Ok("certificates", "the certificates of the broker are valid for at least a month");
  }
  return Warning("certificates",
                 "a certificate of the broker has expired or expires within a month",
                 "renew it (rabbitmq-diagnostics check_certificate_expiration names it)");
}

Finding CheckDefaultQueueType(const Json& vhosts, const std::string& vhost) {
  constexpr char kCheck[] = "default queue type";
  if (vhosts.is_array()) {
    for (const Json& each : vhosts) {
      if (TextOf(each, "name") != vhost) continue;
      const std::string type = TextOf(each, "default_queue_type").value_or("undefined");
      if (type == "stream") {
        return Warning(kCheck,
                       "stream: a work queue that is declared without a type becomes a stream",
                       "declare work queues with x-queue-type classic or quorum");
      }
      return Ok(kCheck, absl::StrCat(type == "undefined" ? "classic" : Printable(type, 40),
                                     "; delay queues are declared with their own type"));
    }
  }
  return Skipped(kCheck, "the management API does not list the vhost");
}

Findings CheckAmqp10(const Json& connections, const WorkOptions& worker) {
  if (!connections.is_array()) return {};
  const auto count =
      std::count_if(connections.begin(), connections.end(), [&](const Json& connection) {
        return TextOf(connection, "vhost") == worker.place.connection.vhost &&
               TextOf(connection, "protocol") == "AMQP 1-0";
      });
  if (count == 0) return {};
  return {Warning(
      "AMQP 1.0",
      absl::StrCat(count,
                   " AMQP 1.0 connection(s) to the vhost: if a message has an application property "
                   "of a type that AMQP 0-9-1 does not have, such as uuid or char, RabbitMQ closes "
                   "the connection of the worker with 541"),
      absl::StrCat("let senders to ", InQuotes(worker.consumer.queue),
                   " use strings and numbers; if the worker is interrupted with 541, remove the "
                   "message with an AMQP 1.0 client or a shovel"))};
}

Findings CheckShovels(const Json& shovels, const WorkOptions& worker) {
  Findings findings;
  if (!shovels.is_array()) return findings;
  const std::string beginning = worker.delay_queues().prefix + ".";
  for (const Json& shovel : shovels) {
    for (const char* end : {"src-queue", "src-exchange", "dest-queue", "dest-exchange"}) {
      const std::string object = TextOf(FieldOf(shovel, "value"), end).value_or("");
      if (!object.starts_with(beginning)) continue;
      const std::string name = TextOf(shovel, "name").value_or("");
      findings.push_back(
          Problem("shovels",
                  absl::StrCat("shovel ", InQuotes(name), " has ", InQuotes(object), " as its ",
                               end, ": it moves messages that wait for a retry"),
                  absl::StrCat("rabbitmqctl clear_parameter -p ",
                               ShellQuoted(worker.place.connection.vhost), " shovel ",
                               OperandForShell(name))));
      break;
    }
  }
  return findings;
}

namespace {

// A worker with one consumer has one connection to consume and one to publish. Its channels include
// some for concurrent declares.
constexpr std::int64_t kConnections = 2;
constexpr std::int64_t kChannels = 6;

// The limits in a reply about one vhost or user: {"max-queues": 10, …}.
const Json& ValueOf(const Json& limits) {
  static const Json kNone;
  if (!limits.is_array() || limits.empty()) return kNone;
  return FieldOf(limits.front(), "value");
}

// Counts connections, or with `channels` their channels, in which a field has this value. Ignores
// doctor's own connections.
std::int64_t CountWhere(const Json& connections, const char* field, const std::string& value,
                        bool channels) {
  std::int64_t count = 0;
  if (!connections.is_array()) return count;
  for (const Json& connection : connections) {
    if (TextOf(connection, field) != value) continue;
    const Json& properties = FieldOf(connection, "client_properties");
    if (TextOf(properties, "connection_name") == "retryq doctor") continue;
    count += channels ? IntegerOf(connection, "channels").value_or(0) : 1;
  }
  return count;
}

// A limit and its use.
struct LimitRule {
  const char* name;
  const char* what;  // the limited objects
  bool of_user;      // otherwise of the vhost
  std::int64_t used;
  std::int64_t needed;         // by one more worker
  std::int64_t needed_by_any;  // a lower limit is never enough
  std::int64_t spare;          // additional room in the remedy
};

// Returns nullopt if there is enough room. The remedy raises the limit and keeps the other ones.
std::optional<Finding> CheckRoom(const LimitRule& rule, const LimitFacts& facts,
                                 const amqp::ConnectionOptions& connection) {
  Json limits = ValueOf(rule.of_user ? facts.of_user : facts.of_vhost);
  const std::optional<std::int64_t> limit = IntegerOf(limits, rule.name);
  // A negative limit is unlimited.
  if (!limit || *limit < 0 || rule.used + rule.needed <= *limit) return std::nullopt;
  const std::string finding = absl::StrCat(
      rule.of_user ? "user " + InQuotes(connection.user) : "vhost " + InQuotes(connection.vhost),
      " may have ", *limit, " ", rule.what, " and has ", rule.used, "; a worker needs up to ",
      rule.needed, " more");
  limits[rule.name] = rule.used + rule.spare;
  const std::string remedy =
      absl::StrCat("rabbitmqctl ",
                   rule.of_user ? "set_user_limits " + ShellQuoted(connection.user)
                                : "set_vhost_limits -p " + ShellQuoted(connection.vhost),
                   " ", ShellQuoted(JsonLine(limits)));
  return *limit < rule.needed_by_any ? Problem("limits", finding, remedy)
                                     : Warning("limits", finding, remedy);
}

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

std::int64_t MostQueuesOf(const WorkOptions& worker) {
  const std::int64_t of_a_delay =
      std::max<std::int64_t>(QuorumQueuesOfADelay(worker.delay_queues()), 1);
  const std::int64_t ways = worker.consumer.work_exchange.empty() ? 1 : 2;
  const auto delays = static_cast<std::int64_t>(
      DelayQueueTtls(worker.consumer.retry, worker.delay_queues()).size());
  return delays * of_a_delay * ways + (worker.consumer.parked_queue.empty() ? 0 : 1);
}

Findings CheckLimits(const LimitFacts& facts, const WorkOptions& worker) {
  const amqp::ConnectionOptions& broker = worker.place.connection;
  const std::int64_t queues = std::max<std::int64_t>(MostQueuesOf(worker) - facts.own_queues, 0);
  const auto used = [&facts](const char* field, const std::string& value, bool channels) {
    return CountWhere(facts.connections, field, value, channels);
  };
  const LimitRule rules[] = {
      {"max-queues", "queues", false, facts.queues, queues, facts.queues + 1, queues + 10},
      {"max-connections", "connections", false, used("vhost", broker.vhost, false), kConnections,
       kConnections, 10 * kConnections},
      {"max-connections", "connections", true, used("user", broker.user, false), kConnections,
       kConnections, 10 * kConnections},
      {"max-channels", "channels", true, used("user", broker.user, true), kChannels, kChannels,
       10 * kChannels},
  };
  Findings findings;
  for (const LimitRule& rule : rules) {
    if (auto finding = CheckRoom(rule, facts, broker)) findings.push_back(*std::move(finding));
  }
  return findings;
}

Finding LimitReached(const absl::Status& refusal) {
  return Problem("limits",
                 absl::StrCat("the broker refuses to declare more (",
                              Printable(std::string(refusal.message())), ")"),
                 "raise the limit: rabbitmqctl set_vhost_limits for the queues of a vhost, "
                 "cluster_queue_limit and cluster_exchange_limit in rabbitmq.conf for those of a "
                 "cluster; or delete unused queues");
}

std::string OperandForShell(const std::string& text) {
  return absl::StrCat(text.starts_with('-') ? "-- " : "", ShellQuoted(text));
}

DelayTarget TargetOf(const WorkOptions& worker) {
  return {.dead_letter_exchange = worker.consumer.work_exchange,
          .work_queue = worker.consumer.queue};
}

std::string GrantCommand(const WorkOptions& worker, const std::optional<GrantedRights>& known) {
  const std::string delay_queues = RegexEscaped(worker.delay_queues().prefix + ".") + ".*";
  std::vector<std::string> configure;
  std::vector<std::string> write = {delay_queues, RegexEscaped("amq.default")};
  std::vector<std::string> read = {delay_queues};
  if (worker.delay_queues().declare) {
    configure.push_back(delay_queues);
    if (!worker.consumer.parked_queue.empty())
      configure.push_back(RegexEscaped(worker.consumer.parked_queue));
  }
  if (!worker.consumer.work_exchange.empty())
    write.push_back(RegexEscaped(worker.consumer.work_exchange));
  if (!worker.consumer.queue.empty()) read.push_back(RegexEscaped(worker.consumer.queue));
  const amqp::ConnectionOptions& connection = worker.place.connection;
  const GrantedRights granted = known.value_or(GrantedRights());
  const std::string command = absl::StrCat(
      "rabbitmqctl set_permissions -p ", ShellQuoted(connection.vhost), " ",
      OperandForShell(connection.user), " ", ShellQuoted(Merged(granted.configure, configure)), " ",
      ShellQuoted(Merged(granted.write, write)), " ", ShellQuoted(Merged(granted.read, read)));
  if (known) return command;
  return absl::StrCat(
      "this command replaces the user's present permissions, which are not known; insert them "
      "before each pattern, joined by | (rabbitmqctl list_user_permissions ",
      OperandForShell(connection.user), "): ", command);
}

}  // namespace retryq::cli
