#include "refusals/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "amqp/codec/overloaded.h"
#include "amqp/codec/properties_codec.h"
#include "support/test.h"

namespace retryq::refusals {
namespace {

using namespace amqp::method;  // NOLINT(google-build-using-namespace)
using amqp::Overloaded;

constexpr std::size_t kFrameMax = 131072;
constexpr char kRefused[] = "refused";
// The delay queues of the queue "refused", under each of their names, and no others.
constexpr std::string_view kRefusedDelay = "retry.10000";
constexpr absl::Duration kShort = absl::Milliseconds(10);

template <typename Method>
std::string Frame(std::uint16_t channel, const Method& method) {
  std::string bytes;
  amqp::AppendMethodFrame(channel, method, &bytes);
  return bytes;
}

bool IsRefusedDelay(std::string_view name) {
  return name.substr(0, kRefusedDelay.size()) == kRefusedDelay;
}

}  // namespace

Server::Server(EventLoop& loop) : loop_(loop), listener_(loop, [this](int fd) { Accept(fd); }) {}

Server::~Server() { HangUpOnAll(); }

void Server::AddMessage(const std::string& queue) {
  ready_[queue].push_back({.number = ++last_message_, .redelivered = false});
  Deliver();
}

void Server::Refuse(Request request, Way way) {
  refused_ = request;
  way_ = way;
}

void Server::Relent() {
  refused_.reset();
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& connection = *connections_[i];
    for (auto* const waiting : {&connection.unanswered, &connection.unheard}) {
      for (const auto& [number, payload] : std::exchange(*waiting, {})) {
        if (!connection.is_gone) OnMethod(connection, number, payload, /*may_refuse=*/false);
      }
    }
    for (const auto& [number, tag] : std::exchange(connection.unconfirmed, {})) {
      if (!connection.is_gone && connection.channels.contains(number)) {
        Send(connection, Frame(number, BasicAck{.delivery_tag = tag}));
      }
    }
  }
}

void Server::SendHeartbeats() {
  std::string beat;
  amqp::AppendHeartbeat(&beat);
  for (const auto& connection : connections_) {
    if (connection->greeted) Send(*connection, beat);
  }
}

void Server::HangUpOnAll() {
  for (const auto& connection : connections_) HangUp(*connection);
  connections_.clear();
}

int Server::TakeAttempts() {
  return std::max(
      {std::exchange(asked_, 0), std::exchange(connected_, 0), std::exchange(channels_opened_, 0)});
}

void Server::Accept(int fd) {
  ++connected_;
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  auto connection = std::make_unique<Connection>();
  connection->id = ++last_connection_;
  connection->fd = fd;
  connection->server = this;
  connection->readable.reset(event_new(
      loop_.base(), fd, EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) {
        auto* const readable = static_cast<Connection*>(self);
        readable->server->OnReadable(*readable);
      },
      connection.get()));
  event_add(connection->readable.get(), nullptr);
  connections_.push_back(std::move(connection));
}

