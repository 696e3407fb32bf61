#ifndef RETRYQ_AMQP_METHODS_H_
#define RETRYQ_AMQP_METHODS_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <variant>

#include "amqp/codec/fields.h"
#include "retryq/amqp/table.h"

// The methods of AMQP 0-9-1 that a client sends or receives, including extensions of RabbitMQ,
// except for access, tx, exchange.bind and basic.recover-async.
// https://www.rabbitmq.com/amqp-0-9-1-reference
//
// Each is a plain struct of views, with its number and its fields in wire order. The type of a
// field determines its encoding (amqp/codec/fields.h). amqp/codec/method_codec.h reads and writes
// them.
namespace retryq::amqp::method {

using amqp::kReserved;
using amqp::LongString;

// Identifies a method. The name is for error messages.
struct Id {
  std::uint16_t class_id = 0;
  std::uint16_t method_id = 0;
  const char* name = "";

  friend constexpr bool operator==(const Id& a, const Id& b) {
    return a.class_id == b.class_id && a.method_id == b.method_id;
  }
};

// ---- connection: on channel 0

struct ConnectionStart {
  static constexpr Id kId = {10, 10, "connection.start"};
  std::uint8_t version_major = 0;
  std::uint8_t version_minor = 9;
  TableView server_properties;
  LongString mechanisms;  // separated by spaces
  LongString locales;     // separated by spaces
  static constexpr auto Fields(auto& m) {
    return std::tie(m.version_major, m.version_minor, m.server_properties, m.mechanisms, m.locales);
  }
};

struct ConnectionStartOk {
  static constexpr Id kId = {10, 11, "connection.start-ok"};
  TableView client_properties;
  std::string_view mechanism;
  LongString response;
  std::string_view locale;
  static constexpr auto Fields(auto& m) {
    return std::tie(m.client_properties, m.mechanism, m.response, m.locale);
  }
};

struct ConnectionSecure {
  static constexpr Id kId = {10, 20, "connection.secure"};
  LongString challenge;
  static constexpr auto Fields(auto& m) { return std::tie(m.challenge); }
};

struct ConnectionSecureOk {
  static constexpr Id kId = {10, 21, "connection.secure-ok"};
  LongString response;
  static constexpr auto Fields(auto& m) { return std::tie(m.response); }
};

struct ConnectionTune {
  static constexpr Id kId = {10, 30, "connection.tune"};
  std::uint16_t channel_max = 0;  // 0: unlimited
  std::uint32_t frame_max = 0;    // 0: unlimited
  std::uint16_t heartbeat = 0;    // seconds; 0: none
  static constexpr auto Fields(auto& m) {
    return std::tie(m.channel_max, m.frame_max, m.heartbeat);
  }
};

struct ConnectionTuneOk {
  static constexpr Id kId = {10, 31, "connection.tune-ok"};
  std::uint16_t channel_max = 0;
  std::uint32_t frame_max = 0;
  std::uint16_t heartbeat = 0;
  static constexpr auto Fields(auto& m) {
    return std::tie(m.channel_max, m.frame_max, m.heartbeat);
  }
};

struct ConnectionOpen {
  static constexpr Id kId = {10, 40, "connection.open"};
  std::string_view virtual_host;
  static constexpr auto Fields(auto& m) {
    return std::tie(m.virtual_host, kReserved<std::string_view>, kReserved<bool>);
  }
};

struct ConnectionOpenOk {
  static constexpr Id kId = {10, 41, "connection.open-ok"};
  static constexpr auto Fields(auto&) { return std::tie(kReserved<std::string_view>); }
};

struct ConnectionClose {
  static constexpr Id kId = {10, 50, "connection.close"};
  std::uint16_t reply_code = 0;
  std::string_view reply_text;
  std::uint16_t class_id = 0;   // the method that caused it, or 0
  std::uint16_t method_id = 0;  // likewise
  static constexpr auto Fields(auto& m) {
    return std::tie(m.reply_code, m.reply_text, m.class_id, m.method_id);
  }
};

struct ConnectionCloseOk {
  static constexpr Id kId = {10, 51, "connection.close-ok"};
};

struct ConnectionBlocked {
  static constexpr Id kId = {10, 60, "connection.blocked"};
  std::string_view reason;
  static constexpr auto Fields(auto& m) { return std::tie(m.reason); }
};

struct ConnectionUnblocked {
  static constexpr Id kId = {10, 61, "connection.unblocked"};
};

struct ConnectionUpdateSecret {
  static constexpr Id kId = {10, 70, "connection.update-secret"};
  LongString new_secret;
  std::string_view reason;
  static constexpr auto Fields(auto& m) { return std::tie(m.new_secret, m.reason); }
};

struct ConnectionUpdateSecretOk {
  static constexpr Id kId = {10, 71, "connection.update-secret-ok"};
};

// ---- channel

struct ChannelOpen {
  static constexpr Id kId = {20, 10, "channel.open"};
  static constexpr auto Fields(auto&) { return std::tie(kReserved<std::string_view>); }
};

struct ChannelOpenOk {
  static constexpr Id kId = {20, 11, "channel.open-ok"};
  static constexpr auto Fields(auto&) { return std::tie(kReserved<LongString>); }
};

struct ChannelFlow {
  static constexpr Id kId = {20, 20, "channel.flow"};
  bool active = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.active); }
};

