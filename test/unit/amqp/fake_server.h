#ifndef RETRYQ_TEST_UNIT_AMQP_FAKE_SERVER_H_
#define RETRYQ_TEST_UNIT_AMQP_FAKE_SERVER_H_

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "amqp/frame.h"
#include "amqp/method_codec.h"
#include "amqp/properties_codec.h"
#include "retryq/event_loop.h"

namespace retryq::amqp {

// The other end of one connection at a time, saying what the test wants it to. It shakes
// hands by itself and remembers what the client says.
class FakeServer {
 public:
  // `tls`: how it speaks TLS, which must outlive it; null: not at all.
  explicit FakeServer(EventLoop& loop, SSL_CTX* tls = nullptr) : loop_(loop), tls_(tls) {
    sockaddr_in any = {};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener_ = evconnlistener_new_bind(
        loop.base(),
        [](evconnlistener*, evutil_socket_t fd, sockaddr*, int, void* self) {
          static_cast<FakeServer*>(self)->Accept(fd);
        },
        this, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1, reinterpret_cast<sockaddr*>(&any),
        sizeof(any));
    socklen_t size = sizeof(any);
    getsockname(evconnlistener_get_fd(listener_), reinterpret_cast<sockaddr*>(&any), &size);
    port_ = ntohs(any.sin_port);
  }
  ~FakeServer() {
    HangUp();
    evconnlistener_free(listener_);
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  std::uint16_t port() const { return port_; }

  // What the client has said, a line a method: "3 basic.ack 7 multiple".
  std::vector<std::string> heard;
  int connections = 0;
  // The bodies that it has published, one after the other.
  std::string content;
  // How it may log in, and how the last connection did; `login` as PLAIN says it.
  std::string mechanisms = "PLAIN";
  std::string mechanism;
  std::string login;

  template <typename Method>
  void Say(std::uint16_t channel, const Method& method) {
    std::string bytes;
    AppendMethodFrame(channel, method, &bytes);
    SayBytes(bytes);
  }
  // The content of a delivery or a return.
  void SayContent(std::uint16_t channel, const Properties& properties, std::string_view body) {
    std::string bytes;
    AppendContentHeaderFrame(channel, body.size(), properties, &bytes);
    AppendBodyFrames(channel, body, 131072, &bytes);
    SayBytes(bytes);
  }
  void SayBytes(std::string_view bytes) { bufferevent_write(stream_, bytes.data(), bytes.size()); }

  // At once, and ends TLS right after it.
  template <typename Method>
  void SayLast(std::uint16_t channel, const Method& method) {
    std::string bytes;
    AppendMethodFrame(channel, method, &bytes);
    SSL* ssl = bufferevent_openssl_get_ssl(stream_);
    if (SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size())) <= 0) {
      throw std::runtime_error("cannot send");
    }
    SSL_shutdown(ssl);
  }

  void HangUp() {
    if (stream_ != nullptr) bufferevent_free(std::exchange(stream_, nullptr));
  }

 private:
  void Accept(evutil_socket_t fd) {
    HangUp();
    ++connections;
    greeted_ = false;
    stream_ = tls_ == nullptr ? bufferevent_socket_new(loop_.base(), fd, BEV_OPT_CLOSE_ON_FREE)
                              : bufferevent_openssl_socket_new(loop_.base(), fd, SSL_new(tls_),
                                                               BUFFEREVENT_SSL_ACCEPTING,
                                                               BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(
        stream_, [](bufferevent*, void* self) { static_cast<FakeServer*>(self)->OnInput(); },
        nullptr,
        [](bufferevent*, short what, void* self) {
          // As a broker does when TLS breaks off.
          auto* const server = static_cast<FakeServer*>(self);
          if (server->tls_ != nullptr && (what & BEV_EVENT_ERROR) != 0) server->HangUp();
        },
        this);
    bufferevent_enable(stream_, EV_READ | EV_WRITE);
  }

  void OnInput() {
    evbuffer* input = bufferevent_get_input(stream_);
    const std::size_t size = evbuffer_get_length(input);
    std::string_view rest(reinterpret_cast<const char*>(evbuffer_pullup(input, -1)), size);
    if (!greeted_ && rest.size() >= 8) {
      greeted_ = true;
      rest.remove_prefix(8);
      Say(0, method::ConnectionStart{.mechanisms = {mechanisms}, .locales = {"en_US"}});
    }
    while (greeted_) {
      const auto frame = NextFrame(rest, 1 << 20);
      if (!frame.ok()) throw std::runtime_error(frame.status().ToString());
      if (!*frame) break;
      OnFrame(**frame);
      rest.remove_prefix((*frame)->frame_size());
    }
    evbuffer_drain(input, size - rest.size());
  }

  void OnFrame(const FrameView& frame) {
    if (frame.type == FrameType::kHeartbeat) heard.emplace_back("heartbeat");
    if (frame.type == FrameType::kBody) content.append(frame.payload);
    if (frame.type != FrameType::kMethod) return;
    const auto method = DecodeClientMethod(frame.payload);
    if (!method.ok()) throw std::runtime_error(method.status().ToString());
    if (const auto* start_ok = std::get_if<method::ConnectionStartOk>(&*method)) {
      login = start_ok->response.bytes;
      mechanism = start_ok->mechanism;
      return Say(0, method::ConnectionTune{.channel_max = 2047, .frame_max = 131072});
    }
    if (std::holds_alternative<method::ConnectionTuneOk>(*method)) return;
    if (std::holds_alternative<method::ConnectionOpen>(*method)) {
      return Say(0, method::ConnectionOpenOk{});
    }
    heard.push_back(absl::StrCat(frame.channel, " ", Describe(*method)));
  }

  static std::string Describe(const ClientMethod& method) {
    std::string text = std::visit([](const auto& m) { return std::string(m.kId.name); }, method);
    if (const auto* ack = std::get_if<method::BasicAck>(&method)) {
      absl::StrAppend(&text, " ", ack->delivery_tag, ack->multiple ? " multiple" : "");
    } else if (const auto* reject = std::get_if<method::BasicReject>(&method)) {
      absl::StrAppend(&text, " ", reject->delivery_tag);
    } else if (const auto* close = std::get_if<method::ConnectionClose>(&method)) {
      absl::StrAppend(&text, " ", close->reply_code);
    } else if (const auto* update = std::get_if<method::ConnectionUpdateSecret>(&method)) {
      text.append(" ").append(update->new_secret.bytes);
    }
    return text;
  }

  EventLoop& loop_;
  SSL_CTX* const tls_;
  evconnlistener* listener_ = nullptr;
  std::uint16_t port_ = 0;
  bufferevent* stream_ = nullptr;
  bool greeted_ = false;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_UNIT_AMQP_FAKE_SERVER_H_
