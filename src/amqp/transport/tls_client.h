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

// The client's end of a TLS connection: asks for the server by name, checks the server's
// certificate, and keeps the facts that explain a failure.
class TlsClient {
 public:
  // For the server on `host`, unless the options name another server. `context` must outlive the
  // object. Returns kUnavailable, with a text to follow "host:port: ", if OpenSSL refuses the name
  // to ask for or to check; without them there is no connection.
  static absl::StatusOr<std::unique_ptr<TlsClient>> Create(const TlsContext& context,
                                                           const std::string& host);
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  SSL* ssl() const { return ssl_.get(); }

  // Call it when the handshake is complete on this end.
  void OnSecured() { failure_.is_secured = true; }
  bool is_secured() const { return failure_.is_secured; }

  // Explains OpenSSL's `error`, or zero if the peer hung up: a sentence with the remedy, to follow
  // "host:port: ".
  absl::Status Explain(unsigned long error) const;

 private:
  TlsClient(const TlsContext& context, const std::string& host);

  // Return whether OpenSSL accepted the settings.
  bool Prepare();
  bool SendServerName(std::string name) const;
  bool CheckPeer();

  const TlsContext& context_;
  const std::string server_name_;  // or IP address; as in certificates: no final dot
  const SslPtr ssl_;
  TlsFailure failure_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_TLS_CLIENT_H_
