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
#include "retryq/export.h"

namespace retryq::amqp {

struct Endpoint {
  // Name, IPv4 or IPv6 address (without brackets), of at most 255 bytes, with neither blanks nor
  // control characters nor what separates the parts of a URI. A dot at the end of a name, which
  // says that it is whole, is no part of what TLS asks for and checks.
  std::string host = "localhost";
  std::uint16_t port = 5672;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// How to know the broker by its certificate, and how to be known by one of our own. TLS 1.2 or
// newer. Files are in PEM format and read once, when the connection object is made.
struct TlsOptions {
  // The certificates of the authorities to trust, and of no others; an intermediate one needs no
  // root beside it. Empty: the system's.
  std::string ca_file;

  // Our certificate, followed by those between it and its authority, and its private key, which
  // must not be encrypted. Both or neither.
  std::string cert_file;
  std::string key_file;

  // Whether the broker must prove who it is: by a certificate that a trusted authority signed, that
  // is valid now, and that holds `server_name`. Off: anyone on the way can read and alter
  // everything.
  bool verify_peer = true;

  // The name or IP address in the broker's certificate. Empty: the endpoint's host. A name, but no
  // address, is sent to the broker too (SNI). What holds for a host's name holds for it.
  std::string server_name;

  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

// How to log in.
enum class AuthMechanism {
  kPlain,     // user and password
  kExternal,  // by the client certificate; the plugin rabbitmq_auth_mechanism_ssl finds the user
};

// How to reach a broker, and as whom.
struct ConnectionOptions {
  // Tried in turn until one answers, every address that a host name stands for. At least one.
  std::vector<Endpoint> endpoints = {Endpoint{}};

  // Each round of attempts takes the endpoints in an order of its own, so that many clients
  // spread over a cluster. Off: in the order given.
  bool shuffle_endpoints = true;

  // Set for TLS, which listens on a port of its own: mostly 5671.
  std::optional<TlsOptions> tls;

  // kExternal needs `tls` with a client certificate, and uses neither user nor password. The user
  // has no control characters, and the password no NUL.
  AuthMechanism auth_mechanism = AuthMechanism::kPlain;
  std::string user = "guest";
  std::string password = "guest";
  std::string vhost = "/";

  // Shown in the management UI. Empty: program name and process id.
  std::string connection_name;

  // Interval asked of the broker; the shorter of both wins. A peer silent for two of them is
  // taken for dead. Whole seconds. Zero leaves it to the broker, and if that has none there are
  // no heartbeats (which retrying refuses, as its leases depend on them).
  absl::Duration heartbeat = absl::Seconds(15);

  // How long each step of an attempt at one address may take; then the next address has its
  // turn. Above zero.
  absl::Duration connection_timeout = absl::Seconds(10);  // resolving the host's name, and TCP
  absl::Duration tls_timeout = absl::Seconds(10);         // TLS
  absl::Duration handshake_timeout = absl::Seconds(10);   // AMQP: from the login to the open vhost

  // Largest frame asked for, in bytes: 8192 … 1 MiB. The smaller of what both ends ask for counts.
  // Zero leaves it to the broker, up to 1 MiB, which is never exceeded.
  std::uint32_t frame_max = 131072;

  // The same before the login, which the two ends cannot agree on: the broker's
  // `initial_frame_max`. Zero: RabbitMQ's default, 4096 before version 4.1 and 8192 from then on.
  // User, password (a token of OAuth 2 is a long one), connection_name and about 350 bytes more
  // have to fit into it: a login that does not is refused, before anything is sent, with
  // kInvalidArgument.
  std::uint32_t initial_frame_max = 0;

  // Largest channel number asked for; the smaller of both ends' counts. Zero leaves it to the
  // broker.
  std::uint16_t channel_max = 2047;

  // Pause before connecting again: uniform in [half, whole] of initial · 2^n,
  // capped.
  absl::Duration reconnect_initial = absl::Milliseconds(100);
  absl::Duration reconnect_max = absl::Seconds(10);

  // While much comes in: for how long, at most, what comes may gather before it is read, so that it
  // is handled in fewer and larger turns, which cost less CPU time. Never for so long that it would
  // bring more than a quarter of the prefetch, or of the publishes unconfirmed, so that the broker
  // has enough to go on with; an eighth where TCP's handshake took 250 µs or more, as time on the
  // way is lost. For up to four times as long where it is the broker that all wait for: below 250
  // µs, while a prefetch is used up and half of it or more waits for confirms. Not at all below a
  // prefetch of 20 (40), where little comes, or with TLS. 0 to 20 ms; below 250 µs nothing ever
  // gathers.
  absl::Duration read_coalescing = absl::Milliseconds(2);

  friend bool operator==(const ConnectionOptions&, const ConnectionOptions&) = default;
};

// Returns the options anew, before each round of attempts to connect, on the loop's thread, which
// it must not block: for credentials that change. Endpoints, user and password are taken from it,
// and all else must stay as it is (else the attempt ends with kInvalidArgument). An error is an
// attempt that has failed, with kUnavailable.
using OptionsSource = std::function<absl::StatusOr<ConnectionOptions>()>;

// Reads `amqp://user:password@host:port/vhost?heartbeat=15&connection_timeout=10000…`, or
// `amqps://` for TLS, whose port is 5671 where none is given. Everything may be left out but the
// scheme; parts are percent-decoded, an IPv6 address stands in brackets; no path means vhost "/",
// and so does "/" alone (as people write it; `%2f` says it in full). Blanks and control characters
// must be percent-encoded.
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
// Errors are kInvalidArgument, name the part and never contain the password. Files are not looked
// at yet. https://www.rabbitmq.com/docs/uri-spec,
// https://www.rabbitmq.com/docs/uri-query-parameters
RETRYQ_EXPORT absl::StatusOr<ConnectionOptions> ParseUri(std::string_view uri);

// Several URIs that differ only in their endpoints, as one.
RETRYQ_EXPORT absl::StatusOr<ConnectionOptions> ParseUris(const std::vector<std::string>& uris);

// Whether the fields are in the ranges said above, and TLS's files can be read and belong together.
// kInvalidArgument names all that is wrong.
RETRYQ_EXPORT absl::Status Validate(const ConnectionOptions& options);

// For logs: without the password.
RETRYQ_EXPORT std::string Describe(const ConnectionOptions& options);
// "host:port", an IPv6 address in brackets.
RETRYQ_EXPORT std::string Describe(const Endpoint& endpoint);

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_CONNECTION_OPTIONS_H_
