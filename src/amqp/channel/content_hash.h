#ifndef RETRYQ_SRC_AMQP_CHANNEL_CONTENT_HASH_H_
#define RETRYQ_SRC_AMQP_CHANNEL_CONTENT_HASH_H_

#include <cstdint>
#include <string_view>

namespace retryq {

// Returns a hash of `bytes` and of the content whose hash is `before`. Two contents that differ,
// even only in where their parts end, have the same hash only by chance: about one in 2^60. Each
// process uses random keys of its own, so nobody can construct contents with the same hash.
std::uint64_t ContentHash(std::string_view bytes, std::uint64_t before = 0);

}  // namespace retryq

#endif  // RETRYQ_SRC_AMQP_CHANNEL_CONTENT_HASH_H_
