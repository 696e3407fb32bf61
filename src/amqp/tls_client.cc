#include "amqp/tls_client.h"

#include <arpa/inet.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace retryq::amqp {
namespace {

constexpr int kSelf = 0;  // the slot that OpenSSL keeps for its users

bool IsAddress(const std::string& host) {
  in6_addr any;
  return inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

// "fe80::1%eth0" is fe80::1 in a certificate.
std::string WithoutZone(const std::string& host) { return host.substr(0, host.find('%')); }

}  // namespace

TlsClient::TlsClient(const TlsContext& context, const std::string& host)
    : context_(context),
      server_name_(context.options().server_name.empty() ? WithoutZone(host)
                                                         : context.options().server_name),
      ssl_(context.NewSsl()) {
  SSL_set_ex_data(ssl(), kSelf, this);
  SSL_set_cert_cb(
      ssl(),
      [](SSL*, void* self) {
        static_cast<TlsClient*>(self)->failure_.wanted_our_certificate = true;
        return 1;  // what the context has, if anything
      },
      this);
  if (!IsAddress(server_name_)) SendServerName(server_name_);
  if (context.options().verify_peer) CheckPeer();
}

void TlsClient::SendServerName(std::string name) const {
  // What SSL_set_tlsext_host_name stands for, with a cast that our warnings refuse.
  SSL_ctrl(ssl(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
}

void TlsClient::CheckPeer() {
  X509_VERIFY_PARAM* expected = SSL_get0_param(ssl());
  if (IsAddress(server_name_)) {
    X509_VERIFY_PARAM_set1_ip_asc(expected, server_name_.c_str());
  } else {
    X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    X509_VERIFY_PARAM_set1_host(expected, server_name_.c_str(), server_name_.size());
  }
  SSL_set_verify(ssl(), SSL_VERIFY_PEER, [](int is_good, X509_STORE_CTX* verification) {
    if (is_good == 0) {
      const auto* ssl = static_cast<const SSL*>(
          X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()));
      static_cast<TlsClient*>(SSL_get_ex_data(ssl, kSelf))->failure_.fault =
          FaultFoundBy(verification);
    }
    return is_good;
  });
}

absl::Status TlsClient::Explain(unsigned long error) const {
  TlsFailure failure = failure_;
  failure.error = error;
  return amqp::Explain(failure, context_.options(), server_name_);
}

}  // namespace retryq::amqp
