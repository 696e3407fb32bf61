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

// The flags that say where the broker and its management API are.
struct ManagementFlags {
  UrlFlags urls;
  FlagText management;
};

void AddFlags(FlagParser& parser, ManagementFlags& flags);

// The two places that those flags, or RETRYQ_URL and RETRYQ_MANAGEMENT_URL, name.
struct BrokerPlace {
  ClientOptions client;
  amqp::ConnectionOptions connection;
  ManagementUrl management;
};

// Where the management API of the client's broker is: by the flag, by RETRYQ_MANAGEMENT_URL, or on
// the broker's hosts. What is wrong is complained of. `waits`: for hosts that cannot be resolved
// yet, so that these are not complained of.
ManagementUrl ReadManagement(const ManagementFlags& flags, const ClientOptions& client, bool waits,
                             FlagReader& reader);

// By RETRYQ_MANAGEMENT_URL alone, where that is one of `broker`'s hosts.
std::optional<ManagementUrl> ManagementByEnvironment(const amqp::ConnectionOptions& broker);

// The broker of URLs that have been read.
amqp::ConnectionOptions ConnectionOf(const ClientOptions& client);

// What is wrong is complained of.
void ReadFlags(const ManagementFlags& flags, FlagReader& reader, BrokerPlace* place);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_FLAGS_H_
