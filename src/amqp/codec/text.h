#ifndef RETRYQ_SRC_AMQP_CODEC_TEXT_H_
#define RETRYQ_SRC_AMQP_CODEC_TEXT_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace retryq::amqp {

// Converts for Abseil's functions, whose string_view is a different type on some platforms.
inline absl::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CODEC_TEXT_H_
