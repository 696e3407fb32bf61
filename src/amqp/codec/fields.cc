#include "amqp/codec/fields.h"

#include "absl/strings/str_cat.h"
#include "amqp/codec/protocol_error.h"

namespace retryq::amqp {

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

}  // namespace retryq::amqp
