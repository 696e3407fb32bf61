#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "amqp/codec/method_codec.h"
#include "amqp/connection/session.h"
#include "fuzz/check.h"

using namespace retryq;        // NOLINT(google-build-using-namespace)
using namespace retryq::amqp;  // NOLINT(google-build-using-namespace)

namespace {

// Listens on loopback, accepts one connection at a time and sends all its bytes at once.
class Server {
 public:
  Server() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any = {};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<sockaddr*>(&any), sizeof(any));
    listen(listener_, 1);
    address_.size = sizeof(any);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address_.storage), &address_.size);
  }

  const SocketAddress& address() const { return address_; }

  // Sends `bytes` on the accepted connection and closes it for writing; returns its descriptor.
  int Serve(std::string_view bytes) const {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    Check(connection >= 0, "the client has connected");
    const ssize_t sent = send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    Check(sent == static_cast<ssize_t>(bytes.size()), "the socket's buffer holds an input");
    shutdown(connection, SHUT_WR);
    return connection;
  }

 private:
  const int listener_;
  SocketAddress address_ = {};
};

template <typename Method>
void Say(std::uint16_t channel, const Method& method, std::string* out) {
  AppendMethodFrame(channel, method, out);
}

// A successful handshake, for the bytes that follow.
std::string ShakeHands() {
  std::string bytes;
  Say(0, method::ConnectionStart{.mechanisms = {"PLAIN"}, .locales = {"en_US"}}, &bytes);
  Say(0, method::ConnectionTune{.channel_max = 4, .frame_max = 8192}, &bytes);
  Say(0, method::ConnectionOpenOk{}, &bytes);
  return bytes;
}

// The replies to the first requests of the user below.
std::string OpenChannel() {
  std::string bytes;
  Say(1, method::ChannelOpenOk{}, &bytes);
  Say(1, method::ConfirmSelectOk{}, &bytes);
  Say(1, method::BasicConsumeOk{.consumer_tag = "me"}, &bytes);
  return bytes;
}

// Makes a request of each kind, and checks that each is answered once.
class User final : public SessionOwner, public ChannelListener {
 public:
  User(EventLoop& loop, const SocketAddress& address)
      : loop_(loop),
        session_(std::make_shared<Session>(loop, options_, /*tls=*/nullptr, endpoint_, address,
                                           /*spent=*/absl::ZeroDuration(),
                                           std::make_shared<ReadPace>(options_.read_coalescing),
                                           this)) {}

  // `was_welcome`: the handshake was done for it.
  void CheckEnd(bool was_welcome) const {
    Check(!was_welcome || channel_ != nullptr || abandoned_ || dropped_, "a good handshake opens");
    Check(ended_ || abandoned_, "a session ends with its connection");
    if (channel_ == nullptr || abandoned_) return;
    Check(closed_ == 1, "a channel ends with its session");
    Check(answered_ == asked_, "what was asked is answered");
  }

 private:
  void OnSessionOpen() override {
    channel_ = std::make_unique<Channel>(session_->OpenChannel(this));
    channel_->ConfirmSelect(Expected());
    channel_->Consume({.queue = "q", .consumer_tag = "me"}, Expected());
    channel_->DeclareQueue({.name = "q"}, Expected());
    for (const char* key : {"a", "b"}) {
      channel_->Publish({.exchange = "x", .routing_key = key, .body = key}, Expected());
    }
    channel_->Cancel("me", Expected());
  }
  void OnSessionBlocked(bool, std::string_view) override {}
  void OnSessionEnded(const absl::Status& why) override {
    Check(!why.ok() && !std::exchange(ended_, true), "a session ends once, for a reason");
    loop_.Stop();
  }

  // The message determines how it is settled.
  void OnDelivery(std::string_view, MessagePtr message) override {
    const char kind = message->routing_key.empty() ? 'a' : message->routing_key[0];
    if (kind == 'c') {
      dropped_ = true;
      return channel_.reset();
    }
    if (kind == 's') {
      abandoned_ = true;
      loop_.Stop();
      return session_->Abandon();
    }
    if (kind == 'r') return channel_->Reject(message->delivery_tag.tag, true);
    channel_->Ack(message->delivery_tag.tag);
  }
  void OnChannelClosed(const ChannelError& why) override {
    Check(!why.status.ok(), "a channel is closed for a reason");
    ++closed_;
  }

  struct Answer {
    User* user;
    template <typename T>
    void operator()(const T&) const {
      ++user->answered_;
    }
  };
  Answer Expected() {
    ++asked_;
    return {this};
  }

  EventLoop& loop_;
  const ConnectionOptions options_ = {.connection_name = "fuzz"};
  const Endpoint endpoint_;
  std::unique_ptr<Channel> channel_;
  int asked_ = 0;
  int answered_ = 0;
  int closed_ = 0;
  bool ended_ = false;
  bool abandoned_ = false;
  bool dropped_ = false;  // the channel
  const std::shared_ptr<Session> session_;
};

}  // namespace

// The whole client: the first byte determines how far the session succeeds; the other bytes are
// then sent by the server before it closes the connection.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static EventLoop loop;
  static const Server server;
  static const std::string prefixes[] = {"", ShakeHands(), ShakeHands() + OpenChannel()};

  User user(loop, server.address());
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const int connection =
      server.Serve(prefixes[data[0] % std::size(prefixes)] + std::string(input.substr(1)));
  Check(loop.Run().ok(), "the loop runs");
  close(connection);
  user.CheckEnd(data[0] % std::size(prefixes) != 0);
  return 0;
}
