#ifndef RETRYQ_TEST_UNIT_AMQP_FAKE_SERVER_H_
#define RETRYQ_TEST_UNIT_AMQP_FAKE_SERVER_H_

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>

#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "amqp/codec/overloaded.h"
#include "amqp/codec/properties_codec.h"
#include "retryq/event_loop.h"
#include "support/loopback_listener.h"
#include "support/standard.h"

namespace retryq::amqp {

// The other end of connections, saying what the test wants it to. It shakes hands by itself and
// remembers what its clients say.
class FakeServer {
 public:
  // `tls`: how it speaks TLS, which must outlive it; null: not at all.
  explicit FakeServer(EventLoop& loop, SSL_CTX* tls = nullptr)
      : loop_(loop), tls_(tls), listener_(loop, [this](evutil_socket_t fd) { Accept(fd); }) {}
  ~FakeServer() { HangUp(); }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  std::uint16_t port() const { return listener_.port(); }

  // What the clients have said, a line a method: "3 basic.ack 7 multiple".
  std::vector<std::string> heard;
  std::string heard_bytes;  // the same as it came
  int connections = 0;      // accepted so far
  // The bodies that have been published, one after the other.
  std::string content;
  // How they may log in, and how the last connection did; `login` as PLAIN says it.
  std::string mechanisms = "PLAIN";
  std::string mechanism;
  std::string login;
  // What it offers each.
  method::ConnectionTune tune = {.channel_max = 2047, .frame_max = 131072};
  // By how many bytes the largest of their frames exceeded the frame_max of its connection. Of one
  // with a content header its own head and end do not count, as RabbitMQ has it (F53 in
  // doc/rabbitmq_facts.md).
  std::size_t excess = 0;

  // The last connection.close or channel.close that was not simply a goodbye.
  struct Complaint {
    std::string text;
    std::uint16_t class_id = 0;
    std::uint16_t method_id = 0;
  };
  Complaint complaint;

  // Whether it answers what clients ask, as a broker would where all goes well.
  bool obliging = false;

  // Called for each of their methods behind the handshake, before it is answered; true if there is
  // no more to answer. May hang up.
  std::function<bool(std::uint16_t channel, const ClientMethod&)> on_method;

  // The client's steps of a handshake.
  enum class Step { kProtocolHeader, kStartOk, kTuneOk, kOpen };
  // Called at each; true if it has said by itself what there is to say.
  std::function<bool(Step)> on_step;

  // Until somebody speaks again, it is the first client who said this that is spoken to.
  void Address(const std::string& line) {
    current_ = Find(line);
    if (current_ == nullptr) throw std::runtime_error("nobody has said: " + line);
  }
  // Whether a client who said this has not gone yet.
  bool HasClient(const std::string& line) const { return Find(line) != nullptr; }

  // All speak to the client who spoke last, or has come since.
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
  void SayBytes(std::string_view bytes) {
    if (current_ != nullptr) bufferevent_write(current_->stream, bytes.data(), bytes.size());
  }

  // Said and not yet taken by the client's socket.
  std::size_t unsent() const {
    if (current_ == nullptr) return 0;
    return evbuffer_get_length(bufferevent_get_output(current_->stream));
  }

  // Hears nothing more of what is said on the connections there are, and soon takes nothing.
  void StopReading() {
    const int smallest = 1;
    for (const auto& client : clients_) {
      bufferevent_disable(client->stream, EV_READ);
      setsockopt(bufferevent_getfd(client->stream), SOL_SOCKET, SO_RCVBUF, &smallest,
                 sizeof(smallest));
    }
  }

  // Connections that the client has not closed.
  std::size_t open_connections() const { return clients_.size(); }

