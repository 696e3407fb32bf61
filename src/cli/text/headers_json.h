#ifndef RETRYQ_CLI_TEXT_HEADERS_JSON_H_
#define RETRYQ_CLI_TEXT_HEADERS_JSON_H_

#include <cstddef>
#include <string>

#include "retryq/delivery.h"

namespace retryq::cli {

// Headers as one line of JSON, an object sorted by name; the first of equal names counts.
//
//   integers, float, double     a number; NaN and the infinities as strings
//   decimal                     a string, "12.50"
//   timestamp                   a number, seconds since 1970
//   long string                 a string, what is not UTF-8 replaced by U+FFFD
//   byte array                  a string, base64
//   table, array, bool, void    an object, an array, true or false, null
//
// What cannot be shown leaves {"retryq-omitted": "<why>"} in its place: a header that nests deeper
// than amqp::kMaxTableDepth, and all of them where the line would be longer than `max_size`.
std::string HeadersJson(const Headers& headers, std::size_t max_size);

// The value of one header, whichever, in the same way.
std::string HeaderJson(const amqp::FieldView& field, std::size_t max_size);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_HEADERS_JSON_H_
