#ifndef RETRYQ_TEST_SUPPORT_CANNED_SERVER_H_
#define RETRYQ_TEST_SUPPORT_CANNED_SERVER_H_

#include <openssl/ssl.h>

#include "retryq/event_loop.h"
#include "support/loopback_listener.h"
#include "support/test.h"

namespace retryq::testing {

// A server on 127.0.0.1 that replies to each request, which ends with an empty line, with the same
// bytes, and closes the connection. Without bytes it never replies. Runs on the loop of its client.
class CannedServer {
 public:
  // With `tls`, by TLS.
  CannedServer(EventLoop& loop, std::string answer, SSL_CTX* tls = nullptr);
  ~CannedServer();
  CannedServer(const CannedServer&) = delete;
  CannedServer& operator=(const CannedServer&) = delete;

  std::uint16_t port() const { return listener_.port(); }
  const std::vector<std::string>& requests() const { return requests_; }

 private:
  class Peer;

  EventLoop& loop_;
  const std::string answer_;
  SSL_CTX* const tls_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<std::string> requests_;
  const LoopbackListener listener_;
};

// "HTTP/1.1 200 OK" with this body.
std::string HttpAnswer(const std::string& status, const std::string& body);

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_CANNED_SERVER_H_
