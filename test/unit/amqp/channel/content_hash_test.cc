#include "amqp/channel/content_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace retryq {
namespace content_hash_test {

constexpr std::size_t kManyLengths = 130;  // of which each way through the hash has several

std::string Ascending(std::size_t size) {
  std::string bytes(size, '\0');
  std::iota(bytes.begin(), bytes.end(), '\1');
  return bytes;
}

TEST(ContentHash, DoesNotDependOnTheAddressOfTheBytes) {
  for (std::size_t size = 0; size < kManyLengths; ++size) {
    const std::string bytes = Ascending(size);
    const std::string shifted = "x" + bytes + "y";
    EXPECT_EQ(ContentHash(bytes, 5), ContentHash(std::string_view(shifted).substr(1, size), 5));
  }
}

TEST(ContentHash, DependsOnEachBit) {
  for (std::size_t size = 0; size < kManyLengths; ++size) {
    std::string bytes = Ascending(size);
    std::unordered_set<std::uint64_t> seen = {ContentHash(bytes)};
    for (char& byte : bytes) {
      for (int bit = 0; bit < 8; ++bit) {
        byte = static_cast<char>(byte ^ 1 << bit);
        seen.insert(ContentHash(bytes));
        byte = static_cast<char>(byte ^ 1 << bit);
      }
    }
    EXPECT_EQ(seen.size(), 1 + 8 * size) << "of " << size << " bytes";
  }
}

TEST(ContentHash, DependsOnThePartBoundary) {
  const std::string bytes = Ascending(kManyLengths);
  std::unordered_set<std::uint64_t> seen;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::string_view all = bytes;
    seen.insert(ContentHash(all.substr(size), ContentHash(all.substr(0, size))));
  }
  EXPECT_EQ(seen.size(), bytes.size() + 1);
}

// Many that differ in little, as the copies of one consumer do.
TEST(ContentHash, DiffersForAMillionSimilarContents) {
  std::vector<std::uint64_t> hashes;
  std::string bytes(40, 'h');
  for (std::uint32_t number = 0; number < 1'000'000; ++number) {
    for (std::size_t i = 0; i < sizeof(number); ++i) {
      bytes[17 + i] = static_cast<char>(number >> 8 * i);
    }
    hashes.push_back(ContentHash(bytes));
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace content_hash_test
}  // namespace retryq
