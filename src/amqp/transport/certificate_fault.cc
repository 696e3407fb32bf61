#include "amqp/transport/certificate_fault.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <ctime>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/iso_time.h"

namespace retryq::amqp {
namespace {

// Limit for certificates with very many names.
constexpr std::size_t kMostNames = 8;

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct GeneralNamesDeleter {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

std::string TextOf(const ASN1_STRING* text) {
  return absl::CHexEscape(
      absl::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                        static_cast<std::size_t>(ASN1_STRING_length(text))));
}

// Returns "CN=rabbit,O=Example"; OpenSSL escapes unprintable characters.
std::string TextOf(const X509_NAME* name) {
  const std::unique_ptr<BIO, BioDeleter> out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "no name";
}

std::string TimeText(const ASN1_TIME* time) {
  std::tm utc = {};
  if (ASN1_TIME_to_tm(time, &utc) != 1) return "a time that cannot be read";
  return IsoSeconds(absl::FromTM(utc, absl::UTCTimeZone()));
}

std::string AddressText(const ASN1_OCTET_STRING* address) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  const int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  const bool is_address =
      family == AF_INET || ASN1_STRING_length(address) == 16;  // else inet_ntop would read on
  if (!is_address) return TextOf(address);
  return inet_ntop(family, ASN1_STRING_get0_data(address), text.data(), text.size());
}

// Returns the names that are checked; empty if there are none.
std::string Names(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, GeneralNamesDeleter> alternatives(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> names;
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives.get(), i);
    if (name->type == GEN_DNS) names.push_back(TextOf(name->d.dNSName));
    if (name->type == GEN_IPADD) names.push_back(AddressText(name->d.iPAddress));
  }
  const std::size_t more = names.size() > kMostNames ? names.size() - kMostNames : 0;
  names.resize(names.size() - more);
  return absl::StrCat(absl::StrJoin(names, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

}  // namespace

CertificateFault FaultFoundBy(X509_STORE_CTX* verification) {
  CertificateFault fault = {.code = X509_STORE_CTX_get_error(verification),
                            .is_own = X509_STORE_CTX_get_error_depth(verification) == 0};
  const X509* certificate = X509_STORE_CTX_get_current_cert(verification);
  if (certificate == nullptr) return fault;
  fault.subject = TextOf(X509_get_subject_name(certificate));
  fault.issuer = TextOf(X509_get_issuer_name(certificate));
  fault.names = Names(certificate);
  fault.not_before = TimeText(X509_get0_notBefore(certificate));
  fault.not_after = TimeText(X509_get0_notAfter(certificate));
  return fault;
}

}  // namespace retryq::amqp