void Server::OnReadable(Connection& connection) {
  char bytes[65536];
  const ssize_t size = recv(connection.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (size <= 0) {
    HangUp(connection);
  } else {
    connection.unread.append(bytes, static_cast<std::size_t>(size));
    std::string_view rest = connection.unread;
    if (!connection.greeted && rest.size() >= 8) {
      connection.greeted = true;
      rest.remove_prefix(8);
      Send(connection, Frame(0, ConnectionStart{.mechanisms = {"PLAIN"}, .locales = {"en_US"}}));
    }
    while (connection.greeted && !connection.is_gone) {
      const auto frame = amqp::NextFrame(rest, kFrameMax);
      if (!frame.ok()) throw std::runtime_error(frame.status().ToString());
      if (!*frame) break;
      OnFrame(connection, **frame);
      rest.remove_prefix((*frame)->frame_size());
    }
    connection.unread = std::string(rest);
  }
  std::erase_if(connections_, [](const auto& one) { return one->is_gone; });
  Deliver();
}

void Server::OnFrame(Connection& connection, const amqp::FrameView& frame) {
  switch (frame.type) {
    case amqp::FrameType::kHeartbeat:
      return;
    case amqp::FrameType::kMethod:
      return OnMethod(connection, frame.channel, frame.payload, /*may_refuse=*/true);
    default:
      return OnContent(connection, frame);
  }
}

void Server::OnMethod(Connection& connection, std::uint16_t number, std::string_view payload,
                      bool may_refuse) {
  const absl::StatusOr<amqp::ClientMethod> method = amqp::DecodeClientMethod(payload);
  if (!method.ok()) throw std::runtime_error(method.status().ToString());
  if (std::holds_alternative<ConnectionCloseOk>(*method)) return HangUp(connection);
  if (connection.is_closing && !std::holds_alternative<ConnectionClose>(*method)) return;
  const auto channel = connection.channels.find(number);
  if (std::holds_alternative<ChannelCloseOk>(*method)) {
    connection.channels.erase(number);
    return;
  }
  if (channel != connection.channels.end() && channel->second.is_closing) {
    if (!std::holds_alternative<ChannelClose>(*method)) return;
    may_refuse = false;
  }
  // Requests on one channel are answered in order.
  const bool waits = std::any_of(connection.unanswered.begin(), connection.unanswered.end(),
                                 [&](const auto& one) { return one.channel == number; });
  if (waits) {
    connection.unanswered.push_back({number, std::string(payload)});
    return;
  }
  if (std::holds_alternative<ChannelOpen>(*method)) ++channels_opened_;
  if (const auto* publish = std::get_if<BasicPublish>(&*method)) {
    if (channel == connection.channels.end()) return;
    channel->second.incoming = {.exchange = std::string(publish->exchange),
                                .routing_key = std::string(publish->routing_key)};
    return;
  }
  if (!may_refuse || !IsToBeRefused(Classify(connection, number, *method))) {
    return Send(connection, CarryOut(connection, number, *method));
  }
  if (way_.kind != Way::Kind::kSilence) {
    return RefuseNow(connection, number, [&] { return CarryOut(connection, number, *method); });
  }
  auto& later = refused_ == Request::kAck ? connection.unheard : connection.unanswered;
  later.push_back({number, std::string(payload)});
}

void Server::OnContent(Connection& connection, const amqp::FrameView& frame) {
  const auto channel = connection.channels.find(frame.channel);
  if (channel == connection.channels.end() || !channel->second.incoming) return;
  Published& published = *channel->second.incoming;
  if (frame.type == amqp::FrameType::kHeader) {
    published.header = std::string(frame.payload);
    for (const char byte : frame.payload.substr(4, 8)) {
      published.body_size = published.body_size << 8 | static_cast<unsigned char>(byte);
    }
  } else {
    published.body.append(frame.payload);
  }
  if (published.body.size() < published.body_size) return;
  const Published whole = *std::exchange(channel->second.incoming, std::nullopt);
  if (!channel->second.is_closing) OnPublished(connection, frame.channel, whole);
}

void Server::OnPublished(Connection& connection, std::uint16_t number, const Published& published) {
  std::optional<Request> request;
  if (IsRefusedDelay(published.exchange)) request = Request::kCopy;
  if (published.exchange.empty() && published.routing_key == kRefused) request = Request::kPublish;
  const auto confirm = [&] { return Confirm(connection, number, published); };
  if (!IsToBeRefused(request)) return Send(connection, confirm());
  if (way_.kind == Way::Kind::kSilence) {
    connection.unconfirmed.emplace_back(number, ++connection.channels[number].published);
    return;
  }
  if (way_.kind == Way::Kind::kReturn) {
    std::string bytes = Frame(number, BasicReturn{.reply_code = way_.code,
                                                  .reply_text = "RETURNED",
                                                  .exchange = published.exchange,
                                                  .routing_key = published.routing_key});
    amqp::AppendFrameHead(amqp::FrameType::kHeader, number, published.header.size(), &bytes);
    absl::StrAppend(&bytes, published.header);
    bytes.push_back(amqp::kFrameEnd);
    amqp::AppendBodyFrames(number, published.body, kFrameMax, &bytes);
    return Send(
        connection,
        bytes + Frame(number, BasicAck{.delivery_tag = ++connection.channels[number].published}));
  }
  if (way_.kind == Way::Kind::kNack) {
    return Send(connection,
                Frame(number, BasicNack{.delivery_tag = ++connection.channels[number].published}));
  }
  RefuseNow(connection, number, confirm);
}

std::optional<Request> Server::Classify(Connection& connection, std::uint16_t number,
                                        const amqp::ClientMethod& method) {
  const auto if_of = [](bool is_refused, Request request) {
    return is_refused ? std::optional(request) : std::nullopt;
  };
  const auto channel = connection.channels.find(number);
  const bool on_refused = channel != connection.channels.end() && channel->second.queue == kRefused;
  return std::visit(
      Overloaded{
          [&](const ConnectionOpen&) { return std::optional(Request::kOpen); },
          [&](const ChannelOpen&) { return std::optional(Request::kChannel); },
          [&](const amqp::method::ConfirmSelect&) { return std::optional(Request::kConfirm); },
          [&](const QueueDeclare& m) {
            if (m.passive) return if_of(m.queue == kRefused, Request::kLook);
            return if_of(IsRefusedDelay(m.queue), Request::kDeclare);
          },
          [&](const ExchangeDeclare& m) {
            return if_of(IsRefusedDelay(m.exchange), Request::kExchange);
          },
          [&](const QueueBind& m) { return if_of(IsRefusedDelay(m.queue), Request::kBind); },
          [&](const BasicQos& m) {
            return if_of(m.prefetch_count == kRefusedPrefetch, Request::kQos);
          },
          [&](const BasicConsume& m) { return if_of(m.queue == kRefused, Request::kConsume); },
          [&](const BasicAck&) { return if_of(on_refused, Request::kAck); },
          [&](const BasicCancel&) { return if_of(on_refused, Request::kCancel); },
          [&](const ChannelClose&) { return if_of(on_refused, Request::kClose); },
          [](const auto&) { return std::optional<Request>(); },
      },
      method);
}

bool Server::IsToBeRefused(std::optional<Request> request) {
  const bool is_refused = request.has_value() && request == refused_;
  if (is_refused) ++asked_;
  return is_refused;
}

std::string Server::CarryOut(Connection& connection, std::uint16_t number,
                             const amqp::ClientMethod& method) {
  if (number != 0 && !std::holds_alternative<ChannelOpen>(method) &&
      !connection.channels.contains(number)) {
    return {};  // refused before, and the client does not know yet
  }
  const auto settle = [&](std::uint64_t tag, bool multiple, bool acked) {
    Channel& channel = connection.channels[number];
    const auto begin = multiple ? channel.unacked.begin() : channel.unacked.find(tag);
    const auto end = channel.unacked.upper_bound(tag);
    const auto count = static_cast<int>(std::distance(begin, end));
    if (acked) acked_[channel.queue] += count;
    channel.unacked.erase(begin, end);
  };
  return std::visit(
      Overloaded{
          [&](const ConnectionStartOk&) {
            return Frame(
                0, ConnectionTune{.channel_max = 2047, .frame_max = kFrameMax, .heartbeat = 60});
          },
          [&](const ConnectionOpen&) { return Frame(0, ConnectionOpenOk{}); },
          [&](const ConnectionClose&) {
            connection.is_closing = true;
            return Frame(0, ConnectionCloseOk{});
          },
          [&](const ChannelOpen&) {
            connection.channels[number] = Channel();
            return Frame(number, ChannelOpenOk{});
          },
          [&](const ChannelClose&) {
            Requeue(connection.channels[number]);
            connection.channels.erase(number);
            return Frame(number, ChannelCloseOk{});
          },
          [&](const QueueDeclare& m) { return Frame(number, QueueDeclareOk{.queue = m.queue}); },
          [&](const ExchangeDeclare&) { return Frame(number, ExchangeDeclareOk{}); },
          [&](const QueueBind&) { return Frame(number, QueueBindOk{}); },
          [&](const amqp::method::ConfirmSelect&) { return Frame(number, ConfirmSelectOk{}); },
          [&](const BasicQos& m) {
            connection.channels[number].prefetch = m.prefetch_count;
            return Frame(number, BasicQosOk{});
          },
          [&](const BasicConsume& m) {
            Channel& channel = connection.channels[number];
            channel.queue = std::string(m.queue);
            channel.consumer_tag = std::string(m.consumer_tag);
            channel.consumes = true;
            return Frame(number, BasicConsumeOk{.consumer_tag = m.consumer_tag});
          },
          [&](const BasicCancel& m) {
            connection.channels[number].consumes = false;
            if (m.nowait) return std::string();
            return Frame(number, BasicCancelOk{.consumer_tag = m.consumer_tag});
          },
          [&](const BasicAck& m) {
            settle(m.delivery_tag, m.multiple, /*acked=*/true);
            return std::string();
          },
          [&](const BasicNack& m) {
            settle(m.delivery_tag, m.multiple, /*acked=*/false);
            return std::string();
          },
          [](const auto&) { return std::string(); },
      },
      method);
}

std::string Server::Confirm(Connection& connection, std::uint16_t number,
                            const Published& published) {
  ++confirmed_[published.target()];
  return Frame(number, BasicAck{.delivery_tag = ++connection.channels[number].published});
}

void Server::RefuseNow(Connection& connection, std::uint16_t number,
                       const std::function<std::string()>& carry_out) {
  switch (way_.kind) {
    case Way::Kind::kChannelClose:
      return CloseChannel(connection, number, way_.code);
    case Way::Kind::kConnectionClose:
      return CloseConnection(connection, way_.code);
    case Way::Kind::kHangUpBefore:
      return HangUp(connection);
    case Way::Kind::kHangUpDuring: {
      const std::string answer = carry_out();
      Send(connection, std::string_view(answer).substr(0, answer.size() / 2));
      return HangUp(connection);
    }
    case Way::Kind::kHangUpAfter:
      Send(connection, carry_out());
      return HangUp(connection);
    case Way::Kind::kShortChannel:
    case Way::Kind::kShortConnection:
      Send(connection, carry_out());
      After(kShort, [this, kind = way_.kind, id = connection.id, number] {
        Connection* const still_there = Find(id);
        if (still_there == nullptr) return;
        if (kind == Way::Kind::kShortConnection) return HangUp(*still_there);
        if (still_there->channels.contains(number)) CloseChannel(*still_there, number, 406);
      });
      return;
    default:
      return;
  }
}

void Server::Send(Connection& connection, std::string_view bytes) {
  if (connection.is_gone || bytes.empty()) return;
  const ssize_t sent = send(connection.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(bytes.size())) HangUp(connection);
}

void Server::CloseChannel(Connection& connection, std::uint16_t number, std::uint16_t code) {
  Channel& channel = connection.channels[number];
  if (channel.is_closing) return;
  Requeue(channel);
  channel.is_closing = true;
  channel.consumes = false;
  Send(connection, Frame(number, ChannelClose{.reply_code = code, .reply_text = "REFUSED"}));
}

void Server::CloseConnection(Connection& connection, std::uint16_t code) {
  for (auto& [number, channel] : connection.channels) Requeue(channel);
  connection.channels.clear();
  connection.is_closing = true;
  Send(connection, Frame(0, ConnectionClose{.reply_code = code, .reply_text = "REFUSED"}));
}

void Server::HangUp(Connection& connection) {
  if (std::exchange(connection.is_gone, true)) return;
  connection.readable.reset();
  close(connection.fd);
  for (auto& [number, channel] : connection.channels) Requeue(channel);
}

void Server::Requeue(Channel& channel) {
  for (std::size_t i = 0; i < channel.unacked.size(); ++i) {
    ready_[channel.queue].push_front({.number = ++last_message_, .redelivered = true});
  }
  channel.unacked.clear();
}

void Server::Deliver() {
  for (const auto& connection : connections_) {
    if (connection->is_gone || connection->is_closing) continue;
    for (auto& [number, channel] : connection->channels) {
      std::deque<Message>& ready = ready_[channel.queue];
      while (channel.consumes && !ready.empty() && channel.unacked.size() < channel.prefetch) {
        const Message message = ready.front();
        ready.pop_front();
        channel.unacked.insert(++channel.delivered);
        std::string bytes = Frame(number, BasicDeliver{.consumer_tag = channel.consumer_tag,
                                                       .delivery_tag = channel.delivered,
                                                       .redelivered = message.redelivered,
                                                       .routing_key = channel.queue});
        const std::string id = absl::StrCat(message.number);
        amqp::AppendContentHeaderFrame(number, 4, {.message_id = id}, &bytes);
        amqp::AppendBodyFrames(number, "body", kFrameMax, &bytes);
        Send(*connection, bytes);
      }
    }
  }
}

Server::Connection* Server::Find(std::uint64_t id) {
  for (const auto& connection : connections_) {
    if (connection->id == id && !connection->is_gone) return connection.get();
  }
  return nullptr;
}

void Server::After(absl::Duration delay, std::function<void()> call) {
  timers_.push_back(loop_.After(delay, std::move(call)));
}

}  // namespace retryq::refusals
