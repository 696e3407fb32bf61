#ifndef RETRYQ_AMQP_TABLE_WALK_H_
#define RETRYQ_AMQP_TABLE_WALK_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "retryq/amqp/table.h"

namespace retryq::amqp {

// Stepping through encoded tables and arrays by their lengths. Each `Take…` takes one thing off
// the front of `rest`, or answers false where it does not fit or its type is unknown; `rest` is
// then of no more use.

bool TakeField(std::string_view* rest, FieldView* field);
bool TakeValue(std::string_view* rest, char* type, std::string_view* value);

// Tables and arrays: 'F' and 'A'.
inline bool IsNested(char type) { return type == 'F' || type == 'A'; }

// What follows the length in front of a value of type S, x, A or F.
inline std::string_view Content(std::string_view value) {
  return value.substr(sizeof(std::uint32_t));
}

// Whether all lengths hold inside a table ('F') or array ('A') with this content, at any depth.
bool NestedLengthsHold(char type, std::string_view content);

// Whether a value is a finite number, or none; of a table or an array, all that it holds at any
// depth. The lengths must hold.
bool IsFinite(char type, std::string_view value);

// kInvalidArgument: `field "<name>" <what>`.
absl::Status FieldError(std::string_view name, std::string_view what);

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_TABLE_WALK_H_
