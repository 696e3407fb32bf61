#ifndef RETRYQ_CLI_TEXT_HEADERS_JSON_H_
#define RETRYQ_CLI_TEXT_HEADERS_JSON_H_

#include <cstddef>
#include <string>

#include "retryq/delivery.h"

namespace retryq::cli {

// Headers as a JSON object on one line, sorted by name; of equal names only the first.
//
//   integers, float, double     a number; NaN and the infinities as strings
//   decimal                     a string, "12.50"
//   timestamp                   a number, seconds since 1970
//   long string                 a string, invalid UTF-8 replaced by U+FFFD
//   byte array                  a string, base64
//   table, array, bool, void    an object, an array, true or false, null
//
// {"retryq-omitted": "<why>"} replaces a header that nests deeper than amqp::kMaxTableDepth, and
// the whole object if the line would be longer than `max_size`.
std::string HeadersJson(const Headers& headers, std::size_t max_size);

// The value of one header of any type, in the same format.
std::string HeaderJson(const amqp::FieldView& field, std::size_t max_size);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_HEADERS_JSON_H_
