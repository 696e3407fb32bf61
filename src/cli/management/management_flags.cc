#include "cli/management/management_flags.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/management/same_host.h"

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

}  // namespace

void AddFlags(FlagParser& parser, ManagementFlags& flags) {
  parser.Group("Where");
  AddFlags(parser, flags.urls,
           "amqp://user:password@host:port/vhost; again for more nodes of a cluster");
  parser.Add("--management", "URL", &flags.management,
             "http://user:password@host:port of the management API, or https:// with the\n"
             "parameters of amqps:// (default: $RETRYQ_MANAGEMENT_URL, which with --url must\n"
             "name a host of it; else port 15672 of the --url hosts with their user; beside\n"
             "amqps:// by https, port 15671)");
}

ManagementUrl ReadManagement(const ManagementFlags& flags, const ClientOptions& client, bool waits,
                             FlagReader& reader) {
  const amqp::ConnectionOptions broker = ConnectionOf(client);
  FlagText url = flags.management;
  std::string source = "--management";
  const char* variable = std::getenv("RETRYQ_MANAGEMENT_URL");
  if (!url && variable != nullptr && *variable != '\0') {
    url = variable;
    source = "RETRYQ_MANAGEMENT_URL";
  }
  if (!url) return Renewed(DefaultManagementUrl(broker), client, broker);
  absl::StatusOr<ManagementUrl> management = ParseManagementUrl(*url, broker);
  if (!management.ok()) {
    reader.Complain(source + ": " + std::string(management.status().message()));
    return DefaultManagementUrl(broker);
  }
  // A variable for another broker must not select the queues to read or delete.
  if (!flags.management && flags.urls.is_given() && !IsOnAHostOf(broker, *management, waits)) {
    reader.Complain(absl::StrCat(
        flags.urls.file ? "--url-file" : "--url", " names the broker ", amqp::Describe(broker),
        ", and RETRYQ_MANAGEMENT_URL the management API of another host, ", Describe(*management),
        "; unset the variable, or name the management API of that broker by --management"));
  }
  return Renewed(*std::move(management), client, broker);
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

void ReadFlags(const ManagementFlags& flags, FlagReader& reader, BrokerPlace* place) {
  ReadUrls(flags.urls, reader, &place->client);
  place->connection = ConnectionOf(place->client);
  place->management = ReadManagement(flags, place->client, /*waits=*/false, reader);
}

}  // namespace retryq::cli
