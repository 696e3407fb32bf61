#include "amqp/fields.h"

#include "absl/strings/str_cat.h"
#include "amqp/protocol_error.h"

namespace retryq::amqp {

absl::Status FieldReader::Error(std::string_view what) const {
  std::string text(what);
  if (!wire_.ok()) {
    text += " ends early";
  } else if (!table_status_.ok()) {
    absl::StrAppend(&text, ": ", table_status_.message());
  } else {
    absl::StrAppend(&text, " has bytes left over: ", wire_.rest().size());
  }
  return ProtocolError(ReplyCode::kSyntaxError, text);
}

}  // namespace retryq::amqp
