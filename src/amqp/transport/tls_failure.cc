#include "amqp/transport/tls_failure.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/escaped_text.h"

namespace retryq::amqp {
namespace {

// The maximum length of a name, or of a list of names, in an error.
constexpr std::size_t kMostShown = 200;

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

// Returns the output of `print`, safe for logs.
template <typename Print>
std::string Printed(const Print& print) {
  const std::unique_ptr<BIO, BioDeleter> out(BIO_new(BIO_s_mem()));
  print(out.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return size > 0 ? Printable({text, static_cast<std::size_t>(size)}, kMostShown) : "";
}

// Returns "CN=rabbit,O=Example".
std::string TextOf(const X509_NAME* name) {
  const std::string text =
      Printed([name](BIO* out) { X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253); });
  return text.empty() ? "no name" : text;
}

// Returns "Jan 31 12:00:00 2026 GMT".
std::string TextOf(const ASN1_TIME* time) {
  return Printed([time](BIO* out) { ASN1_TIME_print(out, time); });
}

// Returns the hosts for which a certificate is valid, as in "DNS:rabbit, IP Address:10.0.0.1".
std::string Hosts(const X509* certificate) {
  const int at = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1);
  if (at < 0) return "";
  return Printed([&](BIO* out) { X509V3_EXT_print(out, X509_get_ext(certificate, at), 0, 0); });
}

std::string TrustStore(const TlsOptions& options) {
  if (options.ca_file.empty()) return "the system's trust store";
  return absl::StrCat("ca_file '", options.ca_file, "'");
}

absl::Status ExplainWantedCertificate(const TlsOptions& options, const char* words) {
  if (options.cert_file.empty()) {
    return absl::UnauthenticatedError(
        "the server requires a client certificate: set cert_file and key_file (certfile "
        "and keyfile in a URI)");
  }
  return absl::UnauthenticatedError(absl::StrCat(
      "the server refuses the client certificate in '", options.cert_file, "': ", words,
      "; is it valid, and its authority in the broker's ssl_options.cacertfile?"));
}

// Whether the alert may concern the client certificate that the broker wanted (RFC 8446, 6.2).
bool MayConcernOurCertificate(int alert) {
  return alert == SSL_AD_HANDSHAKE_FAILURE ||
         (alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_ACCESS_DENIED);
}

}  // namespace

std::string CertificateFault(X509_STORE_CTX* verification, const TlsOptions& options,
                             const std::string& server_name) {
  const int code = X509_STORE_CTX_get_error(verification);
  const char* const words = X509_verify_cert_error_string(code);
  const X509* const found = X509_STORE_CTX_get_current_cert(verification);
  if (found == nullptr) return absl::StrCat("its certificate is not accepted: ", words);
  const std::string certificate =
      absl::StrCat(X509_STORE_CTX_get_error_depth(verification) == 0 ? "its certificate"
                                                                     : "a certificate of its chain",
                   " (", TextOf(X509_get_subject_name(found)), ")");
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return absl::StrCat(certificate, " expired on ", TextOf(X509_get0_notAfter(found)),
                          ": renew it");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return absl::StrCat(certificate, " is not valid before ", TextOf(X509_get0_notBefore(found)),
                          ": is the clock of this machine correct?");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: {
      const std::string hosts = Hosts(found);
      if (hosts.empty()) {
        return absl::StrCat(
            certificate, " names no host: '", server_name,
            "' must be in its subjectAltName, and a common name (CN) does not count");
      }
      return absl::StrCat(certificate, " is valid for ", hosts, ", not for '", server_name,
                          "': connect to one of these names, or set server_name "
                          "(server_name_indication in a URI) to one of them");
    }
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return absl::StrCat(certificate, " is self-signed and not in ", TrustStore(options),
                          ": set ca_file (cacertfile in a URI) to the certificate itself");
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return absl::StrCat(certificate, " is signed by an authority (",
                          TextOf(X509_get_issuer_name(found)), ") that is not in ",
                          TrustStore(options),
                          ": set ca_file (cacertfile in a URI) to that authority's certificate");
    default:
      return absl::StrCat(certificate, " is not accepted: ", words);
  }
}

absl::Status Explain(const TlsFailure& failure, const TlsOptions& options) {
  if (!failure.certificate_fault.empty()) {
    return absl::UnavailableError(failure.certificate_fault);
  }
  const unsigned long error = failure.error;
  const char* known = ERR_reason_error_string(error);
  const std::string words =
      known != nullptr ? known : absl::StrCat("OpenSSL's error ", absl::Hex(error));
  // An alert, with which the broker ends TLS, is also a reason of this kind.
  const int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
  const int alert = reason - SSL_AD_REASON_OFFSET;
  const bool hung_up_early = error == 0 && !failure.is_secured;
  if (alert == SSL_AD_CERTIFICATE_REQUIRED ||
      (failure.wanted_our_certificate &&
       (MayConcernOurCertificate(alert) || (hung_up_early && options.cert_file.empty())))) {
    return ExplainWantedCertificate(options, words.c_str());
  }
  if (hung_up_early) {
    return absl::UnavailableError(
        "the server closed the connection during the TLS handshake: is it a port for TLS?");
  }
  switch (reason) {
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNSUPPORTED_SSL_VERSION:
    case SSL_R_WRONG_SSL_VERSION:
      return absl::UnavailableError(
          "the server does not support TLS 1.2 or newer: enable it in the server's "
          "ssl_options.versions");
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_UNEXPECTED_MESSAGE:
      if (failure.is_secured) break;
      return absl::UnavailableError(
          "the server does not speak TLS: is it the port for plain AMQP? (5671 is the usual one "
          "for TLS, and amqp:// is for plain AMQP)");
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return absl::UnavailableError(
          "the server and this client share no TLS version or cipher: check its "
          "ssl_options.versions (1.2 or newer) and ssl_options.ciphers");
    default:
      break;
  }
  if (alert >= 0) {
    return absl::UnavailableError(absl::StrCat("the server ended TLS with an alert: ", words));
  }
  return absl::UnavailableError(absl::StrCat("TLS failed: ", words));
}

}  // namespace retryq::amqp
