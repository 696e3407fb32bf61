#ifndef RETRYQ_AMQP_METHODS_H_
#define RETRYQ_AMQP_METHODS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <variant>

#include "amqp/codec/fields.h"
#include "retryq/amqp/table.h"

// The methods of AMQP 0-9-1 that this client sends or expects, including extensions of RabbitMQ.
// https://www.rabbitmq.com/amqp-0-9-1-reference
//
// Each is a plain struct of views, with its number and its fields in wire order. The type of a
// field determines its encoding (amqp/codec/fields.h). A field that this client does not use is
// reserved. amqp/codec/method_codec.h reads and writes them.
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

// The name of a method as a template argument.
template <std::size_t size>
struct Name {
  // NOLINTNEXTLINE(google-explicit-constructor): a string literal becomes the argument
  consteval Name(const char (&literal)[size]) { std::copy_n(literal, size, text); }
  char text[size] = {};
};

// A method of which no field is used. `Unused` are the types of its fields.
template <std::uint16_t of_class, std::uint16_t number, Name name, typename... Unused>
struct Bare {
  static constexpr Id kId = {of_class, number, name.text};
  static constexpr auto Fields(auto&) { return std::tie(kReserved<Unused>...); }
};

// Methods that differ only in their number.

template <std::uint16_t of_class, std::uint16_t number, Name name>
struct Close {
  static constexpr Id kId = {of_class, number, name.text};
  std::uint16_t reply_code = 0;
  std::string_view reply_text;
  std::uint16_t class_id = 0;   // the method that caused it, or 0
  std::uint16_t method_id = 0;  // likewise
  static constexpr auto Fields(auto& m) {
    return std::tie(m.reply_code, m.reply_text, m.class_id, m.method_id);
  }
};

template <std::uint16_t number, Name name>
struct Tune {
  static constexpr Id kId = {10, number, name.text};
  std::uint16_t channel_max = 0;  // 0: unlimited
  std::uint32_t frame_max = 0;    // 0: unlimited
  std::uint16_t heartbeat = 0;    // seconds; 0: none
  static constexpr auto Fields(auto& m) {
    return std::tie(m.channel_max, m.frame_max, m.heartbeat);
  }
};

template <std::uint16_t number, Name name>
struct Flow {
  static constexpr Id kId = {20, number, name.text};
  bool active = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.active); }
};

template <std::uint16_t number, Name name>
struct RemovedOk {
  static constexpr Id kId = {50, number, name.text};
  std::uint32_t message_count = 0;
  static constexpr auto Fields(auto& m) { return std::tie(m.message_count); }
};

template <std::uint16_t number, Name name>
struct ConsumerOk {
  static constexpr Id kId = {60, number, name.text};
  std::string_view consumer_tag;
  static constexpr auto Fields(auto& m) { return std::tie(m.consumer_tag); }
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

using ConnectionTune = Tune<30, "connection.tune">;
using ConnectionTuneOk = Tune<31, "connection.tune-ok">;

struct ConnectionOpen {
  static constexpr Id kId = {10, 40, "connection.open"};
  std::string_view virtual_host;
  static constexpr auto Fields(auto& m) {
    return std::tie(m.virtual_host, kReserved<std::string_view>, kReserved<bool>);
  }
};

using ConnectionOpenOk = Bare<10, 41, "connection.open-ok", std::string_view>;
using ConnectionClose = Close<10, 50, "connection.close">;
using ConnectionCloseOk = Bare<10, 51, "connection.close-ok">;

struct ConnectionBlocked {
  static constexpr Id kId = {10, 60, "connection.blocked"};
  std::string_view reason;
  static constexpr auto Fields(auto& m) { return std::tie(m.reason); }
};

using ConnectionUnblocked = Bare<10, 61, "connection.unblocked">;

struct ConnectionUpdateSecret {
  static constexpr Id kId = {10, 70, "connection.update-secret"};
  LongString new_secret;
  std::string_view reason;
  static constexpr auto Fields(auto& m) { return std::tie(m.new_secret, m.reason); }
};

using ConnectionUpdateSecretOk = Bare<10, 71, "connection.update-secret-ok">;

// ---- channel

using ChannelOpen = Bare<20, 10, "channel.open", std::string_view>;
using ChannelOpenOk = Bare<20, 11, "channel.open-ok", LongString>;
using ChannelFlow = Flow<20, "channel.flow">;
using ChannelFlowOk = Flow<21, "channel.flow-ok">;
using ChannelClose = Close<20, 40, "channel.close">;
using ChannelCloseOk = Bare<20, 41, "channel.close-ok">;

// ---- exchange

struct ExchangeDeclare {
  static constexpr Id kId = {40, 10, "exchange.declare"};
  std::string_view exchange;
  std::string_view type;
  bool passive = false;
  bool durable = false;
  bool auto_delete = false;
  TableView arguments;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.exchange, m.type, m.passive, m.durable,
                    m.auto_delete, kReserved<bool>, kReserved<bool>, m.arguments);
  }
};

using ExchangeDeclareOk = Bare<40, 11, "exchange.declare-ok">;

