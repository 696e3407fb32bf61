#ifndef RETRYQ_SRC_AMQP_TRANSPORT_CERTIFICATE_FAULT_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_CERTIFICATE_FAULT_H_

#include <openssl/x509_vfy.h>

#include <string>

namespace retryq::amqp {

// What is wrong with a peer's certificate. The texts are safe for logs, whatever bytes the
// certificate contains.
struct CertificateFault {
  int code = X509_V_OK;  // X509_V_ERR_…
  bool is_own = true;    // the peer's own certificate, else that of an authority
  std::string subject;
  std::string issuer;
  std::string names;       // hosts and addresses that it is valid for; only the first few
  std::string not_before;  // "2026-01-31T12:00:00Z"
  std::string not_after;
};

// Returns the fault that a verification has just found.
CertificateFault FaultFoundBy(X509_STORE_CTX* verification);

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_CERTIFICATE_FAULT_H_