  // At once, and ends TLS right after it.
  template <typename Method>
  void SayLast(std::uint16_t channel, const Method& method) {
    std::string bytes;
    AppendMethodFrame(channel, method, &bytes);
    SSL* ssl = bufferevent_openssl_get_ssl(current_->stream);
    if (SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size())) <= 0) {
      throw std::runtime_error("cannot send");
    }
    SSL_shutdown(ssl);
  }

  void HangUp() {
    current_ = nullptr;
    clients_.clear();
  }

 private:
  struct Client {
    ~Client() { bufferevent_free(stream); }
    FakeServer* server;
    bufferevent* stream;
    bool greeted = false;
    std::size_t frame_max = 0;  // that both have agreed on; 0: not yet
    std::string unread = {};
    std::vector<std::string> said = {};
    std::map<std::uint16_t, std::uint64_t> published = {};  // messages, by channel
  };

  // The first client who said this, or null.
  Client* Find(const std::string& line) const {
    const auto said = std::find_if(clients_.begin(), clients_.end(), [&](const auto& client) {
      return std::count(client->said.begin(), client->said.end(), line) > 0;
    });
    return said == clients_.end() ? nullptr : said->get();
  }

  void Accept(evutil_socket_t fd) {
    ++connections;
    // As RabbitMQ does: else what it says waits for an ack of what it said before.
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    current_ = clients_.emplace_back(new Client{.server = this, .stream = NewStream(fd)}).get();
    bufferevent_setcb(
        current_->stream,
        [](bufferevent*, void* arg) {
          auto* const client = static_cast<Client*>(arg);
          client->server->OnInput(*client);
        },
        nullptr,
        [](bufferevent*, short what, void* arg) {
          auto* const client = static_cast<Client*>(arg);
          if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0) client->server->OnEnd(*client);
        },
        current_);
    // libevent's own would be 16 KiB in a turn.
    bufferevent_set_max_single_write(current_->stream, std::size_t{1} << 20);
    bufferevent_enable(current_->stream, EV_READ | EV_WRITE);
  }

  bufferevent* NewStream(evutil_socket_t fd) {
    if (tls_ == nullptr) return bufferevent_socket_new(loop_.base(), fd, BEV_OPT_CLOSE_ON_FREE);
    return bufferevent_openssl_socket_new(loop_.base(), fd, SSL_new(tls_),
                                          BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
  }

  void OnInput(Client& client) {
    evbuffer* input = bufferevent_get_input(client.stream);
    std::string bytes(evbuffer_get_length(input), '\0');
    evbuffer_remove(input, bytes.data(), bytes.size());
    Read(client, bytes);
  }

  // A client that has closed while it was spoken to may have said why.
  void OnEnd(Client& client) {
    char bytes[4096];
    const ssize_t size =
        tls_ != nullptr ? 0 : recv(bufferevent_getfd(client.stream), bytes, sizeof(bytes), 0);
    if (size > 0) Read(client, {bytes, static_cast<std::size_t>(size)});
    if (current_ == &client) current_ = nullptr;
    std::erase_if(clients_, [&](const auto& entry) { return entry.get() == &client; });
  }

  void Read(Client& client, std::string_view bytes) {
    current_ = &client;
    heard_bytes += bytes;
    std::string all = std::exchange(client.unread, {});
    all += bytes;
    std::string_view rest = all;
    if (!client.greeted && rest.size() >= 8) {
      client.greeted = true;
      rest.remove_prefix(8);
      OnStep(Step::kProtocolHeader,
             method::ConnectionStart{.mechanisms = {mechanisms}, .locales = {"en_US"}});
    }
    // Hanging up ends it.
    while (current_ == &client && client.greeted) {
      const auto frame = NextFrame(rest, 1 << 20);
      if (!frame.ok()) throw std::runtime_error(frame.status().ToString());
      if (!*frame) break;
      rest.remove_prefix((*frame)->frame_size());
      OnFrame(client, **frame);
    }
    if (current_ == &client) client.unread = rest;
  }

  template <typename Answer>
  void OnStep(Step step, const Answer& answer) {
    if (!on_step || !on_step(step)) Say(0, answer);
  }

  void OnFrame(Client& client, const FrameView& frame) {
    NoteExcess(client, frame);
    if (frame.type == FrameType::kHeartbeat) heard.emplace_back("heartbeat");
    if (frame.type == FrameType::kBody) content.append(frame.payload);
    if (frame.type != FrameType::kMethod) return;
    const auto method = DecodeClientMethod(frame.payload);
    if (!method.ok()) throw std::runtime_error(method.status().ToString());
    if (const auto* start_ok = std::get_if<method::ConnectionStartOk>(&*method)) {
      login = start_ok->response.bytes;
      mechanism = start_ok->mechanism;
      return OnStep(Step::kStartOk, tune);
    }
    if (const auto* tune_ok = std::get_if<method::ConnectionTuneOk>(&*method)) {
      client.frame_max = tune_ok->frame_max;
      if (on_step) on_step(Step::kTuneOk);
      return;
    }
    if (std::holds_alternative<method::ConnectionOpen>(*method)) {
      return OnStep(Step::kOpen, method::ConnectionOpenOk{});
    }
    heard.push_back(absl::StrCat(frame.channel, " ", Describe(*method)));
    client.said.push_back(heard.back());
    NoteComplaint(*method);
    if (on_method && on_method(frame.channel, *method)) return;
    if (obliging) Oblige(client, frame.channel, *method);
  }

  void NoteExcess(const Client& client, const FrameView& frame) {
    const std::size_t size =
        frame.type == FrameType::kHeader ? frame.payload.size() : frame.frame_size();
    if (client.frame_max == 0 || size <= client.frame_max) return;
    excess = std::max(excess, size - client.frame_max);
  }

  static std::string Describe(const ClientMethod& method) {
    std::string text = std::visit([](const auto& m) { return std::string(m.kId.name); }, method);
    if (const auto* ack = std::get_if<method::BasicAck>(&method)) {
      absl::StrAppend(&text, " ", ack->delivery_tag, ack->multiple ? " multiple" : "");
    } else if (const auto* nack = std::get_if<method::BasicNack>(&method)) {
      absl::StrAppend(&text, " ", nack->delivery_tag, nack->multiple ? " multiple" : "",
                      nack->requeue ? " requeue" : "");
    } else if (const auto* close = std::get_if<method::ConnectionClose>(&method)) {
      absl::StrAppend(&text, " ", close->reply_code);
    } else if (const auto* update = std::get_if<method::ConnectionUpdateSecret>(&method)) {
      text.append(" ").append(update->new_secret.bytes);
    } else if (const auto* channel = std::get_if<method::ChannelClose>(&method)) {
      if (channel->reply_code != 200) absl::StrAppend(&text, " ", channel->reply_code);
    }
    return text;
  }

  void NoteComplaint(const ClientMethod& method) {
    const auto note = [this](const auto& close) {
      if (close.reply_code == 200) return;
      complaint = {.text = std::string(close.reply_text),
                   .class_id = close.class_id,
                   .method_id = close.method_id};
    };
    if (const auto* close = std::get_if<method::ConnectionClose>(&method)) note(*close);
    if (const auto* close = std::get_if<method::ChannelClose>(&method)) note(*close);
  }

  void Oblige(Client& client, std::uint16_t channel, const ClientMethod& any) {
    using namespace method;  // NOLINT(google-build-using-namespace)
    std::visit(Overloaded{
                   [&](const ConnectionClose&) { Say(channel, ConnectionCloseOk{}); },
                   [&](const ConnectionUpdateSecret&) { Say(channel, ConnectionUpdateSecretOk{}); },
                   [&](const ChannelOpen&) { Say(channel, ChannelOpenOk{}); },
                   [&](const ChannelClose&) { Say(channel, ChannelCloseOk{}); },
                   [&](const ExchangeDeclare&) { Say(channel, ExchangeDeclareOk{}); },
                   [&](const ExchangeDelete&) { Say(channel, ExchangeDeleteOk{}); },
                   [&](const QueueDeclare& m) { Say(channel, QueueDeclareOk{.queue = m.queue}); },
                   [&](const QueueBind&) { Say(channel, QueueBindOk{}); },
                   [&](const QueuePurge&) { Say(channel, QueuePurgeOk{}); },
                   [&](const QueueDelete&) { Say(channel, QueueDeleteOk{}); },
                   [&](const BasicQos&) { Say(channel, BasicQosOk{}); },
                   [&](const BasicConsume& m) {
                     Say(channel, BasicConsumeOk{.consumer_tag = m.consumer_tag});
                   },
                   [&](const BasicCancel& m) {
                     Say(channel, BasicCancelOk{.consumer_tag = m.consumer_tag});
                   },
                   [&](const BasicPublish&) {
                     Say(channel, BasicAck{.delivery_tag = ++client.published[channel]});
                   },
                   [&](const method::ConfirmSelect&) { Say(channel, ConfirmSelectOk{}); },
                   [](const auto&) {},
               },
               any);
  }

  EventLoop& loop_;
  SSL_CTX* const tls_;
  const testing::LoopbackListener listener_;
  std::vector<std::unique_ptr<Client>> clients_;
  Client* current_ = nullptr;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_UNIT_AMQP_FAKE_SERVER_H_
