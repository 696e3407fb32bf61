#ifndef RETRYQ_CLI_MANAGEMENT_MANAGEMENT_URL_H_
#define RETRYQ_CLI_MANAGEMENT_MANAGEMENT_URL_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::cli {

// The address of RabbitMQ's management HTTP API and its credentials.
struct ManagementUrl {
  amqp::Endpoint endpoint;
  std::vector<std::string> more_hosts;  // other nodes, if the first does not reply
  std::optional<amqp::TlsOptions> tls;  // set for https
  std::string user;
  std::string password;
  // Returns the current options of the broker, for the user and the password; null: these do not
  // change.
  std::function<absl::StatusOr<amqp::ConnectionOptions>()> renewed;
  std::string path_prefix;  // path before "/api", such as "/rabbitmq"; usually empty
};

// Parses `http://user:password@host:port/prefix` or `https://`, with the TLS parameters of amqps://
// (amqp::ParseUri). The default port is 80 or 443, the default user that of `broker`. Returns
// kInvalidArgument with the wrong part, never with the password.
absl::StatusOr<ManagementUrl> ParseManagementUrl(const std::string& url,
                                                 const amqp::ConnectionOptions& broker);

// The default: on the broker's hosts, http on port 15672; if the broker uses TLS, https on port
// 15671 with the same authorities.
ManagementUrl DefaultManagementUrl(const amqp::ConnectionOptions& broker);

// "http://host:port/prefix", without user and password.
std::string Describe(const ManagementUrl& url);

// Returns the numeric addresses of a host; empty if it cannot be resolved. May block, and is called
// on separate threads.
using LookUpHost = std::function<std::vector<std::string>(const std::string& host)>;

// Resolves the host with getaddrinfo.
std::vector<std::string> AddressesOf(const std::string& host);

// Returns whether both names or addresses are of the same host: they are equal, ignoring case and a
// dot at the end, or have a common address, where all loopback addresses are equal. Returns nullopt
// if one of them cannot be resolved within `timeout`.
std::optional<bool> IsSameHost(const std::string& a, const std::string& b, absl::Duration timeout,
                               const LookUpHost& look_up = AddressesOf);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_URL_H_
