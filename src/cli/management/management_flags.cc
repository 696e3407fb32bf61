#include "cli/management/management_flags.h"

#include <cstdlib>

namespace retryq::cli {

void AddFlags(FlagParser& parser, ManagementFlags& flags) {
  parser.Group("Where");
  parser.Add("--url", "URL", &flags.urls,
             "amqp://user:password@host:port/vhost; again for more nodes of a cluster\n"
             "(default: $RETRYQ_URL, else amqp://guest:guest@localhost:5672/)");
  parser.Add("--management", "URL", &flags.management,
             "http://user:password@host:port of the management API, or https:// with the\n"
             "parameters of amqps:// (default: $RETRYQ_MANAGEMENT_URL, else port 15672 of the\n"
             "--url hosts with their user; beside amqps:// by https, port 15671)");
}

ManagementUrl ReadManagement(const FlagText& flag, const amqp::ConnectionOptions& broker,
                             FlagReader& reader) {
  FlagText url = flag;
  std::string source = "--management";
  const char* variable = std::getenv("RETRYQ_MANAGEMENT_URL");
  if (!url && variable != nullptr && *variable != '\0') {
    url = variable;
    source = "RETRYQ_MANAGEMENT_URL";
  }
  if (!url) return DefaultManagementUrl(broker);
  absl::StatusOr<ManagementUrl> management = ParseManagementUrl(*url, broker);
  if (management.ok()) return *std::move(management);
  reader.Complain(source + ": " + std::string(management.status().message()));
  return DefaultManagementUrl(broker);
}

amqp::ConnectionOptions ConnectionOf(const ClientOptions& client) {
  std::vector<std::string> urls = client.more_urls;
  urls.insert(urls.begin(), client.url);
  return amqp::ParseUris(urls).value_or(amqp::ConnectionOptions());
}

void ReadFlags(const ManagementFlags& flags, FlagReader& reader, BrokerPlace* place) {
  reader.ReadUrls(flags.urls, &place->client);
  place->connection = ConnectionOf(place->client);
  place->management = ReadManagement(flags.management, place->connection, reader);
}

}  // namespace retryq::cli
