#ifndef RETRYQ_SRC_AMQP_CODEC_FAULTY_FRAME_H_
#define RETRYQ_SRC_AMQP_CODEC_FAULTY_FRAME_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace retryq::amqp {

// The frame that broke the protocol.
struct FaultyFrame {
  std::string name;  // "method frame basic.deliver on channel 3"
  std::uint16_t channel = 0;
  std::uint16_t class_id = 0;   // of a method frame, else 0
  std::uint16_t method_id = 0;  // of a method frame, else 0
};

// Describes the frame that begins with `bytes`, which may be any bytes, as far as possible.
FaultyFrame DescribeFrame(std::string_view bytes);

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CODEC_FAULTY_FRAME_H_
