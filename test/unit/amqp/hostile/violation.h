#ifndef RETRYQ_TEST_UNIT_AMQP_HOSTILE_VIOLATION_H_
#define RETRYQ_TEST_UNIT_AMQP_HOSTILE_VIOLATION_H_

#include <ostream>

#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "amqp/codec/properties_codec.h"
#include "support/standard.h"
#include "unit/amqp/hex.h"

namespace retryq::amqp::hostile {

// How far the client has come when it happens. Its channel is number 1 and in confirm mode, its
// consumer is called "me".
enum class When {
  kInsteadOfStart,
  kInsteadOfTune,
  kInsteadOfOpenOk,
  kConnectionIsOpen,
  kChannelIsOpening,
  kChannelIsOpen,
  kDeclaring,   // a queue.declare waits for its answer
  kPublishing,  // messages 1 and 2, with the keys "a" and "b", are unconfirmed
  kConsuming,
  kAmidContent,       // 4 of 10 bytes of delivery 1 have come
  kChannelIsClosing,  // the client has sent channel.close, and was consuming
  kConnectionCloses,  // the client has sent connection.close
};

// What a client makes of it.
enum class Verdict {
  kHangsUp,           // without a word
  kClosesConnection,  // with `code`
  kClosesChannel,     // with `code`; the connection stays
  kTolerates,         // nothing ends
};

// What a server does that it must not do, or that a client might be upset by.
struct Violation {
  std::string name;  // reads as a sentence behind "a server that"
  When when = When::kConnectionIsOpen;
  std::string bytes = {};  // what it says
  Verdict verdict = Verdict::kClosesConnection;
  std::uint16_t code = 0;

  // What the client's error must contain, in whole the text for the server too. Where it
  // tolerates: what it must answer, if anything, as FakeServer puts it down.
  std::string names = {};

  // Called again and again for what it says behind `bytes`, with 0, 1, 2 ….
  std::function<std::string(std::uint64_t)> flood = nullptr;
  bool hangs_up = false;
  bool stops_reading = false;
};

inline std::ostream& operator<<(std::ostream& out, const Violation& violation) {
  return out << violation.name;
}

// ---- Bytes

// A frame, with a payload that need not make sense.
inline std::string Frame(std::uint8_t type, std::uint16_t channel, std::string_view payload) {
  std::string bytes;
  AppendFrame(FrameType{type}, channel, payload, &bytes);
  return bytes;
}
inline std::string MethodFrame(std::uint16_t channel, std::string_view payload) {
  return Frame(1, channel, payload);
}
inline std::string HeaderFrame(std::uint16_t channel, std::string_view payload) {
  return Frame(2, channel, payload);
}
inline std::string BodyFrame(std::uint16_t channel, std::string_view payload) {
  return Frame(3, channel, payload);
}

// The first bytes of a frame that says to be so long.
inline std::string FrameHead(std::uint8_t type, std::uint16_t channel, std::uint32_t size) {
  std::string bytes;
  AppendFrameHead(FrameType{type}, channel, size, &bytes);
  return bytes;
}

template <typename Method>
std::string Payload(const Method& method) {
  std::string payload;
  AppendMethod(method, &payload);
  return payload;
}

// A method as it should be; and one whose last byte is missing, or one too many.
template <typename Method>
std::string Say(std::uint16_t channel, const Method& method) {
  return MethodFrame(channel, Payload(method));
}
template <typename Method>
std::string SayCutShort(std::uint16_t channel, const Method& method) {
  std::string payload = Payload(method);
  payload.pop_back();
  return MethodFrame(channel, payload);
}
template <typename Method>
std::string SayTooMuch(std::uint16_t channel, const Method& method) {
  return MethodFrame(channel, Payload(method) + "x");
}

// basic.deliver to the consumer "me".
inline std::string Deliver(std::uint64_t tag, std::uint16_t channel = 1) {
  return Say(channel, method::BasicDeliver{.consumer_tag = "me", .delivery_tag = tag});
}
inline std::string Header(std::uint64_t body_size, const Properties& properties = {}) {
  std::string bytes;
  AppendContentHeaderFrame(1, body_size, properties, &bytes);
  return bytes;
}
// A delivery with all that belongs to it.
inline std::string WholeDelivery(std::uint64_t tag, std::string_view body = "body") {
  return Deliver(tag) + Header(body.size()) + BodyFrame(1, body);
}

// A flood of the same.
inline std::function<std::string(std::uint64_t)> Ever(std::string bytes) {
  return [bytes = std::move(bytes)](std::uint64_t) { return bytes; };
}

inline std::string Repeat(int times, std::string_view text) {
  if (times <= 0) return "";
  std::string all = Repeat(times / 2, text);
  all += all;
  if (times % 2 != 0) all += text;
  return all;
}

}  // namespace retryq::amqp::hostile

#endif  // RETRYQ_TEST_UNIT_AMQP_HOSTILE_VIOLATION_H_
