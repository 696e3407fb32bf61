#ifndef RETRYQ_AMQP_TABLE_WALK_H_
#define RETRYQ_AMQP_TABLE_WALK_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "retryq/amqp/table.h"

namespace retryq::amqp {

// Functions that step through encoded tables and arrays by their lengths. Each `Take…` removes one
// item from the front of `rest`. It returns false if the item does not fit or its type is unknown;
// `rest` must not be used then.

bool TakeField(std::string_view* rest, FieldView* field);
bool TakeValue(std::string_view* rest, char* type, std::string_view* value);

// Whether the type is a table or an array: 'F' and 'A'.
inline bool IsNested(char type) { return type == 'F' || type == 'A'; }

// Returns the part of a value of type S, x, A or F after its length.
inline std::string_view Content(std::string_view value) {
  return value.substr(sizeof(std::uint32_t));
}

// Whether all lengths in a table ('F') or array ('A') with this content are valid, at any depth.
bool NestedLengthsHold(char type, std::string_view content);

// Whether a value is not an infinite number or NaN; for a table or an array, whether that is true
// for all its values at any depth. The lengths must be valid.
bool IsFinite(char type, std::string_view value);

// Returns kInvalidArgument: `field "<name>" <what>`.
absl::Status FieldError(std::string_view name, std::string_view what);

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_TABLE_WALK_H_