struct ChannelFlowOk {
  static constexpr Id kId = {20, 21, "channel.flow-ok"};
  bool active = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.active); }
};

struct ChannelClose {
  static constexpr Id kId = {20, 40, "channel.close"};
  std::uint16_t reply_code = 0;
  std::string_view reply_text;
  std::uint16_t class_id = 0;   // the method that caused it, or 0
  std::uint16_t method_id = 0;  // likewise
  static constexpr auto Fields(auto& m) {
    return std::tie(m.reply_code, m.reply_text, m.class_id, m.method_id);
  }
};

struct ChannelCloseOk {
  static constexpr Id kId = {20, 41, "channel.close-ok"};
};

// ---- exchange

struct ExchangeDeclare {
  static constexpr Id kId = {40, 10, "exchange.declare"};
  std::string_view exchange;
  std::string_view type;
  bool passive = false;
  bool durable = false;
  bool auto_delete = false;
  bool internal = false;
  bool nowait = false;
  TableView arguments;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.exchange, m.type, m.passive, m.durable,
                    m.auto_delete, m.internal, m.nowait, m.arguments);
  }
};

struct ExchangeDeclareOk {
  static constexpr Id kId = {40, 11, "exchange.declare-ok"};
};

struct ExchangeDelete {
  static constexpr Id kId = {40, 20, "exchange.delete"};
  std::string_view exchange;
  bool if_unused = false;
  bool nowait = false;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.exchange, m.if_unused, m.nowait);
  }
};

struct ExchangeDeleteOk {
  static constexpr Id kId = {40, 21, "exchange.delete-ok"};
};

// ---- queue

struct QueueDeclare {
  static constexpr Id kId = {50, 10, "queue.declare"};
  std::string_view queue;
  bool passive = false;
  bool durable = false;
  bool exclusive = false;
  bool auto_delete = false;
  bool nowait = false;
  TableView arguments;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, m.passive, m.durable, m.exclusive,
                    m.auto_delete, m.nowait, m.arguments);
  }
};

struct QueueDeclareOk {
  static constexpr Id kId = {50, 11, "queue.declare-ok"};
  std::string_view queue;
  std::uint32_t message_count = 0;
  std::uint32_t consumer_count = 0;
  static constexpr auto Fields(auto& m) {
    return std::tie(m.queue, m.message_count, m.consumer_count);
  }
};

struct QueueBind {
  static constexpr Id kId = {50, 20, "queue.bind"};
  std::string_view queue;
  std::string_view exchange;
  std::string_view routing_key;
  bool nowait = false;
  TableView arguments;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, m.exchange, m.routing_key, m.nowait,
                    m.arguments);
  }
};

struct QueueBindOk {
  static constexpr Id kId = {50, 21, "queue.bind-ok"};
};