struct ExchangeDelete {
  static constexpr Id kId = {40, 20, "exchange.delete"};
  std::string_view exchange;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.exchange, kReserved<bool>, kReserved<bool>);
  }
};

using ExchangeDeleteOk = Bare<40, 21, "exchange.delete-ok">;

// ---- queue

struct QueueDeclare {
  static constexpr Id kId = {50, 10, "queue.declare"};
  std::string_view queue;
  bool passive = false;
  bool durable = false;
  TableView arguments;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, m.passive, m.durable, kReserved<bool>,
                    kReserved<bool>, kReserved<bool>, m.arguments);
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
  TableView arguments;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, m.exchange, m.routing_key, kReserved<bool>,
                    m.arguments);
  }
};

using QueueBindOk = Bare<50, 21, "queue.bind-ok">;

struct QueuePurge {
  static constexpr Id kId = {50, 30, "queue.purge"};
  std::string_view queue;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, kReserved<bool>);
  }
};

using QueuePurgeOk = RemovedOk<31, "queue.purge-ok">;

struct QueueDelete {
  static constexpr Id kId = {50, 40, "queue.delete"};
  std::string_view queue;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, kReserved<bool>, kReserved<bool>,
                    kReserved<bool>);
  }
};

using QueueDeleteOk = RemovedOk<41, "queue.delete-ok">;

// ---- basic

struct BasicQos {
  static constexpr Id kId = {60, 10, "basic.qos"};
  std::uint16_t prefetch_count = 0;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint32_t>, m.prefetch_count, kReserved<bool>);
  }
};

using BasicQosOk = Bare<60, 11, "basic.qos-ok">;

struct BasicConsume {
  static constexpr Id kId = {60, 20, "basic.consume"};
  std::string_view queue;
  std::string_view consumer_tag;
  bool exclusive = false;
  TableView arguments;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.queue, m.consumer_tag, kReserved<bool>,
                    kReserved<bool>, m.exclusive, kReserved<bool>, m.arguments);
  }
};

using BasicConsumeOk = ConsumerOk<21, "basic.consume-ok">;

struct BasicCancel {
  static constexpr Id kId = {60, 30, "basic.cancel"};
  std::string_view consumer_tag;
  bool nowait = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.consumer_tag, m.nowait); }
};

using BasicCancelOk = ConsumerOk<31, "basic.cancel-ok">;

struct BasicPublish {
  static constexpr Id kId = {60, 40, "basic.publish"};
  std::string_view exchange;
  std::string_view routing_key;
  bool mandatory = false;
  static constexpr auto Fields(auto& m) {
    return std::tie(kReserved<std::uint16_t>, m.exchange, m.routing_key, m.mandatory,
                    kReserved<bool>);
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

struct BasicAck {
  static constexpr Id kId = {60, 80, "basic.ack"};
  std::uint64_t delivery_tag = 0;
  bool multiple = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.delivery_tag, m.multiple); }
};

struct BasicNack {
  static constexpr Id kId = {60, 120, "basic.nack"};
  std::uint64_t delivery_tag = 0;
  bool multiple = false;
  bool requeue = false;
  static constexpr auto Fields(auto& m) { return std::tie(m.delivery_tag, m.multiple, m.requeue); }
};

// ---- confirm

using ConfirmSelect = Bare<85, 10, "confirm.select", bool>;
using ConfirmSelectOk = Bare<85, 11, "confirm.select-ok">;

}  // namespace retryq::amqp::method

namespace retryq::amqp {

// Methods that a server sends. Frequent ones come first.
using ServerMethod = std::variant<
    method::BasicDeliver, method::BasicAck, method::BasicReturn, method::BasicNack,
    method::QueueDeclareOk, method::ExchangeDeclareOk, method::QueueBindOk, method::ConnectionStart,
    method::ConnectionTune, method::ConnectionOpenOk, method::ConnectionClose,
    method::ConnectionCloseOk, method::ConnectionBlocked, method::ConnectionUnblocked,
    method::ConnectionUpdateSecretOk, method::ChannelOpenOk, method::ChannelFlow,
    method::ChannelFlowOk, method::ChannelClose, method::ChannelCloseOk, method::ExchangeDeleteOk,
    method::QueuePurgeOk, method::QueueDeleteOk, method::BasicQosOk, method::BasicConsumeOk,
    method::BasicCancel, method::BasicCancelOk, method::ConfirmSelectOk>;

// Methods that a client sends.
using ClientMethod =
    std::variant<method::BasicPublish, method::BasicAck, method::BasicNack, method::QueueDeclare,
                 method::ExchangeDeclare, method::QueueBind, method::ConnectionStartOk,
                 method::ConnectionTuneOk, method::ConnectionOpen, method::ConnectionClose,
                 method::ConnectionCloseOk, method::ConnectionUpdateSecret, method::ChannelOpen,
                 method::ChannelFlow, method::ChannelFlowOk, method::ChannelClose,
                 method::ChannelCloseOk, method::ExchangeDelete, method::QueuePurge,
                 method::QueueDelete, method::BasicQos, method::BasicConsume, method::BasicCancel,
                 method::BasicCancelOk, method::ConfirmSelect>;

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_METHODS_H_
