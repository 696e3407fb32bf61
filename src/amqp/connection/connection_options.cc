#include "retryq/amqp/connection_options.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "amqp/codec/frame.h"
#include "amqp/codec/text_faults.h"
#include "amqp/transport/tls_context.h"
#include "base/name_size.h"

namespace retryq::amqp {

absl::Status Validate(const ConnectionOptions& options) {
  std::vector<std::string> wrong = TextFaults(options);
  const auto require = [&wrong](bool holds, const char* sentence) {
    if (!holds) wrong.emplace_back(sentence);
  };
  require(!options.endpoints.empty(), "endpoints: at least one is required");
  for (const Endpoint& endpoint : options.endpoints) {
    require(!endpoint.host.empty() && endpoint.port > 0, "endpoints: each needs a host and a port");
  }
  require(options.vhost.size() <= kMaxNameSize, "vhost: at most 255 bytes");
  require(options.heartbeat >= absl::ZeroDuration() && options.heartbeat <= absl::Seconds(65535),
          "heartbeat: 0 to 65535 seconds");
  require(options.connection_timeout > absl::ZeroDuration(), "connection_timeout: above zero");
  require(options.tls_timeout > absl::ZeroDuration(), "tls_timeout: above zero");
  require(options.handshake_timeout > absl::ZeroDuration(), "handshake_timeout: above zero");
  require(options.frame_max == 0 || (options.frame_max >= 8192 && options.frame_max <= 1 << 20),
          "frame_max: 8192 to 1048576, or 0 for the broker's limit");
  require(options.initial_frame_max == 0 ||
              (options.initial_frame_max >= kFrameMinSize && options.initial_frame_max <= 1 << 20),
          "initial_frame_max: 4096 to 1048576, or 0 for RabbitMQ's default");
  require(options.reconnect_initial > absl::ZeroDuration(), "reconnect_initial: above zero");
  require(options.reconnect_max >= options.reconnect_initial,
          "reconnect_max: at least reconnect_initial");
  require(options.read_coalescing >= absl::ZeroDuration() &&
              options.read_coalescing <= absl::Milliseconds(20),
          "read_coalescing: 0 to 20 ms");
  require(options.auth_mechanism == AuthMechanism::kPlain ||
              (options.tls && !options.tls->cert_file.empty()),
          "auth_mechanism: EXTERNAL needs TLS and a client certificate (amqps://, certfile and "
          "keyfile in a URI)");
  if (options.tls) {
    const absl::Status files = TlsContext::Create(*options.tls).status();
    if (!files.ok()) wrong.emplace_back(files.message());
  }
  if (wrong.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("connection options: ", absl::StrJoin(wrong, "; ")));
}

std::string Describe(const ConnectionOptions& options) {
  std::string out = options.tls ? "amqps://" : "amqp://";
  if (options.auth_mechanism == AuthMechanism::kPlain) absl::StrAppend(&out, options.user, "@");
  const char* separator = "";
  for (const Endpoint& endpoint : options.endpoints) {
    absl::StrAppend(&out, separator, Describe(endpoint));
    separator = ",";
  }
  absl::StrAppend(&out, " vhost '", options.vhost, "'");
  return out;
}

std::string Describe(const Endpoint& endpoint) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return absl::StrCat(is_ipv6 ? "[" : "", endpoint.host, is_ipv6 ? "]:" : ":", endpoint.port);
}

}  // namespace retryq::amqp
