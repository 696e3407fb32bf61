#include "support/certificates.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <random>

#include "support/standard.h"

namespace retryq::testing {
namespace {

void Check(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("OpenSSL: no ") + what);
}

EVP_PKEY* MakeKey() {
  std::array<char, 6> curve = {"P-256"};
  return EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve.data());
}

void SetTime(ASN1_TIME* out, absl::Time time) {
  Check(ASN1_TIME_set(out, absl::ToTimeT(time)) != nullptr, "time");
}

void AddExtension(X509* certificate, X509V3_CTX* context, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, context, nid, value.c_str());
  Check(extension != nullptr, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::string Written(const std::function<int(BIO*)>& write) {
  BIO* out = BIO_new(BIO_s_mem());
  const bool written = write(out) == 1;
  char* text = nullptr;
  const long size = BIO_get_mem_data(out, &text);
  std::string pem(text, written ? static_cast<std::size_t>(size) : 0);
  BIO_free(out);
  Check(written, "PEM");
  return pem;
}

}  // namespace

Identity::Identity(const Options& options, const Identity* issuer)
    : key_(MakeKey()), certificate_(X509_new()) {
  Check(key_ != nullptr && certificate_ != nullptr, "key");
  X509* const own = certificate_.get();
  X509_set_version(own, X509_VERSION_3);
  std::random_device random;
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(own), random());
  SetTime(X509_getm_notBefore(own), options.not_before);
  SetTime(X509_getm_notAfter(own), options.not_after);
  X509_set_pubkey(own, key_.get());
  const auto* name = reinterpret_cast<const unsigned char*>(options.common_name.c_str());
  Check(options.common_name.empty() ||
            X509_NAME_add_entry_by_txt(X509_get_subject_name(own), "CN", MBSTRING_UTF8, name, -1,
                                       -1, 0) == 1,
        "name");
  X509* const signer = issuer == nullptr ? own : issuer->x509();
  X509_set_issuer_name(own, X509_get_subject_name(signer));
  X509V3_CTX context = {};
  X509V3_set_ctx(&context, signer, own, nullptr, nullptr, 0);
  if (options.is_authority) AddExtension(own, &context, NID_basic_constraints, "critical,CA:TRUE");
  if (!options.names.empty()) AddExtension(own, &context, NID_subject_alt_name, options.names);
  Check(X509_sign(own, issuer == nullptr ? key_.get() : issuer->pkey(), EVP_sha256()) > 0,
        "signature");
}

std::string Identity::certificate() const {
  return Written([&](BIO* out) { return PEM_write_bio_X509(out, certificate_.get()); });
}

std::string Identity::key() const {
  return Written([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string Identity::encrypted_key(const std::string& passphrase) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(passphrase.data());
  return Written([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key_.get(), EVP_aes_256_cbc(), bytes,
                                    static_cast<int>(passphrase.size()), nullptr, nullptr);
  });
}

ServerContext MakeServerContext(const Identity& identity, int min_version, int max_version) {
  ServerContext context(SSL_CTX_new(TLS_server_method()));
  // The old TLS versions that some tests need use signatures that OpenSSL otherwise refuses.
  SSL_CTX_set_security_level(context.get(), 0);
  SSL_CTX_set_min_proto_version(context.get(), min_version);
  SSL_CTX_set_max_proto_version(context.get(), max_version);
  Check(SSL_CTX_use_certificate(context.get(), identity.x509()) == 1, "certificate");
  Check(SSL_CTX_use_PrivateKey(context.get(), identity.pkey()) == 1, "private key");
  return context;
}

void DemandClientCertificate(SSL_CTX* context, const Identity& authority) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  Check(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.x509()) == 1, "authority");
}

}  // namespace retryq::testing
