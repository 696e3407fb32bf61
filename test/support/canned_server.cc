#include "support/canned_server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <sys/socket.h>

#include <utility>

namespace retryq::testing {

// One connection.
class CannedServer::Peer {
 public:
  Peer(CannedServer& server, evutil_socket_t socket)
      : server_(server), stream_(NewStream(server, socket), &bufferevent_free) {
    bufferevent_setcb(stream_.get(), &Peer::OnRead, &Peer::OnWritten, nullptr, this);
    bufferevent_enable(stream_.get(), EV_READ | EV_WRITE);
  }

 private:
  static bufferevent* NewStream(CannedServer& server, evutil_socket_t socket) {
    if (server.tls_ == nullptr) {
      return bufferevent_socket_new(server.loop_.base(), socket, BEV_OPT_CLOSE_ON_FREE);
    }
    return bufferevent_openssl_socket_new(server.loop_.base(), socket, SSL_new(server.tls_),
                                          BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
  }

  static void OnRead(bufferevent* stream, void* arg) {
    Peer& peer = *static_cast<Peer*>(arg);
    evbuffer* input = bufferevent_get_input(stream);
    std::string bytes(evbuffer_get_length(input), '\0');
    evbuffer_remove(input, bytes.data(), bytes.size());
    peer.request_ += bytes;
    if (peer.answered_ || peer.request_.find("\r\n\r\n") == std::string::npos) return;
    peer.server_.requests_.push_back(peer.request_);
    if (peer.server_.answer_.empty()) return;
    peer.answered_ = true;
    bufferevent_write(stream, peer.server_.answer_.data(), peer.server_.answer_.size());
  }

  static void OnWritten(bufferevent* stream, void* arg) {
    Peer& peer = *static_cast<Peer*>(arg);
    if (peer.answered_) ::shutdown(bufferevent_getfd(stream), SHUT_WR);
  }

  CannedServer& server_;
  std::unique_ptr<bufferevent, void (*)(bufferevent*)> stream_;
  std::string request_;
  bool answered_ = false;
};

CannedServer::CannedServer(EventLoop& loop, std::string answer, SSL_CTX* tls)
    : loop_(loop), answer_(std::move(answer)), tls_(tls), listener_(loop, [this](int socket) {
        peers_.push_back(std::make_unique<Peer>(*this, socket));
      }) {}

CannedServer::~CannedServer() = default;

std::string HttpAnswer(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nDate: Sun, 22 Nov 2026 07:01:58 GMT\r\n\r\n" + body;
}

}  // namespace retryq::testing
