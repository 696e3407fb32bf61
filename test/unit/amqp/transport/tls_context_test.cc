// The files that TLS needs.

#include "amqp/transport/tls_context.h"

#include <openssl/err.h>

#include "support/certificates.h"
#include "support/temporary_directory.h"
#include "support/test.h"

namespace retryq::amqp::tls_context_test {

using retryq::testing::Identity;
using retryq::testing::TemporaryDirectory;

class TlsContextTest : public ::testing::Test {
 protected:
  TlsOptions Client(const Identity& identity) {
    return {.cert_file = files_.Write("client.pem", identity.certificate()),
            .key_file = files_.Write("client.key", identity.key())};
  }

  static std::string ErrorOf(const TlsOptions& options) {
    const absl::Status status = TlsContext::Create(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(ERR_peek_error(), 0U) << "left for somebody else to stumble over";
    return std::string(status.message());
  }

  TemporaryDirectory files_;
  const Identity identity_{{.common_name = "worker"}};
};

TEST_F(TlsContextTest, AcceptsAChainAfterTheCertificate) {
  const Identity authority({.common_name = "authority", .is_authority = true});
  const Identity between({.common_name = "between", .is_authority = true}, authority);
  const Identity client({.common_name = "client"}, between);
  TlsOptions options = Client(client);
  files_.Write("client.pem", client.certificate() + between.certificate());
  EXPECT_EQ(TlsContext::Create(options).status(), absl::OkStatus());
}

TEST_F(TlsContextTest, NamesEveryFileThatCannotBeRead) {
  EXPECT_THAT(ErrorOf({.ca_file = "/no/ca", .cert_file = "/no/cert", .key_file = "/no/key"}),
              AllOf(HasSubstr("tls.ca_file '/no/ca': No such file or directory"),
                    HasSubstr("tls.cert_file '/no/cert': No such file or directory"),
                    HasSubstr("tls.key_file '/no/key': No such file or directory")));
  EXPECT_THAT(ErrorOf({.ca_file = "/tmp"}), HasSubstr("tls.ca_file '/tmp': Is a directory"));
  EXPECT_THAT(ErrorOf({.ca_file = files_.Write("empty", "")}), HasSubstr("it is empty"));
}

TEST_F(TlsContextTest, ReportsAFileThatIsNotPem) {
  const std::string garbage = files_.Write("garbage", "garbage");
  TlsOptions options = Client(identity_);
  options.ca_file = garbage;
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("tls.ca_file"), HasSubstr("PEM")));
  options = Client(identity_);
  options.cert_file = garbage;
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("tls.cert_file"), HasSubstr("PEM")));
  options = Client(identity_);
  options.key_file = garbage;
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("tls.key_file"), HasSubstr("PEM")));
}

TEST_F(TlsContextTest, ReportsTheKeyOfAnotherCertificate) {
  TlsOptions options = Client(identity_);
  options.key_file = files_.Write("other.key", Identity({.common_name = "other"}).key());
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("tls.key_file"),
                                      HasSubstr("the key does not belong to the certificate in")));
}

TEST_F(TlsContextTest, ReportsAnEncryptedKeyAndNeverAsksForThePassphrase) {
  TlsOptions options = Client(identity_);
  options.key_file = files_.Write("encrypted.key", identity_.encrypted_key("Sesame"));
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("tls.key_file"), HasSubstr("is encrypted"),
                                      HasSubstr("openssl pkey")));
}

TEST_F(TlsContextTest, RequiresCertificateAndKeyTogether) {
  TlsOptions options = Client(identity_);
  options.key_file.clear();
  EXPECT_THAT(ErrorOf(options), HasSubstr("belong together"));
  options = Client(identity_);
  options.cert_file.clear();
  EXPECT_THAT(ErrorOf(options), HasSubstr("belong together"));
}

}  // namespace retryq::amqp::tls_context_test
