#ifndef RETRYQ_TEST_SUPPORT_CERTIFICATES_H_
#define RETRYQ_TEST_SUPPORT_CERTIFICATES_H_

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "support/test.h"

namespace retryq::testing {

struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct CertificateDeleter {
  void operator()(X509* certificate) const { X509_free(certificate); }
};

// A certificate with its private key, made for one test. Throws std::runtime_error if OpenSSL
// fails.
class Identity {
 public:
  struct Options {
    std::string common_name = "somebody";
    std::string names = "DNS:localhost,IP:127.0.0.1";  // as OpenSSL reads them; empty: none
    absl::Time not_before = absl::Now() - absl::Hours(1);
    absl::Time not_after = absl::Now() + absl::Hours(1);
    bool is_authority = false;
  };

  // Signed by itself, or by another.
  explicit Identity(const Options& options) : Identity(options, nullptr) {}
  Identity(const Options& options, const Identity& issuer) : Identity(options, &issuer) {}

  // In PEM format.
  std::string certificate() const;
  std::string key() const;
  std::string encrypted_key(const std::string& passphrase) const;

  X509* x509() const { return certificate_.get(); }
  EVP_PKEY* pkey() const { return key_.get(); }

 private:
  Identity(const Options& options, const Identity* issuer);

  std::unique_ptr<EVP_PKEY, KeyDeleter> key_;
  std::unique_ptr<X509, CertificateDeleter> certificate_;
};

struct ServerContextDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using ServerContext = std::unique_ptr<SSL_CTX, ServerContextDeleter>;

// A server's end of TLS, of these versions only (TLS1_2_VERSION, …).
ServerContext MakeServerContext(const Identity& identity, int min_version = TLS1_2_VERSION,
                                int max_version = TLS1_3_VERSION);

// From now on it requires a client certificate that `authority` has signed.
void DemandClientCertificate(SSL_CTX* context, const Identity& authority);

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_CERTIFICATES_H_
