#include "cli/management/management_flags.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/flags/shared_flags.h"

namespace retryq::cli {
namespace {

// The time limit of name lookups, as a host may have several names.
constexpr absl::Duration kLongestLookUp = absl::Seconds(1);

// `unknown` is the result if a host cannot be resolved.
bool IsOnAHostOf(const amqp::ConnectionOptions& broker, const ManagementUrl& management,
                 bool unknown) {
  return std::any_of(broker.endpoints.begin(), broker.endpoints.end(),
                     [&](const amqp::Endpoint& endpoint) {
                       return IsSameHost(endpoint.host, management.endpoint.host, kLongestLookUp)
                           .value_or(unknown);
                     });
}

// If the broker's URLs are in a file, reads its user's current password from the file.
ManagementUrl Renewed(ManagementUrl management, const ClientOptions& client,
                      const amqp::ConnectionOptions& broker) {
  if (client.url_source == nullptr || management.user != broker.user ||
      management.password != broker.password) {
    return management;
  }
  management.renewed = [source = client.url_source]() -> absl::StatusOr<amqp::ConnectionOptions> {
    const absl::StatusOr<std::vector<std::string>> urls = source();
    if (!urls.ok()) return urls.status();
    return amqp::ParseUris(*urls);
  };
  return management;
}

constexpr char kUrlHelp[] =
    "Connect to this broker: amqp://user:password@host:port/vhost.\n"
    "Repeatable, for the nodes of a cluster";
constexpr char kManagementHelp[] =
    "Use the management API at http://user:password@host:port, or https://\n"
    "with the parameters of amqps://. Default: $RETRYQ_MANAGEMENT_URL,\n"
    "which with --url must name one of its hosts; otherwise the hosts and\n"
    "the user of --url, on port 15672 (with amqps:// by https on 15671)";

// `urls_flag` is the flag that names the broker; empty: the environment does.
ManagementUrl Resolved(const FlagText& given, const std::string& urls_flag,
                       const ClientOptions& client, bool waits, FlagReader& reader) {
  const amqp::ConnectionOptions broker = ConnectionOf(client);
  const char* const variable = std::getenv("RETRYQ_MANAGEMENT_URL");
  const bool by_variable = !given && variable != nullptr && *variable != '\0';
  if (!given && !by_variable) return Renewed(DefaultManagementUrl(broker), client, broker);
  absl::StatusOr<ManagementUrl> management =
      ParseManagementUrl(by_variable ? variable : *given, broker);
  if (!management.ok()) {
    reader.Complain(absl::StrCat(by_variable ? "RETRYQ_MANAGEMENT_URL: " : "--management: ",
                                 std::string(management.status().message())));
    return DefaultManagementUrl(broker);
  }
  // A variable for another broker must not select the queues to read or delete.
  if (by_variable && !urls_flag.empty() && !IsOnAHostOf(broker, *management, waits)) {
    reader.Complain(absl::StrCat(
        "RETRYQ_MANAGEMENT_URL names the management API of another host, ", Describe(*management),
        ", than the broker in ", urls_flag, ", ", amqp::Describe(broker),
        "; unset the variable, or name the management API of the broker with --management"));
  }
  return Renewed(*std::move(management), client, broker);
}

}  // namespace

void AddPlaceFlags(FlagParser& parser, bool waits, BrokerPlace* place, absl::Duration* heartbeat) {
  parser.Group("Where");
  AddUrlFlags(parser, kUrlHelp, &place->client, heartbeat);
  const auto url = std::make_shared<FlagText>();
  parser.Add("--management", "URL", url.get(), kManagementHelp);
  parser.Resolve([url, waits, place](FlagReader& reader) {
    place->connection = ConnectionOf(place->client);
    place->management = Resolved(*url,
                                 reader.given("--url-file") ? "--url-file"
                                 : reader.given("--url")    ? "--url"
                                                            : "",
                                 place->client, waits, reader);
  });
}

std::optional<ManagementUrl> ManagementByEnvironment(const amqp::ConnectionOptions& broker) {
  const char* const variable = std::getenv("RETRYQ_MANAGEMENT_URL");
  if (variable == nullptr || *variable == '\0') return std::nullopt;
  absl::StatusOr<ManagementUrl> management = ParseManagementUrl(variable, broker);
  if (!management.ok() || !IsOnAHostOf(broker, *management, /*unknown=*/false)) return std::nullopt;
  return *std::move(management);
}

amqp::ConnectionOptions ConnectionOf(const ClientOptions& client) {
  std::vector<std::string> urls = client.more_urls;
  urls.insert(urls.begin(), client.url);
  return amqp::ParseUris(urls).value_or(amqp::ConnectionOptions());
}

}  // namespace retryq::cli
