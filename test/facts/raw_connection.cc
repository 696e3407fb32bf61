#include "facts/raw_connection.h"

#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#include <sys/socket.h>

#include <array>
#include <set>
#include <stdexcept>

#include "amqp/codec/frame.h"
#include "amqp/codec/properties_codec.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/amqp/table.h"

namespace retryq::testing {
namespace {

constexpr amqp_channel_t kChannel = 1;
constexpr timeval kSocketPatience = {.tv_sec = 30, .tv_usec = 0};

amqp_table_entry_t Entry(const char* name, const char* value) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = amqp_cstring_bytes(value);
  return entry;
}

amqp_table_entry_t Entry(const char* name, std::int64_t value) {
  amqp_table_entry_t entry{};
  entry.key = amqp_cstring_bytes(name);
  entry.value.kind = AMQP_FIELD_KIND_I64;
  entry.value.value.i64 = value;
  return entry;
}

}  // namespace

RawConnection::RawConnection(const std::string& url, int frame_max)
    : connection_(amqp_new_connection()) {
  if (Login(url, frame_max)) return;
  amqp_destroy_connection(connection_);
  throw std::runtime_error("the broker refuses the connection");
}

RawConnection::~RawConnection() { amqp_destroy_connection(connection_); }

bool RawConnection::IsAccepted(const std::string& url, int frame_max) {
  try {
    const RawConnection connection(url, frame_max);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool RawConnection::Login(const std::string& url, int frame_max) {
  const amqp::ConnectionOptions options = amqp::ParseUri(url).value();
  const amqp::Endpoint& endpoint = options.endpoints.front();
  amqp_socket_t* socket = amqp_tcp_socket_new(connection_);
  if (amqp_socket_open(socket, endpoint.host.c_str(), endpoint.port) != AMQP_STATUS_OK)
    return false;
  amqp_set_rpc_timeout(connection_, &kSocketPatience);
  const amqp_rpc_reply_t login =
      amqp_login(connection_, options.vhost.c_str(), 0, frame_max, /*heartbeat=*/0,
                 AMQP_SASL_METHOD_PLAIN, options.user.c_str(), options.password.c_str());
  if (login.reply_type != AMQP_RESPONSE_NORMAL) return false;
  amqp_channel_open(connection_, kChannel);
  return amqp_get_rpc_reply(connection_).reply_type == AMQP_RESPONSE_NORMAL;
}

int RawConnection::DeclareWithoutAnswer(const std::string& queue, std::int64_t expires_ms) {
  std::array<amqp_table_entry_t, 2> entries = {Entry("x-queue-type", "classic"),
                                               Entry("x-expires", expires_ms)};
  amqp_queue_declare_t declare{};
  declare.queue = amqp_cstring_bytes(queue.c_str());
  declare.durable = 1;
  declare.nowait = 1;
  declare.arguments = {.num_entries = static_cast<int>(entries.size()), .entries = entries.data()};
  if (amqp_send_method(connection_, kChannel, AMQP_QUEUE_DECLARE_METHOD, &declare) !=
      AMQP_STATUS_OK) {
    throw std::runtime_error("the connection is gone");
  }
  return Outcome();
}

int RawConnection::DeleteIfEmpty(const std::string& queue) {
  amqp_queue_delete(connection_, kChannel, amqp_cstring_bytes(queue.c_str()), /*if_unused=*/0,
                    /*if_empty=*/1);
  return CodeOf(amqp_get_rpc_reply(connection_));
}

int RawConnection::DeclareTransient(const std::string& queue) {
  amqp_queue_declare(connection_, kChannel, amqp_cstring_bytes(queue.c_str()), /*passive=*/0,
                     /*durable=*/0, /*exclusive=*/0, /*auto_delete=*/0, amqp_empty_table);
  return CodeOf(amqp_get_rpc_reply(connection_));
}

int RawConnection::PublishWithHeaders(const std::string& queue, std::size_t size) {
  amqp_basic_publish_t publish{};
  publish.routing_key = amqp_cstring_bytes(queue.c_str());
  amqp_send_method(connection_, kChannel, AMQP_BASIC_PUBLISH_METHOD, &publish);
  const std::string headers = amqp::Table{{"large", std::string(size, 'x')}}.Encode().value();
  std::string content;
  amqp::AppendContentHeaderFrame(kChannel, /*body_size=*/0, {.headers = amqp::TableView(headers)},
                                 &content);
  // librabbitmq would not send it.
  if (send(amqp_get_sockfd(connection_), content.data(), content.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(content.size())) {
    throw std::runtime_error("the connection is gone");
  }
  return Outcome();
}

RawConnection::Answers RawConnection::CancelBeforeConsumeOk(const std::string& queue) {
  amqp_basic_consume_t consume{};
  consume.queue = amqp_cstring_bytes(queue.c_str());
  consume.consumer_tag = amqp_cstring_bytes("mine");
  amqp_basic_cancel_t cancel{};
  cancel.consumer_tag = consume.consumer_tag;
  amqp_send_method(connection_, kChannel, AMQP_BASIC_CONSUME_METHOD, &consume);
  amqp_send_method(connection_, kChannel, AMQP_BASIC_CANCEL_METHOD, &cancel);
  Answers answers;
  while (true) {
    const amqp_method_t method = ReadMethod();
    if (method.id == AMQP_BASIC_CONSUME_OK_METHOD) answers.consume_ok = true;
    if (method.id == AMQP_BASIC_CANCEL_OK_METHOD) return answers;
    if (method.id != AMQP_CONNECTION_CLOSE_METHOD) continue;
    answers.code = static_cast<const amqp_connection_close_t*>(method.decoded)->reply_code;
    return answers;
  }
}

std::uint64_t RawConnection::Take(const std::string& queue) {
  const amqp_rpc_reply_t got =
      amqp_basic_get(connection_, kChannel, amqp_cstring_bytes(queue.c_str()), /*no_ack=*/0);
  if (got.reply_type != AMQP_RESPONSE_NORMAL || got.reply.id != AMQP_BASIC_GET_OK_METHOD) {
    throw std::runtime_error("there is no message");
  }
  const std::uint64_t tag =
      static_cast<const amqp_basic_get_ok_t*>(got.reply.decoded)->delivery_tag;
  amqp_message_t message{};
  if (amqp_read_message(connection_, kChannel, &message, 0).reply_type != AMQP_RESPONSE_NORMAL) {
    throw std::runtime_error("the message does not come");
  }
  amqp_destroy_message(&message);
  return tag;
}

void RawConnection::Ack(std::uint64_t tag) { amqp_basic_ack(connection_, 1, tag, /*multiple=*/0); }

void RawConnection::Reject(std::uint64_t tag) {
  amqp_basic_reject(connection_, kChannel, tag, /*requeue=*/1);
}

void RawConnection::Nack(std::uint64_t tag) {
  amqp_basic_nack(connection_, kChannel, tag, /*multiple=*/0, /*requeue=*/1);
}

std::size_t RawConnection::CountReturnsWithoutTheirAck(const std::string& queue,
                                                       std::size_t count) {
  constexpr std::size_t kBurst = 100;
  amqp_confirm_select(connection_, kChannel);
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.delivery_mode = 2;
  std::size_t strays = 0;
  std::uint64_t tag = 0;       // of the last publish; those to no queue are even
  std::uint64_t returned = 0;  // of the last return
  std::set<std::uint64_t> unconfirmed;
  while (tag < 2 * count) {
    for (std::size_t i = 0; i < kBurst; ++i) {
      for (const std::string& key : {queue, std::string("nobody")}) {
        amqp_basic_publish(connection_, kChannel, amqp_empty_bytes, amqp_cstring_bytes(key.c_str()),
                           /*mandatory=*/1, /*immediate=*/0, &properties,
                           amqp_cstring_bytes("body"));
        unconfirmed.insert(++tag);
      }
    }
    bool after_return = false;
    while (!unconfirmed.empty()) {
      const amqp_method_t method = ReadMethod();
      if (method.id == AMQP_BASIC_RETURN_METHOD) {
        if (after_return) ++strays;
        returned += 2;
        after_return = true;
        continue;
      }
      if (method.id != AMQP_BASIC_ACK_METHOD) throw std::runtime_error("a publish was refused");
      const auto& ack = *static_cast<const amqp_basic_ack_t*>(method.decoded);
      if (after_return && (ack.multiple != 0 || ack.delivery_tag != returned)) ++strays;
      after_return = false;
      unconfirmed.erase(
          ack.multiple != 0 ? unconfirmed.begin() : unconfirmed.find(ack.delivery_tag),
          unconfirmed.upper_bound(ack.delivery_tag));
    }
  }
  return strays;
}

amqp_method_t RawConnection::ReadMethod() {
  amqp_maybe_release_buffers(connection_);
  amqp_frame_t frame{};
  do {
    const int status = amqp_simple_wait_frame_noblock(connection_, &frame, &kSocketPatience);
    if (status != AMQP_STATUS_OK) {
      throw std::runtime_error(std::string("no answer: ") + amqp_error_string2(status));
    }
  } while (frame.frame_type != AMQP_FRAME_METHOD);
  return frame.payload.method;
}

int RawConnection::Outcome() {
  // Anything that is answered: a refusal comes in its place.
  amqp_exchange_declare(connection_, kChannel, amqp_cstring_bytes("amq.direct"),
                        amqp_cstring_bytes("direct"), /*passive=*/1, /*durable=*/1,
                        /*auto_delete=*/0, /*internal=*/0, amqp_empty_table);
  return CodeOf(amqp_get_rpc_reply(connection_));
}

int RawConnection::CodeOf(const amqp_rpc_reply_t& reply) {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return 0;
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION) {
    if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD)
      return static_cast<const amqp_channel_close_t*>(reply.reply.decoded)->reply_code;
    if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD)
      return static_cast<const amqp_connection_close_t*>(reply.reply.decoded)->reply_code;
  }
  throw std::runtime_error(std::string("no answer: ") + amqp_error_string2(reply.library_error));
}

}  // namespace retryq::testing
