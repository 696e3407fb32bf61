#ifndef RETRYQ_SRC_AMQP_TRANSPORT_TLS_FAILURE_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_TLS_FAILURE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "amqp/transport/certificate_fault.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::amqp {

// How a TLS connection failed.
struct TlsFailure {
  std::optional<CertificateFault> fault;
  bool wanted_our_certificate = false;  // the broker asked for one
  bool is_secured = false;              // the handshake was complete on this end
  unsigned long error = 0;              // OpenSSL's; zero if the broker hung up
};

// Explains the failure in a sentence with the remedy, to follow "host:port: ". kUnauthenticated:
// the broker wants a certificate and got none, or refuses the one it got. Otherwise kUnavailable.
absl::Status Explain(const TlsFailure& failure, const TlsOptions& options,
                     const std::string& server_name);

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_TLS_FAILURE_H_
