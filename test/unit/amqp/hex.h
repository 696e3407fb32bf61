#ifndef RETRYQ_TEST_UNIT_AMQP_HEX_H_
#define RETRYQ_TEST_UNIT_AMQP_HEX_H_

#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace retryq::amqp {

// The bytes that hexadecimal digits stand for, spaces aside: FromHex("00 ff").
inline std::string FromHex(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (!absl::ascii_isspace(static_cast<unsigned char>(c))) digits.push_back(c);
  }
  return absl::HexStringToBytes(digits);
}

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_UNIT_AMQP_HEX_H_
