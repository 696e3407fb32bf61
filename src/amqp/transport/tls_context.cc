#include "amqp/transport/tls_context.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace retryq::amqp {
namespace {

// Returns why the file cannot be read; empty if it can.
std::string WhyUnreadable(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::strerror(errno);
  char byte;
  const ssize_t got = read(fd, &byte, 1);
  const int error = errno;
  close(fd);
  if (got < 0) return std::strerror(error);  // for example a directory
  return got == 0 ? "it is empty" : "";
}

// Refuses to supply a passphrase, because OpenSSL would otherwise ask on the terminal. Sets the
// flag that one was requested.
int RefusePassphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

}  // namespace

TlsContext::TlsContext(TlsOptions options)
    : options_(std::move(options)), context_(SSL_CTX_new(TLS_client_method())) {}

bool TlsContext::SetUp() {
  if (context_ == nullptr) return false;
  SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  return SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION) == 1;
}

absl::StatusOr<TlsContext> TlsContext::Create(const TlsOptions& options) {
  TlsContext context(options);
  if (!context.SetUp()) {
    ERR_clear_error();
    return absl::InvalidArgumentError("tls: OpenSSL cannot be set up for TLS 1.2 or newer");
  }
  std::vector<std::string> wrong;
  const auto note = [&](const char* field, const std::string& file, const std::string& why) {
    if (!why.empty()) wrong.push_back(absl::StrCat("tls.", field, " '", file, "': ", why));
  };
  note("ca_file", options.ca_file, context.TrustAuthorities());
  if (options.cert_file.empty() != options.key_file.empty()) {
    wrong.emplace_back("tls: cert_file and key_file belong together; give both or neither");
  } else if (!options.cert_file.empty()) {
    note("cert_file", options.cert_file, context.UseCertificate());
    note("key_file", options.key_file, context.UseKey());
  }
  // Clears the errors, which other users of OpenSSL on this thread would otherwise treat as theirs.
  ERR_clear_error();
  if (wrong.empty()) return context;
  return absl::InvalidArgumentError(absl::StrJoin(wrong, "; "));
}

std::string TlsContext::TrustAuthorities() {
  if (options_.ca_file.empty()) {
    // If the trust store is incomplete, the error appears when a broker is not trusted.
    return SSL_CTX_set_default_verify_paths(context_.get()) == 1
               ? ""
               : "the system's trust store cannot be used";
  }
  if (std::string why = WhyUnreadable(options_.ca_file); !why.empty()) return why;
  // An authority in the file is trusted even if the file does not contain the one that signed it.
  X509_VERIFY_PARAM* const rules = SSL_CTX_get0_param(context_.get());
  if (X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN) != 1) {
    return "OpenSSL cannot trust an authority without its issuer";
  }
  if (SSL_CTX_load_verify_file(context_.get(), options_.ca_file.c_str()) == 1) return "";
  return "the file contains no certificate in PEM format (-----BEGIN CERTIFICATE-----)";
}

std::string TlsContext::UseCertificate() {
  if (std::string why = WhyUnreadable(options_.cert_file); !why.empty()) return why;
  if (SSL_CTX_use_certificate_chain_file(context_.get(), options_.cert_file.c_str()) == 1) {
    return "";
  }
  const unsigned long error = ERR_peek_last_error();
  if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
    return absl::StrCat("OpenSSL refuses it: ", ERR_reason_error_string(error));
  }
  return "the file contains no certificate in PEM format (-----BEGIN CERTIFICATE-----)";
}

std::string TlsContext::UseKey() {
  if (std::string why = WhyUnreadable(options_.key_file); !why.empty()) return why;
  bool is_encrypted = false;
  SSL_CTX_set_default_passwd_cb(context_.get(), RefusePassphrase);
  SSL_CTX_set_default_passwd_cb_userdata(context_.get(), &is_encrypted);
  const bool read =
      SSL_CTX_use_PrivateKey_file(context_.get(), options_.key_file.c_str(), SSL_FILETYPE_PEM) == 1;
  const bool mismatch = ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509;
  SSL_CTX_set_default_passwd_cb_userdata(context_.get(), nullptr);
  if (is_encrypted) {
    return "the key is encrypted, and no passphrase can be given: store it without one, readable "
           "by this service alone (openssl pkey -in … -out …)";
  }
  if (mismatch || (read && SSL_CTX_check_private_key(context_.get()) != 1)) {
    return absl::StrCat("the key does not belong to the certificate in '", options_.cert_file, "'");
  }
  return read ? "" : "the file contains no private key in PEM format (-----BEGIN PRIVATE KEY-----)";
}

}  // namespace retryq::amqp
