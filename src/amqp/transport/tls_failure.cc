#include "amqp/transport/tls_failure.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "absl/strings/str_cat.h"

namespace retryq::amqp {
namespace {

std::string TrustStore(const TlsOptions& options) {
  if (options.ca_file.empty()) return "the system's trust store";
  return absl::StrCat("ca_file '", options.ca_file, "'");
}

std::string ExplainFault(const CertificateFault& fault, const TlsOptions& options,
                         const std::string& server_name) {
  const std::string certificate = absl::StrCat(
      fault.is_own ? "its certificate" : "a certificate of its chain", " (", fault.subject, ")");
  switch (fault.code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return absl::StrCat(certificate, " expired on ", fault.not_after, ": renew it");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return absl::StrCat(certificate, " is valid from ", fault.not_before,
                          " on only: is the clock of this machine correct?");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      if (fault.names.empty()) {
        return absl::StrCat(
            certificate, " names no host: '", server_name,
            "' must be in its subjectAltName, and a common name (CN) does not count");
      }
      return absl::StrCat(certificate, " is one for ", fault.names, ", not for '", server_name,
                          "': connect by a name that it holds, or say which one to expect by "
                          "server_name (server_name_indication in a URI)");
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return absl::StrCat(certificate, " is self-signed and not in ", TrustStore(options),
                          ": give the certificate itself as ca_file (cacertfile in a URI)");
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return absl::StrCat(certificate, " is signed by an authority (", fault.issuer,
                          ") that is not in ", TrustStore(options),
                          ": give that authority's certificate as ca_file (cacertfile in a URI)");
    default:
      return absl::StrCat(certificate,
                          " is not accepted: ", X509_verify_cert_error_string(fault.code));
  }
}

// Returns the alert with which the broker ended TLS (RFC 8446, 6.2); nullopt if OpenSSL reports a
// different error.
std::optional<int> AlertOf(unsigned long error) {
  const int reason = ERR_GET_REASON(error);
  if (ERR_GET_LIB(error) != ERR_LIB_SSL || reason < SSL_AD_REASON_OFFSET) return std::nullopt;
  return reason - SSL_AD_REASON_OFFSET;
}

// Whether the alert may concern the client certificate that the broker wanted.
bool MayConcernOurCertificate(int alert) {
  switch (alert) {
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

bool IsAboutTheVersion(unsigned long error) {
  if (AlertOf(error) == SSL_AD_PROTOCOL_VERSION) return true;
  switch (ERR_GET_REASON(error)) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNSUPPORTED_SSL_VERSION:
    case SSL_R_WRONG_SSL_VERSION:
      return ERR_GET_LIB(error) == ERR_LIB_SSL;
    default:
      return false;
  }
}

// Whether the peer does not speak TLS at all: its records are invalid.
bool IsNoTls(unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return false;
  switch (ERR_GET_REASON(error)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_UNEXPECTED_MESSAGE:
      return true;
    default:
      return false;
  }
}

std::string OpensslText(unsigned long error) {
  const char* words = ERR_reason_error_string(error);
  return words != nullptr ? words : absl::StrCat("OpenSSL's error ", absl::Hex(error));
}

absl::Status ExplainWantedCertificate(const TlsFailure& failure, const TlsOptions& options) {
  if (options.cert_file.empty()) {
    return absl::UnauthenticatedError(
        "the server requires a client certificate: set cert_file and key_file (certfile "
        "and keyfile in a URI)");
  }
  return absl::UnauthenticatedError(
      absl::StrCat("the server refuses the client certificate in '", options.cert_file,
                   "': ", OpensslText(failure.error),
                   "; is it valid, and its authority in the broker's ssl_options.cacertfile?"));
}

}  // namespace

absl::Status Explain(const TlsFailure& failure, const TlsOptions& options,
                     const std::string& server_name) {
  if (failure.fault) {
    return absl::UnavailableError(ExplainFault(*failure.fault, options, server_name));
  }
  const std::optional<int> alert = AlertOf(failure.error);
  const bool hung_up_early = failure.error == 0 && !failure.is_secured;
  if (alert == SSL_AD_CERTIFICATE_REQUIRED ||
      (failure.wanted_our_certificate && ((alert && MayConcernOurCertificate(*alert)) ||
                                          (hung_up_early && options.cert_file.empty())))) {
    return ExplainWantedCertificate(failure, options);
  }
  if (hung_up_early) {
    return absl::UnavailableError(
        "the server closed the connection during the TLS handshake: is it a port for TLS?");
  }
  if (IsAboutTheVersion(failure.error)) {
    return absl::UnavailableError(
        "the server does not support TLS 1.2 or newer: enable it in the server's "
        "ssl_options.versions");
  }
  if (!failure.is_secured && IsNoTls(failure.error)) {
    return absl::UnavailableError(
        "the server does not speak TLS: is it the port for plain AMQP? (5671 is the usual one for "
        "TLS, and amqp:// is for plain AMQP)");
  }
  if (alert == SSL_AD_HANDSHAKE_FAILURE) {
    return absl::UnavailableError(
        "the server and this client share no TLS version or cipher: check its ssl_options.versions "
        "(1.2 or newer) and ssl_options.ciphers");
  }
  if (alert) {
    return absl::UnavailableError(
        absl::StrCat("the server ended TLS with an alert: ", OpensslText(failure.error)));
  }
  return absl::UnavailableError(absl::StrCat("TLS failed: ", OpensslText(failure.error)));
}

}  // namespace retryq::amqp