struct QueueUnbind {
  static constexpr Id kId = {50, 50, "queue.unbind"};
  std::string_view queue;
  std::string_view exchange;
  std::string_view routing_key;
  TableView arguments;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, m.exchange, m.routing_key, m.arguments);
  }
};

struct QueueUnbindOk {
  static constexpr Id kId = {50, 51, "queue.unbind-ok"};
};

struct QueuePurge {
  static constexpr Id kId = {50, 30, "queue.purge"};
  std::string_view queue;
  bool nowait = false;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, m.nowait);
  }
};

struct QueuePurgeOk {
  static constexpr Id kId = {50, 31, "queue.purge-ok"};
  std::uint32_t message_count = 0;
  static constexpr auto Fields(auto& m) { return std::tie(m.message_count); }
};

struct QueueDelete {
  static constexpr Id kId = {50, 40, "queue.delete"};
  std::string_view queue;
  bool if_unused = false;
  bool if_empty = false;
  bool nowait = false;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, m.if_unused, m.if_empty, m.nowait);
  }
};

struct QueueDeleteOk {
  static constexpr Id kId = {50, 41, "queue.delete-ok"};
  std::uint32_t message_count = 0;
  static constexpr auto Fields(auto& m) { return std::tie(m.message_count); }
};

// ---- basic

struct BasicQos {
  static constexpr Id kId = {60, 10, "basic.qos"};
  std::uint32_t prefetch_size = 0;  // RabbitMQ supports only 0
  std::uint16_t prefetch_count = 0;
  bool global = false;  // RabbitMQ: false = per consumer, true = for all
                        // consumers of the channel
  static constexpr auto Fields(auto& m) {
    return std::tie(m.prefetch_size, m.prefetch_count, m.global);
  }
};

struct BasicQosOk {
  static constexpr Id kId = {60, 11, "basic.qos-ok"};
};

struct BasicConsume {
  static constexpr Id kId = {60, 20, "basic.consume"};
  std::string_view queue;
  std::string_view consumer_tag;
  bool no_local = false;
  bool no_ack = false;
  bool exclusive = false;
  bool nowait = false;
  TableView arguments;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, m.consumer_tag, m.no_local, m.no_ack,
                    m.exclusive, m.nowait, m.arguments);
  }
};

struct BasicConsumeOk {
  static constexpr Id kId = {60, 21, "basic.consume-ok"};
  std::string_view consumer_tag;
  static constexpr auto Fields(auto& m) { return std::tie(m.consumer_tag); }
};

struct BasicCancel {
  static constexpr Id kId = {60, 30, "basic.cancel"};
  std::string_view consumer_tag;
  bool nowait = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.consumer_tag, m.nowait); }
};

struct BasicCancelOk {
  static constexpr Id kId = {60, 31, "basic.cancel-ok"};
  std::string_view consumer_tag;
  static constexpr auto Fields(auto& m) { return std::tie(m.consumer_tag); }
};

struct BasicPublish {
  static constexpr Id kId = {60, 40, "basic.publish"};
  std::string_view exchange;
  std::string_view routing_key;
  bool mandatory = false;
  bool immediate = false;  // RabbitMQ refuses true
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.exchange, m.routing_key, m.mandatory, m.immediate);
  }
};

struct BasicReturn {
  static constexpr Id kId = {60, 50, "basic.return"};
  std::uint16_t reply_code = 0;
  std::string_view reply_text;
  std::string_view exchange;
  std::string_view routing_key;
  static constexpr auto Fields(auto& m) {
    return std::tie(m.reply_code, m.reply_text, m.exchange, m.routing_key);
  }
};

struct BasicDeliver {
  static constexpr Id kId = {60, 60, "basic.deliver"};
  std::string_view consumer_tag;
  std::uint64_t delivery_tag = 0;
  bool redelivered = false;
  std::string_view exchange;
  std::string_view routing_key;
  static constexpr auto Fields(auto& m) {
    return std::tie(m.consumer_tag, m.delivery_tag, m.redelivered, m.exchange, m.routing_key);
  }
};

