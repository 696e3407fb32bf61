#ifndef RETRYQ_SRC_AMQP_CODEC_TEXT_FAULTS_H_
#define RETRYQ_SRC_AMQP_CODEC_TEXT_FAULTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "retryq/amqp/connection_options.h"

namespace retryq::amqp {

// Returns what is wrong with the texts of `options`: one clause each, beginning with the field. A
// NUL is refused because it ends a name for C functions: they would look up another host, check
// another name in a certificate, read another file or log another user than the configured one.
std::vector<std::string> TextFaults(const ConnectionOptions& options);

// Whether it is an ASCII control character, including DEL.
bool IsControl(char c);

// Whether the text is an address such as "::1" or "fe80::1%eth0".
bool IsIpv6Address(std::string_view text);

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CODEC_TEXT_FAULTS_H_
