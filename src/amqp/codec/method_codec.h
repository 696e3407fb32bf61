#ifndef RETRYQ_AMQP_METHOD_CODEC_H_
#define RETRYQ_AMQP_METHOD_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "absl/status/statusor.h"
#include "amqp/codec/fields.h"
#include "amqp/codec/frame.h"
#include "amqp/codec/methods.h"
#include "amqp/codec/wire.h"

namespace retryq::amqp {

// Decodes the payload of a method frame. Views in the result point into `payload`. Errors are
// ProtocolErrors: 540 for a method that is not in methods.h, 503 for one that the peer may not
// send, 502 for bytes that do not match their lengths, including those of tables, or are left over.
absl::StatusOr<ServerMethod> DecodeServerMethod(std::string_view payload);

// The same for methods that clients send, for servers in tests.
absl::StatusOr<ClientMethod> DecodeClientMethod(std::string_view payload);

// For frequent methods, which are decoded without comparing all others: whether the payload of a
// method frame is `Method`, and its fields if it is. Errors as above.
template <typename Method>
bool IsMethod(std::string_view payload) {
  constexpr std::uint32_t kNumber =
      std::uint32_t{Method::kId.class_id} << 16 | Method::kId.method_id;
  return payload.size() >= sizeof(kNumber) &&
         LoadBigEndian<std::uint32_t>(payload.data()) == kNumber;
}
template <typename Method>
absl::Status ReadMethod(std::string_view payload, Method* method) {
  payload.remove_prefix(sizeof(std::uint32_t));
  FieldReader reader(payload);
  std::apply([&](auto&... fields) { (reader.Read(fields), ...); }, Method::Fields(*method));
  return reader.Finish(Method::kId.name);
}

// Returns "queue.declare" for (50, 10), as connection.close and channel.close identify the method
// that caused them; "method 50.99" for one that is not in methods.h.
std::string MethodName(std::uint16_t class_id, std::uint16_t method_id);

// Returns the size of the payload of a method frame.
template <typename Method>
std::size_t MethodSize(const Method& method) {
  FieldSizer sizer;
  sizer.Add(std::uint32_t{0});  // class and method
  std::apply([&](const auto&... fields) { (sizer.Add(fields), ...); }, Method::Fields(method));
  return sizer.size();
}

// Writes the payload of a method frame, MethodSize bytes. Short strings must be at most 255 bytes.
template <typename Method>
void WriteMethod(const Method& method, char* out) {
  constexpr method::Id kId = Method::kId;
  FieldWriter writer(out);
  writer.Write(std::uint32_t{kId.class_id} << 16 | kId.method_id);
  std::apply([&](const auto&... fields) { (writer.Write(fields), ...); }, Method::Fields(method));
}

// Appends the payload.
template <typename Method>
void AppendMethod(const Method& method, std::string* out) {
  WriteMethod(method, Extend(MethodSize(method), out));
}

// Appends the payload in its frame.
template <typename Method>
void AppendMethodFrame(std::uint16_t channel, const Method& method, std::string* out) {
  WriteMethod(method, ExtendByFrame(FrameType::kMethod, channel, MethodSize(method), out));
}

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_METHOD_CODEC_H_
