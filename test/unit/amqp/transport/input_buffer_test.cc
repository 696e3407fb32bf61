#include "amqp/transport/input_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace retryq::amqp {
namespace input_buffer_test {

void Add(InputBuffer& buffer, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::span<char> room = buffer.Room();
    const std::string_view part = bytes.substr(0, room.size());
    std::copy(part.begin(), part.end(), room.begin());
    buffer.Added(part.size());
    bytes.remove_prefix(part.size());
  }
}

std::string Pattern(std::size_t size) {
  std::string bytes(size, '.');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i % 251);
  return bytes;
}

TEST(InputBuffer, ReusesItsMemory) {
  InputBuffer buffer;
  const char* const memory = buffer.Room().data();
  for (int round = 0; round < 100; ++round) {
    Add(buffer, Pattern(InputBuffer::kCapacity / 2));
    buffer.Consumed(InputBuffer::kCapacity / 2);
  }
  EXPECT_EQ(buffer.Room().data(), memory);
}

TEST(InputBuffer, GrowsForLargerInput) {
  InputBuffer buffer;
  const std::string bytes = Pattern(3 * InputBuffer::kCapacity + 7);
  Add(buffer, bytes);
  EXPECT_EQ(buffer.bytes(), bytes);
  buffer.Consumed(5);
  Add(buffer, "end");
  EXPECT_EQ(buffer.bytes(), bytes.substr(5) + "end");
}

TEST(InputBuffer, ReleasesMemoryThatIsRarelyNeeded) {
  InputBuffer buffer;
  const std::size_t size = 100 * InputBuffer::kCapacity;
  Add(buffer, Pattern(size));
  buffer.Consumed(size);
  EXPECT_EQ(buffer.Room().size(), InputBuffer::kCapacity);
}

}  // namespace input_buffer_test
}  // namespace retryq::amqp
