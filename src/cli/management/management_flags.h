#ifndef RETRYQ_CLI_MANAGEMENT_MANAGEMENT_FLAGS_H_
#define RETRYQ_CLI_MANAGEMENT_MANAGEMENT_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "cli/flags/url_flags.h"
#include "cli/management/management_url.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/client.h"

namespace retryq::cli {

// The flags for the addresses of the broker and its management API.
struct ManagementFlags {
  UrlFlags urls;
  FlagText management;
};

void AddFlags(FlagParser& parser, ManagementFlags& flags);

// The broker and its management API from these flags or RETRYQ_URL and RETRYQ_MANAGEMENT_URL.
struct BrokerPlace {
  ClientOptions client;
  amqp::ConnectionOptions connection;
  ManagementUrl management;
};

// Reads the URL of the management API from the flag or RETRYQ_MANAGEMENT_URL, otherwise uses the
// broker's hosts, and reports errors. `waits`: the command waits for hosts that cannot be resolved
// yet, so these are not errors.
ManagementUrl ReadManagement(const ManagementFlags& flags, const ClientOptions& client, bool waits,
                             FlagReader& reader);

// Returns RETRYQ_MANAGEMENT_URL if it names one of the broker's hosts.
std::optional<ManagementUrl> ManagementByEnvironment(const amqp::ConnectionOptions& broker);

// The broker of client options that have been read.
amqp::ConnectionOptions ConnectionOf(const ClientOptions& client);

// Reads the flags and reports errors.
void ReadFlags(const ManagementFlags& flags, FlagReader& reader, BrokerPlace* place);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_FLAGS_H_
