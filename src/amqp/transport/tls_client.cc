#include "amqp/transport/tls_client.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "absl/strings/str_cat.h"

namespace retryq::amqp {
namespace {

constexpr int kSelf = 0;  // the slot that OpenSSL reserves for applications

bool IsAddress(const std::string& host) {
  in6_addr any;
  return inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

// Returns the form of certificates and SNI: "fe80::1%eth0" is fe80::1, and "host.example." is
// host.example.
std::string InCertificates(const std::string& host) {
  std::string name = host.substr(0, host.find('%'));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsClient>> TlsClient::Create(const TlsContext& context,
                                                             const std::string& host) {
  std::unique_ptr<TlsClient> client(new TlsClient(context, host));
  if (client->Prepare()) return client;
  const char* why = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return absl::UnavailableError(absl::StrCat("OpenSSL cannot connect to '", client->server_name_,
                                             "': ", why == nullptr ? "no reason is given" : why));
}

TlsClient::TlsClient(const TlsContext& context, const std::string& host)
    : context_(context),
      server_name_(InCertificates(
          context.options().server_name.empty() ? host : context.options().server_name)),
      ssl_(context.NewSsl()) {}

bool TlsClient::Prepare() {
  if (ssl() == nullptr || SSL_set_ex_data(ssl(), kSelf, this) != 1) return false;
  SSL_set_cert_cb(
      ssl(),
      [](SSL*, void* self) {
        static_cast<TlsClient*>(self)->failure_.wanted_our_certificate = true;
        return 1;  // continue with the certificate of the context, if any
      },
      this);
  if (!IsAddress(server_name_) && !SendServerName(server_name_)) return false;
  return !context_.options().verify_peer || CheckPeer();
}

bool TlsClient::SendServerName(std::string name) const {
  // The expansion of SSL_set_tlsext_host_name, without its cast, which our warnings refuse.
  return SSL_ctrl(ssl(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
}

bool TlsClient::CheckPeer() {
  X509_VERIFY_PARAM* expected = SSL_get0_param(ssl());
  // Only names in subjectAltName count: a common name may be anything (RFC 9525).
  X509_VERIFY_PARAM_set_hostflags(
      expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (IsAddress(server_name_)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(expected, server_name_.c_str()) != 1) return false;
  } else {
    // OpenSSL matches an empty name with any name.
    if (server_name_.empty() ||
        X509_VERIFY_PARAM_set1_host(expected, server_name_.data(), server_name_.size()) != 1) {
      return false;
    }
  }
  SSL_set_verify(ssl(), SSL_VERIFY_PEER, [](int is_good, X509_STORE_CTX* verification) {
    if (is_good == 0) {
      const auto* ssl = static_cast<const SSL*>(
          X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()));
      auto* const self = static_cast<TlsClient*>(SSL_get_ex_data(ssl, kSelf));
      self->failure_.certificate_fault =
          CertificateFault(verification, self->context_.options(), self->server_name_);
    }
    return is_good;
  });
  return true;
}

absl::Status TlsClient::Explain(unsigned long error) const {
  TlsFailure failure = failure_;
  failure.error = error;
  return amqp::Explain(failure, context_.options());
}

}  // namespace retryq::amqp
