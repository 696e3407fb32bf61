#include "amqp/codec/method_codec.h"

#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "amqp/codec/protocol_error.h"

namespace retryq::amqp {
namespace {

using method::Id;

template <typename... Methods>
const char* FindName(Id id, std::type_identity<std::variant<Methods...>>) {
  const char* name = nullptr;
  static_cast<void>(((id == Methods::kId && (name = Methods::kId.name)) || ...));
  return name;
}

const char* FindName(Id id) {
  const char* name = FindName(id, std::type_identity<ServerMethod>());
  return name != nullptr ? name : FindName(id, std::type_identity<ClientMethod>());
}

template <typename Method, typename AnyMethod>
void ReadInto(std::string_view payload, absl::StatusOr<AnyMethod>* result) {
  Method method;
  if (absl::Status status = ReadMethod(payload, &method); status.ok()) {
    *result = method;
  } else {
    *result = std::move(status);
  }
}

template <typename... Methods>
void ReadAny(std::string_view payload, absl::StatusOr<std::variant<Methods...>>* result) {
  WireReader reader(payload);
  Id id;
  id.class_id = reader.Integer<std::uint16_t>();
  id.method_id = reader.Integer<std::uint16_t>();
  if (!reader.ok()) {
    *result = ProtocolError(ReplyCode::kSyntaxError, "it ends before the method's number");
    return;
  }
  const bool known = ((id == Methods::kId && (ReadInto<Methods>(payload, result), true)) || ...);
  if (known) return;
  if (FindName(id) != nullptr) {
    *result = ProtocolError(ReplyCode::kCommandInvalid, "the other side does not send it");
  } else {
    *result = ProtocolError(ReplyCode::kNotImplemented, "there is no such method here");
  }
}

}  // namespace

absl::StatusOr<ServerMethod> DecodeServerMethod(std::string_view payload) {
  absl::StatusOr<ServerMethod> result;
  ReadAny(payload, &result);
  return result;
}

absl::StatusOr<ClientMethod> DecodeClientMethod(std::string_view payload) {
  absl::StatusOr<ClientMethod> result;
  ReadAny(payload, &result);
  return result;
}

std::string MethodName(std::uint16_t class_id, std::uint16_t method_id) {
  if (const char* name = FindName({class_id, method_id})) return name;
  return absl::StrCat("method ", class_id, ".", method_id);
}

}  // namespace retryq::amqp
