#include "cli/doctor/limit_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/doctor/remedy_text.h"
#include "cli/management/json_fields.h"
#include "cli/text/json_line.h"
#include "cli/text/many_quorum_queues.h"
#include "retryq/delay_queue_declaration.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

// A worker with one consumer has one connection to consume and one to publish. Its channels include
// some for concurrent declares.
constexpr std::int64_t kConnectionsOfAWorker = 2;
constexpr std::int64_t kChannelsOfAWorker = 6;

// The limits in a reply about one vhost or user: {"max-queues": 10, …}.
const Json& ValueOf(const Json& limits) {
  static const Json kNone;
  if (!limits.is_array() || limits.empty()) return kNone;
  return FieldOf(limits.front(), "value");
}

// Returns nullopt without a limit; a negative limit is unlimited.
std::optional<std::int64_t> LimitNamed(const Json& limits, const char* name) {
  const std::optional<std::int64_t> limit = IntegerOf(ValueOf(limits), name);
  return limit && *limit >= 0 ? limit : std::nullopt;
}

// The command that raises one limit and sets the others to their current values.
std::string Raise(const char* command, const std::string& whose, const Json& limits,
                  const char* name, std::int64_t value) {
  Json all = ValueOf(limits);
  all[name] = value;
  return absl::StrCat("rabbitmqctl ", command, " ", whose, " ", ForShell(JsonLine(all)));
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
struct Rule {
  const char* name;
  const char* what;  // the limited objects
  bool of_user;      // otherwise of the vhost
  std::int64_t used;
  std::int64_t needed;         // by one more worker
  std::int64_t needed_by_any;  // a lower limit is never enough
  std::int64_t spare;          // additional room in the remedy
};

// Returns nullopt if there is enough room.
std::optional<Finding> CheckRoom(const Rule& rule, const LimitFacts& facts,
                                 const amqp::ConnectionOptions& connection) {
  const Json& limits = rule.of_user ? facts.of_user : facts.of_vhost;
  const std::optional<std::int64_t> limit = LimitNamed(limits, rule.name);
  if (!limit || rule.used + rule.needed <= *limit) return std::nullopt;
  const std::string finding = absl::StrCat(
      rule.of_user ? "user " + InQuotes(connection.user) : "vhost " + InQuotes(connection.vhost),
      " may have ", *limit, " ", rule.what, " and has ", rule.used, "; a worker needs up to ",
      rule.needed, " more");
  const std::string whose =
      rule.of_user ? ForShell(connection.user) : "-p " + ForShell(connection.vhost);
  const std::string remedy = Raise(rule.of_user ? "set_user_limits" : "set_vhost_limits", whose,
                                   limits, rule.name, rule.used + rule.spare);
  return *limit < rule.needed_by_any ? Problem("limits", finding, remedy)
                                     : Warning("limits", finding, remedy);
}

}  // namespace

std::int64_t MostQueuesOf(const DoctorOptions& options) {
  const std::int64_t of_a_delay =
      std::max<std::int64_t>(QuorumQueuesOfADelay(options.delay_queues), 1);
  const std::int64_t ways = options.work_exchange.empty() ? 1 : 2;
  const auto delays =
      static_cast<std::int64_t>(DelayQueueTtls(options.retry, options.delay_queues).size());
  return delays * of_a_delay * ways + (options.parked_queue.empty() ? 0 : 1);
}

std::vector<Finding> CheckLimits(const LimitFacts& facts, const DoctorOptions& options) {
  const amqp::ConnectionOptions& broker = options.place.connection;
  const std::int64_t queues = std::max<std::int64_t>(MostQueuesOf(options) - facts.own_queues, 0);
  const auto used = [&facts](const char* field, const std::string& value, bool channels) {
    return CountWhere(facts.connections, field, value, channels);
  };
  constexpr std::int64_t kLinks = kConnectionsOfAWorker;
  constexpr std::int64_t kChannels = kChannelsOfAWorker;
  const Rule rules[] = {
      {"max-queues", "queues", false, facts.queues, queues, facts.queues + 1, queues + 10},
      {"max-connections", "connections", false, used("vhost", broker.vhost, false), kLinks, kLinks,
       10 * kLinks},
      {"max-connections", "connections", true, used("user", broker.user, false), kLinks, kLinks,
       10 * kLinks},
      {"max-channels", "channels", true, used("user", broker.user, true), kChannels, kChannels,
       10 * kChannels},
  };
  std::vector<Finding> findings;
  for (const Rule& rule : rules) {
    if (auto finding = CheckRoom(rule, facts, broker)) findings.push_back(*std::move(finding));
  }
  return findings;
}

Finding LimitReached(const absl::Status& refusal) {
  return Problem(
      "limits",
      absl::StrCat("no more can be declared (", Printable(std::string(refusal.message())), ")"),
      "raise that limit: rabbitmqctl set_vhost_limits for a vhost's queues, "
      "cluster_queue_limit and cluster_exchange_limit in rabbitmq.conf for a cluster's; "
      "or delete queues that nobody needs");
}

}  // namespace retryq::cli
