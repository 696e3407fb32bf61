#ifndef RETRYQ_CLI_MANAGEMENT_MANAGEMENT_URL_H_
#define RETRYQ_CLI_MANAGEMENT_MANAGEMENT_URL_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::cli {

// Where RabbitMQ's management HTTP API is, and as whom to use it.
struct ManagementUrl {
  amqp::Endpoint endpoint;
  std::vector<std::string> more_hosts;  // other nodes, for where that one does not answer
  std::optional<amqp::TlsOptions> tls;  // set for https
  std::string user;
  std::string password;
  // The broker's options as they are now, of which user and password are taken; null: they stay.
  std::function<absl::StatusOr<amqp::ConnectionOptions>()> renewed;
  std::string path_prefix;  // what comes before "/api", such as "/rabbitmq"; mostly empty
};

// Reads `http://user:password@host:port/prefix`, or `https://`, whose parameters are those of
// amqps:// about TLS (amqp::ParseUri). Without a port: 80 or 443; without a user: that of `broker`.
// kInvalidArgument names the part and never contains the password.
absl::StatusOr<ManagementUrl> ParseManagementUrl(const std::string& url,
                                                 const amqp::ConnectionOptions& broker);

// Where it is unless the user says otherwise: on the broker's hosts, port 15672; for a broker
// that is reached by TLS by https with the same authorities, port 15671.
ManagementUrl DefaultManagementUrl(const amqp::ConnectionOptions& broker);

// "http://host:port/prefix": without user and password.
std::string Describe(const ManagementUrl& url);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_URL_H_
