#ifndef RETRYQ_CLI_MANAGEMENT_MANAGEMENT_FLAGS_H_
#define RETRYQ_CLI_MANAGEMENT_MANAGEMENT_FLAGS_H_

#include <optional>
#include <string>

#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "cli/management/management_url.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/client.h"

namespace retryq::cli {

// The broker and its management API.
struct BrokerPlace {
  ClientOptions client;
  amqp::ConnectionOptions connection;
  ManagementUrl management;
};

// Group "Where": --url, --url-file and --management, or RETRYQ_URL, RETRYQ_URL_FILE and
// RETRYQ_MANAGEMENT_URL. `waits`: the command waits for hosts that cannot be resolved yet, so these
// are not errors. `*heartbeat`, if not null, becomes the heartbeat in the URLs.
void AddPlaceFlags(FlagParser& parser, bool waits, BrokerPlace* place,
                   absl::Duration* heartbeat = nullptr);

// Returns RETRYQ_MANAGEMENT_URL if it names one of the broker's hosts.
std::optional<ManagementUrl> ManagementByEnvironment(const amqp::ConnectionOptions& broker);

// The broker of client options that have been read.
amqp::ConnectionOptions ConnectionOf(const ClientOptions& client);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_FLAGS_H_
