#ifndef RETRYQ_SRC_AMQP_TRANSPORT_INPUT_BUFFER_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_INPUT_BUFFER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace retryq::amqp {

// The data that a connection has received and not handled yet, in one contiguous buffer that is
// reused: even the frames of a large message are contiguous, and need no allocations.
class InputBuffer {
 public:
  // The size of a read, if little data is left from the previous one.
  static constexpr std::size_t kCapacity = std::size_t{128} << 10;

  std::string_view bytes() const { return {memory_.get() + begin_, end_ - begin_}; }

  // Returns the space for the next data, at least a quarter of kCapacity. May move `bytes`.
  std::span<char> Room();
  // Call it after `size` bytes were written there.
  void Added(std::size_t size) { end_ += size; }

  // Removes the first `size` bytes.
  void Consumed(std::size_t size);
  // Replaces the first `size` bytes by `front`, which is not longer.
  void Replace(std::size_t size, std::string_view front);

 private:
  void MoveTo(std::size_t capacity);

  std::unique_ptr<char[]> memory_;  // null until the first `Room`
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_INPUT_BUFFER_H_
