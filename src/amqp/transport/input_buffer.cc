#include "amqp/transport/input_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace retryq::amqp {
namespace {

constexpr std::size_t kLeastRoom = InputBuffer::kCapacity / 4;

}  // namespace

std::span<char> InputBuffer::Room() {
  const std::size_t size = end_ - begin_;
  if (capacity_ - size < kLeastRoom) {
    MoveTo(std::max(kCapacity, capacity_ + capacity_ / 2));
  } else if (capacity_ - end_ < kLeastRoom) {
    std::memmove(memory_.get(), memory_.get() + begin_, size);
  } else {
    return {memory_.get() + end_, capacity_ - end_};
  }
  begin_ = 0;
  end_ = size;
  return {memory_.get() + end_, capacity_ - end_};
}

void InputBuffer::Consumed(std::size_t size) {
  begin_ += size;
  if (begin_ < end_) return;
  begin_ = end_ = 0;
  // The buffer has grown for an unusually large header frame.
  if (capacity_ > 4 * kCapacity) {
    memory_.reset();
    capacity_ = 0;
  }
}

void InputBuffer::Replace(std::size_t size, std::string_view front) {
  begin_ += size - front.size();
  front.copy(memory_.get() + begin_, front.size());
}

void InputBuffer::MoveTo(std::size_t capacity) {
  auto larger = std::make_unique_for_overwrite<char[]>(capacity);
  std::copy_n(memory_.get() + begin_, end_ - begin_, larger.get());
  memory_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace retryq::amqp
