#ifndef RETRYQ_SRC_AMQP_TRANSPORT_TLS_CLIENT_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_TLS_CLIENT_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "amqp/transport/tls_context.h"
#include "amqp/transport/tls_failure.h"

namespace retryq::amqp {

// Our end of one TLS connection: asks for the server by name, checks that the certificate is one
// for it, and remembers what a failure would be explained by.
class TlsClient {
 public:
  // To the server on `host`, unless the options name another. `context` must outlive it.
  // kUnavailable, in words to follow "host:port: ": OpenSSL does not take what is to be asked for
  // or checked, and without that there is no connection.
  static absl::StatusOr<std::unique_ptr<TlsClient>> Create(const TlsContext& context,
                                                           const std::string& host);
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  SSL* ssl() const { return ssl_.get(); }

  // The handshake is over on our end.
  void OnSecured() { failure_.is_secured = true; }
  bool is_secured() const { return failure_.is_secured; }

  // What OpenSSL's `error` means, zero where the peer hung up: a sentence with the remedy, to
  // follow "host:port: ".
  absl::Status Explain(unsigned long error) const;

 private:
  TlsClient(const TlsContext& context, const std::string& host);

  // Each returns whether OpenSSL has taken it.
  bool Prepare();
  bool SendServerName(std::string name) const;
  bool CheckPeer();

  const TlsContext& context_;
  const std::string server_name_;  // or IP address; as certificates have it: no dot at its end
  const SslPtr ssl_;
  TlsFailure failure_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_TLS_CLIENT_H_
