#ifndef RETRYQ_AMQP_CONNECTION_OPTIONS_H_
#define RETRYQ_AMQP_CONNECTION_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/duration.h"
#include "retryq/export.h"

namespace retryq::amqp {

struct Endpoint {
  // Host name, IPv4 or IPv6 address (without brackets), of at most 255 bytes, without blanks,
  // control characters and separators of URIs. A dot at the end of a name, which marks it as fully
  // qualified, is not part of the name that TLS sends and checks.
  std::string host = "localhost";
  std::uint16_t port = 5672;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// How to verify the broker by its certificate, and the client's own certificate. TLS 1.2 or newer.
// Files are in PEM format, and read when the connection object is made and before each round of
// attempts to connect: they may be replaced meanwhile.
struct TlsOptions {
  // Certificates of the only trusted authorities; an intermediate one works without its root.
  // Empty: those of the system.
  std::string ca_file = {};

  // The client's certificate, followed by the intermediate certificates, and its private key, which
  // must not be encrypted. Set both or neither.
  std::string cert_file = {};
  std::string key_file = {};

  // Whether the broker must prove its identity: by a certificate that a trusted authority signed,
  // that is valid now, and that contains `server_name`. False: anyone on the network path can read
  // and alter everything.
  bool verify_peer = true;

  // The name or IP address in the broker's certificate. Empty: the endpoint's host. A name, but not
  // an address, is also sent to the broker (SNI). The rules of Endpoint::host apply.
  std::string server_name = {};

  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

// How to log in.
enum class AuthMechanism {
  kPlain,     // user and password
  kExternal,  // client certificate; the plugin rabbitmq_auth_mechanism_ssl determines the user
};

// How to reach a broker, and how to log in.
struct ConnectionOptions {
  // Tried in turn until one accepts, including every address of a host name. At least one.
  std::vector<Endpoint> endpoints = {Endpoint{}};

  // Each round of attempts shuffles the endpoints, so that many clients spread over a cluster.
  // False: in the order given.
  bool shuffle_endpoints = true;

  // Set for TLS, which uses a separate port: usually 5671.
  std::optional<TlsOptions> tls = {};

  // kExternal needs `tls` with a client certificate, and uses neither user nor password. The user
  // must not contain control characters, nor the password NUL.
  AuthMechanism auth_mechanism = AuthMechanism::kPlain;
  std::string user = "guest";
  std::string password = "guest";
  // When the broker will no longer accept the password, as with an OAuth 2 token. When four fifths
  // of the time until then have passed, the OptionsSource is asked for the next one, which is sent
  // on the open connection (see Connection::UpdateSecret).
  absl::Time password_expires = absl::InfiniteFuture();
  std::string vhost = "/";

  // Connection name in the management UI. Empty: program name and process id.
  std::string connection_name = {};

  // Heartbeat interval to request; the shorter of this and the broker's is used. A peer that is
  // silent for two intervals counts as dead. Whole seconds. Zero: the broker's interval, and if it
  // has none there are no heartbeats (which retrying refuses, because its leases depend on them).
  Duration heartbeat = absl::Seconds(15);

  // Limits for each step of an attempt at one address; after that the next address is tried. Above
  // zero.
  Duration connection_timeout = absl::Seconds(10);  // resolving the host's name, and TCP
  Duration tls_timeout = absl::Seconds(10);         // TLS
  Duration handshake_timeout = absl::Seconds(10);   // AMQP: from the login to the open vhost

  // Largest frame to request, in bytes: 8192 … 1 MiB. The smaller of this and the broker's is used.
  // Zero: the broker's, up to 1 MiB.
  std::uint32_t frame_max = 131072;

  // The largest frame before the login, which client and broker cannot negotiate: the broker's
  // `initial_frame_max`. Zero: RabbitMQ's default, 4096 before version 4.1 and 8192 since. User,
  // password (an OAuth 2 token is a long one), connection_name and about 350 more bytes must fit
  // into it: a login that does not fit is refused with kInvalidArgument before anything is sent.
  std::uint32_t initial_frame_max = 0;

  // Largest channel number to request; the smaller of this and the broker's is used. Zero: the
  // broker's.
  std::uint16_t channel_max = 2047;

  // Pause before connecting again: uniform in [half, whole] of initial · 2^n, at most
  // `reconnect_max`.
  Duration reconnect_initial = absl::Milliseconds(100);
  Duration reconnect_max = absl::Seconds(10);

  // Maximum time for which received data may accumulate under load before it is read, so that it is
  // handled in fewer and larger turns, which use less CPU time. Data accumulates for less time than
  // a quarter of the prefetch, or of the unconfirmed publishes, takes to arrive (an eighth if TCP's
  // handshake took 250 µs or more, because transmission adds to the time), so that the broker
  // always has enough to do. The limit is four times as long if everything waits for the broker:
  // with a handshake below 250 µs, while a prefetch is used up and half of it or more waits for
  // confirms. Data does not accumulate with a prefetch below 20 (40 if the handshake took 250 µs or
  // more), at low load, or with TLS. 0 to 20 ms; with less than 250 µs, data never accumulates.
  Duration read_coalescing = absl::Milliseconds(2);

  friend bool operator==(const ConnectionOptions&, const ConnectionOptions&) = default;
};

// Returns the current options, before each round of attempts to connect and before the password
// expires, on the loop's thread, which it must not block: for credentials that change. Endpoints,
// user and password are taken from it, and all other fields must stay the same (otherwise the
// attempt ends with kInvalidArgument). An error counts as a failed attempt, with kUnavailable.
using OptionsSource = std::function<absl::StatusOr<ConnectionOptions>()>;

// Parses `amqp://user:password@host:port/vhost?heartbeat=15&connection_timeout=10000…`, or
// `amqps://` for TLS, whose default port is 5671. Everything except the scheme is optional; parts
// are percent-decoded, an IPv6 address is in brackets. No path means vhost "/", and so does "/"
// alone (`%2f` is its full form). Blanks and control characters must be percent-encoded.
//
// Parameters, each at most once; any other is an error:
//   heartbeat                      seconds
//   connection_timeout             milliseconds, for resolving the host's name and TCP
//   channel_max, frame_max,
//   initial_frame_max              the fields of the same name
//   auth_mechanism                 plain or external
// and with amqps:
//   cacertfile, certfile, keyfile  ca_file, cert_file and key_file
//   verify                         verify_peer or verify_none
//   server_name_indication         server_name
//
// Errors are kInvalidArgument, name the part and never contain the password. Files are not read
// yet. https://www.rabbitmq.com/docs/uri-spec, https://www.rabbitmq.com/docs/uri-query-parameters
RETRYQ_EXPORT absl::StatusOr<ConnectionOptions> ParseUri(std::string_view uri);

// Combines several URIs that differ only in their endpoints.
RETRYQ_EXPORT absl::StatusOr<ConnectionOptions> ParseUris(const std::vector<std::string>& uris);

// Checks that the fields are in the ranges given above, and that the TLS files can be read and
// belong together. kInvalidArgument names all errors.
RETRYQ_EXPORT absl::Status Validate(const ConnectionOptions& options);

// Text for logs, without the password.
RETRYQ_EXPORT std::string Describe(const ConnectionOptions& options);
// "host:port", with an IPv6 address in brackets.
RETRYQ_EXPORT std::string Describe(const Endpoint& endpoint);

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_CONNECTION_OPTIONS_H_
