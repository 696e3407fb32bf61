#ifndef RETRYQ_TEST_SUPPORT_MAKE_MESSAGE_H_
#define RETRYQ_TEST_SUPPORT_MAKE_MESSAGE_H_

#include "amqp/codec/properties_codec.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/table.h"
#include "retryq/delivery.h"
#include "support/test.h"

namespace retryq::testing {

// The parts of a message; all are optional.
struct MessageParts {
  std::string_view exchange = "shop";
  std::string_view routing_key = "order.placed";
  std::string_view body = "body";
  amqp::Properties properties = {};
  std::optional<amqp::Table> headers = std::nullopt;  // instead of properties.headers
  amqp::DeliveryTag delivery_tag = {};
  bool redelivered = false;
};

// Returns the message as the broker would deliver it: encoded and decoded again.
inline std::shared_ptr<amqp::Message> MakeMessage(const MessageParts& parts = {}) {
  auto message = std::make_shared<amqp::Message>();
  amqp::Properties properties = parts.properties;
  const std::string headers = parts.headers ? parts.headers->Encode().value() : std::string();
  if (parts.headers) properties.headers = amqp::TableView(headers);

  std::string header;
  amqp::AppendContentHeader(parts.body.size(), properties, &header);
  message->SetHead(parts.exchange, parts.routing_key, header);
  message->properties = amqp::DecodeContentHeader(message->header).value().properties;
  message->content = parts.body;
  message->body = message->content;
  message->delivery_tag = parts.delivery_tag;
  message->redelivered = parts.redelivered;
  return message;
}

// Returns these headers as in a worker's copy: with all headers that a copy always has.
inline amqp::Table Copied(amqp::Table headers) {
  const amqp::Table always = {{"x-retry-count", std::int64_t{0}},
                              {"x-retry-queue", "orders"},
                              {"x-retry-exchange", ""},
                              {"x-retry-routing-key", "orders"},
                              {"x-retry-id", "r-1"}};
  for (const auto& [name, value] : always.fields()) {
    if (headers.Find(name) == nullptr) headers.Set(name, value);
  }
  return headers;
}

// Headers with these bytes, valid or not.
inline std::shared_ptr<amqp::Message> MakeMessageWithHeaderBytes(std::string_view bytes) {
  auto message = std::make_shared<amqp::Message>();
  message->SetHead("", "", bytes);
  message->properties.headers = amqp::TableView(message->header);
  return message;
}

// The bytes of nested tables with this number of levels.
inline std::string NestedTableBytes(int levels) {
  std::string bytes;
  for (int level = 1; level < levels; ++level) {
    std::string outer = "\x01tF";  // a field named t
    for (int shift = 24; shift >= 0; shift -= 8) {
      outer.push_back(static_cast<char>(bytes.size() >> shift & 0xff));
    }
    bytes = outer.append(bytes);
  }
  return bytes;
}

}  // namespace retryq::testing

namespace retryq {
using testing::MakeMessage;
using testing::MakeMessageWithHeaderBytes;
using testing::NestedTableBytes;
}  // namespace retryq

#endif  // RETRYQ_TEST_SUPPORT_MAKE_MESSAGE_H_
