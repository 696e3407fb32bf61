#ifndef RETRYQ_SRC_AMQP_TRANSPORT_CERTIFICATE_FAULT_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_CERTIFICATE_FAULT_H_

#include <openssl/x509_vfy.h>

#include <string>

namespace retryq::amqp {

// What is wrong with a certificate that a peer has shown. Texts are fit for a log, whatever bytes
// the peer has put into it.
struct CertificateFault {
  int code = X509_V_OK;  // X509_V_ERR_…
  bool is_own = true;    // the peer's own, else that of an authority that it goes back to
  std::string subject;
  std::string issuer;
  std::string names;       // hosts and addresses that it is for, and no more than a few
  std::string not_before;  // "2026-01-31 12:00:00 UTC"
  std::string not_after;
};

// Of a verification that has just found something wrong.
CertificateFault FaultFoundBy(X509_STORE_CTX* verification);

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_CERTIFICATE_FAULT_H_
