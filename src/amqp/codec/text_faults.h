#ifndef RETRYQ_SRC_AMQP_CODEC_TEXT_FAULTS_H_
#define RETRYQ_SRC_AMQP_CODEC_TEXT_FAULTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "retryq/amqp/connection_options.h"

namespace retryq::amqp {

// What is wrong with the texts of `options`, a clause each that begins with the field. C functions
// end a name at its first NUL, so that another host is looked up, another name looked for in a
// certificate, or another file read, than the one that is written there; a log shows another user.
std::vector<std::string> TextFaults(const ConnectionOptions& options);

// Control characters of ASCII, DEL among them.
bool IsControl(char c);

// "::1", "fe80::1%eth0".
bool IsIpv6Address(std::string_view text);

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CODEC_TEXT_FAULTS_H_
