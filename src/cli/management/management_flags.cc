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

void ReadFlags(const ManagementFlags& flags, FlagReader& reader, BrokerPlace* place) {
  reader.ReadUrls(flags.urls, &place->client);
  std::vector<std::string> urls = place->client.more_urls;
  urls.insert(urls.begin(), place->client.url);
  if (const auto connection = amqp::ParseUris(urls); connection.ok()) {
    place->connection = *connection;
  }
  place->management = DefaultManagementUrl(place->connection);

  FlagText url = flags.management;
  std::string source = "--management";
  const char* variable = std::getenv("RETRYQ_MANAGEMENT_URL");
  if (!url && variable != nullptr && *variable != '\0') {
    url = variable;
    source = "RETRYQ_MANAGEMENT_URL";
  }
  if (!url) return;
  const auto management = ParseManagementUrl(*url, place->connection);
  if (management.ok()) {
    place->management = *management;
  } else {
    reader.Complain(source + ": " + std::string(management.status().message()));
  }
}

}  // namespace retryq::cli
