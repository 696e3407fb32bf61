#include "support/peer.h"

#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <stdexcept>

#include "amqp/codec/frame.h"
#include "amqp/codec/properties_codec.h"
#include "amqp/codec/wire.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::testing {
namespace {

constexpr amqp_channel_t kChannel = 1;
constexpr int kFrameMax = 131072;
constexpr timeval kPatience = {.tv_sec = 30, .tv_usec = 0};

// The pointers are only read, although their type in librabbitmq is not const.
amqp_bytes_t Bytes(std::string_view text) {
  return {.len = text.size(), .bytes = const_cast<char*>(text.data())};
}

std::string_view Text(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

// Arguments in the form of librabbitmq.
class Arguments {
 public:
  explicit Arguments(const amqp::Table& table) {
    init_amqp_pool(&pool_, 4096);
    const std::string fields = table.Encode().value();
    amqp::AppendLongString(fields, &encoded_);
    std::size_t offset = 0;
    if (amqp_decode_table(Bytes(encoded_), &pool_, &table_, &offset) != AMQP_STATUS_OK) {
      throw std::runtime_error("librabbitmq does not read these arguments");
    }
  }
  ~Arguments() { empty_amqp_pool(&pool_); }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  amqp_table_t get() const { return table_; }

 private:
  amqp_pool_t pool_{};
  std::string encoded_;
  amqp_table_t table_{};
};

std::string Describe(const amqp_rpc_reply_t& reply) {
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
    return amqp_error_string2(reply.library_error);
  }
  if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
    return std::string(
        Text(static_cast<const amqp_channel_close_t*>(reply.reply.decoded)->reply_text));
  }
  if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
    return std::string(
        Text(static_cast<const amqp_connection_close_t*>(reply.reply.decoded)->reply_text));
  }
  return "an unexpected answer";
}

}  // namespace

Peer::Peer(const std::string& url) : connection_(amqp_new_connection()) {
  const amqp::ConnectionOptions options = amqp::ParseUri(url).value();
  const amqp::Endpoint& endpoint = options.endpoints.front();
  amqp_socket_t* socket = amqp_tcp_socket_new(connection_);
  if (amqp_socket_open(socket, endpoint.host.c_str(), endpoint.port) != AMQP_STATUS_OK) {
    amqp_destroy_connection(connection_);
    throw std::runtime_error("no broker at " + amqp::Describe(endpoint));
  }
  amqp_set_rpc_timeout(connection_, &kPatience);
  Check(amqp_login(connection_, options.vhost.c_str(), 0, kFrameMax, /*heartbeat=*/0,
                   AMQP_SASL_METHOD_PLAIN, options.user.c_str(), options.password.c_str()),
        "login");
  amqp_channel_open(connection_, kChannel);
  Check(amqp_get_rpc_reply(connection_), "channel.open");
  amqp_confirm_select(connection_, kChannel);
  Check(amqp_get_rpc_reply(connection_), "confirm.select");
}

Peer::~Peer() {
  amqp_connection_close(connection_, AMQP_REPLY_SUCCESS);
  amqp_destroy_connection(connection_);
}

void Peer::DeclareQueue(const std::string& name, const amqp::Table& arguments) {
  DeclareQueue(name, arguments, QueueKind());
}

void Peer::DeclareQueue(const std::string& name, const amqp::Table& arguments,
                        const QueueKind& kind) {
  amqp_queue_declare(connection_, kChannel, Bytes(name), /*passive=*/0, kind.durable ? 1 : 0,
                     kind.exclusive ? 1 : 0, kind.auto_delete ? 1 : 0, Arguments(arguments).get());
  Check(amqp_get_rpc_reply(connection_), "declare " + name);
}

void Peer::DeclareExchange(const std::string& name, const std::string& type) {
  amqp_exchange_declare(connection_, kChannel, Bytes(name), Bytes(type), /*passive=*/0,
                        /*durable=*/1, /*auto_delete=*/0, /*internal=*/0, amqp_empty_table);
  Check(amqp_get_rpc_reply(connection_), "declare " + name);
}

void Peer::Bind(const std::string& queue, const std::string& exchange,
                const std::string& routing_key) {
  amqp_queue_bind(connection_, kChannel, Bytes(queue), Bytes(exchange), Bytes(routing_key),
                  amqp_empty_table);
  Check(amqp_get_rpc_reply(connection_), "bind " + queue);
}

void Peer::Publish(const std::string& exchange, const std::string& routing_key,
                   std::string_view body, const amqp::Properties& properties) {
  Send(exchange, routing_key, body, properties);
  AwaitConfirms();
}

// librabbitmq cannot send headers that are already encoded, so this class writes the content to its
// socket directly.
void Peer::Send(const std::string& exchange, const std::string& routing_key, std::string_view body,
                const amqp::Properties& properties) {
  amqp_basic_publish_t publish{};
  publish.exchange = Bytes(exchange);
  publish.routing_key = Bytes(routing_key);
  publish.mandatory = 1;
  if (amqp_send_method(connection_, kChannel, AMQP_BASIC_PUBLISH_METHOD, &publish) !=
      AMQP_STATUS_OK) {
    throw std::runtime_error("publish to " + exchange + ": the connection is gone");
  }
  std::string content;
  amqp::AppendContentHeaderFrame(kChannel, body.size(), properties, &content);
  amqp::AppendBodyFrames(kChannel, body, kFrameMax, &content);
  Write(content);
  unconfirmed_.insert(++published_);
}

