#ifndef RETRYQ_SRC_AMQP_TRANSPORT_TLS_CONTEXT_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_TLS_CONTEXT_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::amqp {

struct SslContextDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, SslDeleter>;

// The settings that all TLS connections of a client share: the trusted authorities and the client's
// certificate. TLS 1.2 or newer.
class TlsContext {
 public:
  // Reads the files. Returns kInvalidArgument naming every wrong field and file, and why.
  static absl::StatusOr<TlsContext> Create(const TlsOptions& options);

  const TlsOptions& options() const { return options_; }

  // Returns a new connection's state, which does not know its peer yet.
  SslPtr NewSsl() const { return SslPtr(SSL_new(context_.get())); }

 private:
  explicit TlsContext(TlsOptions options);

  // Returns whether OpenSSL accepted the version and the options.
  bool SetUp();
  // Return the error; empty if there is none.
  std::string TrustAuthorities();
  std::string UseCertificate();
  std::string UseKey();

  TlsOptions options_;
  std::unique_ptr<SSL_CTX, SslContextDeleter> context_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_TLS_CONTEXT_H_
