#ifndef RETRYQ_CLI_MANAGEMENT_MANAGEMENT_URL_H_
#define RETRYQ_CLI_MANAGEMENT_MANAGEMENT_URL_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
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

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_URL_H_
