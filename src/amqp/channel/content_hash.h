#ifndef RETRYQ_SRC_AMQP_CHANNEL_CONTENT_HASH_H_
#define RETRYQ_SRC_AMQP_CHANNEL_CONTENT_HASH_H_

#include <cstdint>
#include <string_view>

namespace retryq {

// A hash of `bytes`, and of what `before` is the hash of: two contents that differ, in where one
// part ends and the next begins as well, have the same one by chance only, one in 2^60 or so. Each
// process hashes with keys of its own, drawn at random, so that nobody can make contents of which
// he knows that they have the same.
std::uint64_t ContentHash(std::string_view bytes, std::uint64_t before = 0);

}  // namespace retryq

#endif  // RETRYQ_SRC_AMQP_CHANNEL_CONTENT_HASH_H_
