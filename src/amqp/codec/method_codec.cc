#include "amqp/codec/method_codec.h"

#include <tuple>
#include <type_traits>
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

template <typename... Methods>
absl::Status ReadAny(std::string_view payload, std::variant<Methods...>* any) {
  WireReader reader(payload);
  Id id;
  id.class_id = reader.Integer<std::uint16_t>();
  id.method_id = reader.Integer<std::uint16_t>();
  if (!reader.ok()) {
    return ProtocolError(ReplyCode::kSyntaxError, "it is too short for a method");
  }
  absl::Status read;
  const bool known = ((id == Methods::kId &&
                       (read = ReadMethod(payload, &any->template emplace<Methods>()), true)) ||
                      ...);
  if (known) return read;
  if (FindName(id) != nullptr) {
    return ProtocolError(ReplyCode::kCommandInvalid, "the other side does not send it");
  }
  return ProtocolError(ReplyCode::kNotImplemented, "unknown method");
}

template <typename AnyMethod>
absl::StatusOr<AnyMethod> Decode(std::string_view payload) {
  AnyMethod any;
  if (absl::Status read = ReadAny(payload, &any); !read.ok()) return read;
  return any;
}

}  // namespace

absl::Status FieldReader::Error(std::string_view what, WireReader wire,
                                std::optional<TableView> invalid_table) {
  std::string text(what);
  if (!wire.ok()) {
    text += " ends early";
  } else if (invalid_table) {
    absl::StrAppend(&text, ": ", invalid_table->Validate().message());
  } else {
    absl::StrAppend(&text, " has bytes left over: ", wire.rest().size());
  }
  return ProtocolError(ReplyCode::kSyntaxError, text);
}

absl::StatusOr<ServerMethod> DecodeServerMethod(std::string_view payload) {
  return Decode<ServerMethod>(payload);
}

absl::StatusOr<ClientMethod> DecodeClientMethod(std::string_view payload) {
  return Decode<ClientMethod>(payload);
}

std::string MethodName(std::uint16_t class_id, std::uint16_t method_id) {
  if (const char* name = FindName({class_id, method_id})) return name;
  return absl::StrCat("method ", class_id, ".", method_id);
}

}  // namespace retryq::amqp
