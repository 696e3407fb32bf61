#include "cli/doctor/limit_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/doctor/remedy_text.h"
#include "cli/management/json_fields.h"
#include "retryq/delay_queue_declaration.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

// A worker with one consumer: one connection to consume and one to publish, and their channels,
// with some for declares and looks that are under way at once.
constexpr std::int64_t kConnectionsOfAWorker = 2;
constexpr std::int64_t kChannelsOfAWorker = 6;

// The limits of the one that was asked for: {"max-queues": 10, …}.
const Json& ValueOf(const Json& limits) {
  static const Json kNone;
  if (!limits.is_array() || limits.empty()) return kNone;
  return FieldOf(limits.front(), "value");
}

// Nothing where there is none; below zero there is none either.
std::optional<std::int64_t> LimitNamed(const Json& limits, const char* name) {
  const std::optional<std::int64_t> limit = IntegerOf(ValueOf(limits), name);
  return limit && *limit >= 0 ? limit : std::nullopt;
}

// The command that raises one limit, and keeps the others, which it sets anew as well.
std::string Raise(const char* command, const std::string& whose, const Json& limits,
                  const char* name, std::int64_t value) {
  Json all = ValueOf(limits);
  all[name] = value;
  return absl::StrCat("rabbitmqctl ", command, " ", whose, " ",
                      ForShell(all.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

std::string OfVhost(const DoctorOptions& options) {
  return "-p " + ForShell(options.place.connection.vhost);
}

// How many connections, or with "channels" how many channels on them, there are where a field has
// this value. Without doctor's own.
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

struct Room {
  std::int64_t limit;
  std::int64_t used;
  std::int64_t needed;
};

// Nothing where there is room enough. A limit below what one worker needs can never be kept.
std::optional<Finding> CheckRoom(const Room& room, std::int64_t needed_by_any,
                                 const std::string& whose, const char* what,
                                 const std::string& remedy) {
  if (room.used + room.needed <= room.limit) return std::nullopt;
  const std::string finding =
      absl::StrCat(whose, " may have ", room.limit, " ", what, " and has ", room.used,
                   "; a worker needs up to ", room.needed, " more");
  return room.limit < needed_by_any ? Problem("limits", finding, remedy)
                                    : Warning("limits", finding, remedy);
}

}  // namespace

std::int64_t MostQueuesOf(const DoctorOptions& options) {
  // At a time there are up to three of a quorum delay, see doc/queue_types.md.
  const std::int64_t of_a_delay =
      options.delay_queues.queue_type == QueueType::kQuorum && options.delay_queues.declare ? 3 : 1;
  const std::int64_t ways = options.work_exchange.empty() ? 1 : 2;
  const auto delays =
      static_cast<std::int64_t>(DelayQueueTtls(options.retry, options.delay_queues).size());
  return delays * of_a_delay * ways + (options.parked_queue.empty() ? 0 : 1);
}

std::optional<Finding> CheckQueueLimit(const Json& limits, std::int64_t queues, std::int64_t own,
                                       const DoctorOptions& options) {
  const std::optional<std::int64_t> limit = LimitNamed(limits, "max-queues");
  if (!limit) return std::nullopt;
  const std::int64_t needed = std::max<std::int64_t>(MostQueuesOf(options) - own, 0);
  return CheckRoom(
      {.limit = *limit, .used = queues, .needed = needed}, queues + 1,
      "vhost " + InQuotes(options.place.connection.vhost), "queues",
      Raise("set_vhost_limits", OfVhost(options), limits, "max-queues", queues + needed + 10));
}

std::optional<Finding> CheckVhostConnections(const Json& limits, const Json& connections,
                                             const DoctorOptions& options) {
  const std::optional<std::int64_t> limit = LimitNamed(limits, "max-connections");
  if (!limit) return std::nullopt;
  const std::string& vhost = options.place.connection.vhost;
  const std::int64_t used = CountWhere(connections, "vhost", vhost, /*channels=*/false);
  return CheckRoom({.limit = *limit, .used = used, .needed = kConnectionsOfAWorker},
                   kConnectionsOfAWorker, "vhost " + InQuotes(vhost), "connections",
                   Raise("set_vhost_limits", OfVhost(options), limits, "max-connections",
                         used + 10 * kConnectionsOfAWorker));
}

std::optional<Finding> CheckUserConnections(const Json& limits, const Json& connections,
                                            const DoctorOptions& options) {
  const std::optional<std::int64_t> limit = LimitNamed(limits, "max-connections");
  if (!limit) return std::nullopt;
  const std::string& user = options.place.connection.user;
  const std::int64_t used = CountWhere(connections, "user", user, /*channels=*/false);
  return CheckRoom({.limit = *limit, .used = used, .needed = kConnectionsOfAWorker},
                   kConnectionsOfAWorker, "user " + InQuotes(user), "connections",
                   Raise("set_user_limits", ForShell(user), limits, "max-connections",
                         used + 10 * kConnectionsOfAWorker));
}

std::optional<Finding> CheckUserChannels(const Json& limits, const Json& connections,
                                         const DoctorOptions& options) {
  const std::optional<std::int64_t> limit = LimitNamed(limits, "max-channels");
  if (!limit) return std::nullopt;
  const std::string& user = options.place.connection.user;
  const std::int64_t used = CountWhere(connections, "user", user, /*channels=*/true);
  return CheckRoom({.limit = *limit, .used = used, .needed = kChannelsOfAWorker},
                   kChannelsOfAWorker, "user " + InQuotes(user), "channels",
                   Raise("set_user_limits", ForShell(user), limits, "max-channels",
                         used + 10 * kChannelsOfAWorker));
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
