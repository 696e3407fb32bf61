#ifndef RETRYQ_TEST_UNIT_AMQP_HEX_H_
#define RETRYQ_TEST_UNIT_AMQP_HEX_H_

#include <charconv>

#include "absl/strings/ascii.h"
#include "support/test.h"

namespace retryq::amqp {

// The bytes that hexadecimal digits stand for, spaces aside: FromHex("00 ff").
inline std::string FromHex(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (!absl::ascii_isspace(static_cast<unsigned char>(c))) digits.push_back(c);
  }
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(&digits[i], &digits[i] + 2, byte, 16);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_UNIT_AMQP_HEX_H_