struct BasicGet {
  static constexpr Id kId = {60, 70, "basic.get"};
  std::string_view queue;
  bool no_ack = false;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, m.no_ack);
  }
};

struct BasicGetOk {
  static constexpr Id kId = {60, 71, "basic.get-ok"};
  std::uint64_t delivery_tag = 0;
  bool redelivered = false;
  std::string_view exchange;
  std::string_view routing_key;
  std::uint32_t message_count = 0;
  static constexpr auto Fields(auto& m) {
    return std::tie(m.delivery_tag, m.redelivered, m.exchange, m.routing_key, m.message_count);
  }
};

struct BasicGetEmpty {
  static constexpr Id kId = {60, 72, "basic.get-empty"};
  static constexpr auto Fields(auto&) { return std::tie(kReserved<std::string_view>); }
};

struct BasicAck {
  static constexpr Id kId = {60, 80, "basic.ack"};
  std::uint64_t delivery_tag = 0;
  bool multiple = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.delivery_tag, m.multiple); }
};

struct BasicReject {
  static constexpr Id kId = {60, 90, "basic.reject"};
  std::uint64_t delivery_tag = 0;
  bool requeue = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.delivery_tag, m.requeue); }
};

struct BasicRecover {
  static constexpr Id kId = {60, 110, "basic.recover"};
  bool requeue = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.requeue); }
};

struct BasicRecoverOk {
  static constexpr Id kId = {60, 111, "basic.recover-ok"};
};

struct BasicNack {
  static constexpr Id kId = {60, 120, "basic.nack"};
  std::uint64_t delivery_tag = 0;
  bool multiple = false;
  bool requeue = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.delivery_tag, m.multiple, m.requeue); }
};

// ---- confirm

struct ConfirmSelect {
  static constexpr Id kId = {85, 10, "confirm.select"};
  bool nowait = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.nowait); }
};

struct ConfirmSelectOk {
  static constexpr Id kId = {85, 11, "confirm.select-ok"};
};

}  // namespace retryq::amqp::method

namespace retryq::amqp {

// Methods that a server sends. Frequent ones come first.
using ServerMethod = std::variant<
    method::BasicDeliver, method::BasicAck, method::BasicReturn, method::BasicNack,
    method::QueueDeclareOk, method::ExchangeDeclareOk, method::QueueBindOk, method::ConnectionStart,
    method::ConnectionSecure, method::ConnectionTune, method::ConnectionOpenOk,
    method::ConnectionClose, method::ConnectionCloseOk, method::ConnectionBlocked,
    method::ConnectionUnblocked, method::ConnectionUpdateSecretOk, method::ChannelOpenOk,
    method::ChannelFlow, method::ChannelFlowOk, method::ChannelClose, method::ChannelCloseOk,
    method::ExchangeDeleteOk, method::QueueUnbindOk, method::QueuePurgeOk, method::QueueDeleteOk,
    method::BasicQosOk, method::BasicConsumeOk, method::BasicCancel, method::BasicCancelOk,
    method::BasicGetOk, method::BasicGetEmpty, method::BasicRecoverOk, method::ConfirmSelectOk>;

// Methods that a client sends.
using ClientMethod = std::variant<
    method::BasicPublish, method::BasicAck, method::BasicReject, method::BasicNack,
    method::QueueDeclare, method::ExchangeDeclare, method::QueueBind, method::ConnectionStartOk,
    method::ConnectionSecureOk, method::ConnectionTuneOk, method::ConnectionOpen,
    method::ConnectionClose, method::ConnectionCloseOk, method::ConnectionUpdateSecret,
    method::ChannelOpen, method::ChannelFlow, method::ChannelFlowOk, method::ChannelClose,
    method::ChannelCloseOk, method::ExchangeDelete, method::QueueUnbind, method::QueuePurge,
    method::QueueDelete, method::BasicQos, method::BasicConsume, method::BasicCancel,
    method::BasicCancelOk, method::BasicGet, method::BasicRecover, method::ConfirmSelect>;

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_METHODS_H_
