#include "amqp/channel/content_hash.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>

#include "absl/numeric/int128.h"
#include "loop/system_random.h"

namespace retryq {
namespace {

using Keys = std::array<std::uint64_t, 4>;

Keys DrawKeys() {
  SystemRandom random;
  Keys keys;
  for (std::uint64_t& key : keys) key = random.Next();
  return keys;
}

template <std::unsigned_integral T>
std::uint64_t Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// Each bit of the result depends on almost all bits of both arguments.
std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
  const absl::uint128 product = absl::uint128(a) * b;
  return absl::Uint128Low64(product) ^ absl::Uint128High64(product);
}

struct Words {
  std::uint64_t first;
  std::uint64_t last;
};

// Returns the last 16 bytes, or all bytes if there are fewer.
Words LastWords(std::string_view bytes) {
  const char* const begin = bytes.data();
  const std::size_t size = bytes.size();
  const char* const end = begin + size;
  if (size >= 16) return {Load<std::uint64_t>(end - 16), Load<std::uint64_t>(end - 8)};
  if (size >= 8) return {Load<std::uint64_t>(begin), Load<std::uint64_t>(end - 8)};
  if (size >= 4) return {Load<std::uint32_t>(begin), Load<std::uint32_t>(end - 4)};
  if (size == 0) return {0, 0};
  return {Load<std::uint16_t>(std::array{begin[0], begin[size / 2]}.data()),
          Load<std::uint8_t>(end - 1)};
}

}  // namespace

// Like wyhash: 16 bytes per multiplication. There are two chains, because each multiplication waits
// for the one before it in its chain.
std::uint64_t ContentHash(std::string_view bytes, std::uint64_t before) {
  static const Keys keys = DrawKeys();
  std::uint64_t even = keys[0] ^ before;
  std::uint64_t odd = keys[1];
  const auto step = [](const char* at, std::uint64_t key, std::uint64_t chain) {
    return Fold(Load<std::uint64_t>(at) ^ key, Load<std::uint64_t>(at + 8) ^ chain);
  };
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left > 32; at += 32, left -= 32) {
    even = step(at, keys[2], even);
    odd = step(at + 16, keys[3], odd);
  }
  if (left > 16) even = step(at, keys[2], even);
  const Words words = LastWords(bytes);
  // The size is mixed in separately: combined with short words, it would replace some of their
  // bits.
  return Fold(Fold(words.first ^ even, words.last ^ odd) ^ keys[2], bytes.size() ^ keys[3]);
}

}  // namespace retryq
