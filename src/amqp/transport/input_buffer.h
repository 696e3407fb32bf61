#ifndef RETRYQ_SRC_AMQP_TRANSPORT_INPUT_BUFFER_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_INPUT_BUFFER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace retryq::amqp {

// What a connection has received and not handled yet, in one run of bytes that is used again:
// however large a message is, all its frames lie in one piece, and nothing is allocated for them.
class InputBuffer {
 public:
  // What is read at a time, where not much is left of the time before.
  static constexpr std::size_t kCapacity = std::size_t{128} << 10;

  std::string_view bytes() const { return {memory_.get() + begin_, end_ - begin_}; }

  // Where to write what comes next: a quarter of kCapacity at least. May move `bytes`.
  std::span<char> Room();
  // So much has been written there.
  void Added(std::size_t size) { end_ += size; }

  // The first of `bytes` are handled.
  void Consumed(std::size_t size);
  // The first of `bytes` are handled, and `front`, which is no longer, stands in their place.
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