void Peer::AwaitConfirms() {
  while (!unconfirmed_.empty()) ReadConfirm();
}

amqp::MessagePtr Peer::Get(const std::string& queue) {
  amqp_maybe_release_buffers(connection_);
  const amqp_rpc_reply_t reply = amqp_basic_get(connection_, kChannel, Bytes(queue), /*no_ack=*/1);
  Check(reply, "get " + queue);
  if (reply.reply.id == AMQP_BASIC_GET_EMPTY_METHOD) return nullptr;
  const auto& got = *static_cast<const amqp_basic_get_ok_t*>(reply.reply.decoded);
  auto message = std::make_shared<amqp::Message>();
  message->redelivered = got.redelivered != 0;
  // The frames that follow overwrite these names.
  const std::string exchange(Text(got.exchange));
  const std::string routing_key(Text(got.routing_key));
  ReadContent(exchange, routing_key, message.get());
  return message;
}

std::uint32_t Peer::Delete(const std::string& queue) {
  amqp_maybe_release_buffers(connection_);
  const amqp_queue_delete_ok_t* answer =
      amqp_queue_delete(connection_, kChannel, Bytes(queue), /*if_unused=*/0, /*if_empty=*/0);
  Check(amqp_get_rpc_reply(connection_), "delete " + queue);
  return answer->message_count;
}

std::uint32_t Peer::Purge(const std::string& queue) {
  amqp_maybe_release_buffers(connection_);
  const amqp_queue_purge_ok_t* answer = amqp_queue_purge(connection_, kChannel, Bytes(queue));
  Check(amqp_get_rpc_reply(connection_), "purge " + queue);
  return answer->message_count;
}

std::uint32_t Peer::Count(const std::string& queue) { return LookAt(queue).message_count; }

std::uint32_t Peer::Consumers(const std::string& queue) { return LookAt(queue).consumer_count; }

const amqp_queue_declare_ok_t& Peer::LookAt(const std::string& queue) {
  amqp_maybe_release_buffers(connection_);
  const amqp_queue_declare_ok_t* answer =
      amqp_queue_declare(connection_, kChannel, Bytes(queue), /*passive=*/1, /*durable=*/1,
                         /*exclusive=*/0, /*auto_delete=*/0, amqp_empty_table);
  Check(amqp_get_rpc_reply(connection_), "look at " + queue);
  return *answer;
}

void Peer::Check(const amqp_rpc_reply_t& reply, std::string_view what) {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
  throw std::runtime_error("the peer's " + std::string(what) + ": " + Describe(reply));
}

void Peer::Write(std::string_view bytes) {
  const int socket = amqp_get_sockfd(connection_);
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd writable{.fd = socket, .events = POLLOUT, .revents = 0};
      poll(&writable, 1, /*timeout=*/-1);
    } else if (errno != EINTR) {
      throw std::runtime_error("the peer's connection is gone");
    }
  }
}

amqp_frame_t Peer::ReadFrame() {
  amqp_frame_t frame{};
  const int status = amqp_simple_wait_frame_noblock(connection_, &frame, &kPatience);
  if (status != AMQP_STATUS_OK) {
    throw std::runtime_error(std::string("the peer hears nothing: ") + amqp_error_string2(status));
  }
  return frame;
}

void Peer::ReadContent(const std::string& exchange, const std::string& routing_key,
                       amqp::Message* message) {
  const amqp_frame_t header = ReadFrame();
  const auto& properties = header.payload.properties;
  std::string bytes;
  amqp::AppendInteger(properties.class_id, &bytes);
  amqp::AppendInteger(std::uint16_t{0}, &bytes);  // weight
  amqp::AppendInteger(std::uint64_t{properties.body_size}, &bytes);
  bytes += Text(properties.raw);
  message->SetHead(exchange, routing_key, bytes);
  message->properties = amqp::DecodeContentHeader(message->header).value().properties;
  while (message->content.size() < properties.body_size) {
    message->content += Text(ReadFrame().payload.body_fragment);
  }
  message->body = message->content;
}

void Peer::ReadConfirm() {
  amqp_maybe_release_buffers(connection_);
  const amqp_frame_t frame = ReadFrame();
  if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD) {
    throw std::runtime_error("the peer's publish was returned or refused");
  }
  const auto& ack = *static_cast<const amqp_basic_ack_t*>(frame.payload.method.decoded);
  if (ack.multiple != 0) {
    unconfirmed_.erase(unconfirmed_.begin(), unconfirmed_.upper_bound(ack.delivery_tag));
  } else {
    unconfirmed_.erase(ack.delivery_tag);
  }
}

}  // namespace retryq::testing
