#ifndef RETRYQ_SRC_AMQP_TRANSPORT_TLS_FAILURE_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_TLS_FAILURE_H_

#include <openssl/x509_vfy.h>

#include <string>

#include "absl/status/status.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::amqp {

// The facts about a failed TLS connection.
struct TlsFailure {
  std::string certificate_fault;        // see below; empty if the server's certificate is valid
  bool wanted_our_certificate = false;  // the broker asked for one
  bool is_secured = false;              // the handshake was complete on this end
  unsigned long error = 0;              // OpenSSL's; zero if the broker hung up
};

// Returns the fault that a verification has just found in the server's certificate, and the remedy.
// Safe for logs, whatever bytes the certificate contains.
std::string CertificateFault(X509_STORE_CTX* verification, const TlsOptions& options,
                             const std::string& server_name);

// Explains the failure in a sentence with the remedy, to follow "host:port: ". kUnauthenticated:
// the broker requires a certificate and got none, or refuses the one that it got. Otherwise
// kUnavailable.
absl::Status Explain(const TlsFailure& failure, const TlsOptions& options);

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_TLS_FAILURE_H_
