#ifndef RETRYQ_SRC_BASE_NAME_SIZE_H_
#define RETRYQ_SRC_BASE_NAME_SIZE_H_

#include <cstddef>

namespace retryq {

// The limit in bytes for everything that is a short string in AMQP 0-9-1: names of queues,
// exchanges, vhosts and headers, routing keys, consumer tags, and properties such as the message
// id.
inline constexpr std::size_t kMaxNameSize = 255;

}  // namespace retryq

#endif  // RETRYQ_SRC_BASE_NAME_SIZE_H_
