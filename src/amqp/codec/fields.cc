#include "amqp/codec/fields.h"

#include "absl/strings/str_cat.h"
#include "amqp/codec/protocol_error.h"

namespace retryq::amqp {

absl::Status FieldReader::Error(std::string_view what, WireReader wire, absl::Status table_status) {
  std::string text(what);
  if (!wire.ok()) {
    text += " ends early";
  } else if (!table_status.ok()) {
    absl::StrAppend(&text, ": ", table_status.message());
  } else {
    absl::StrAppend(&text, " has bytes left over: ", wire.rest().size());
  }
  return ProtocolError(ReplyCode::kSyntaxError, text);
}

}  // namespace retryq::amqp
