#ifndef RETRYQ_SRC_AMQP_TRANSPORT_RING_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_RING_H_

#include <cstddef>
#include <utility>
#include <vector>

namespace retryq::amqp {

// A queue with random access that keeps its storage: once it has grown to its usual size, it
// allocates no more, unlike std::deque.
template <typename T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  T& operator[](std::size_t i) { return elements_[(head_ + i) & (elements_.size() - 1)]; }
  const T& operator[](std::size_t i) const {
    return elements_[(head_ + i) & (elements_.size() - 1)];
  }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }

  void push_back(T value) { add() = std::move(value); }

  T pop_front() {
    T value = std::exchange(front(), T());
    drop_front();
    return value;
  }

  // For elements that keep their own storage too: returns the new last element, which has the
  // contents of an element that was removed earlier.
  T& add() {
    if (size_ == elements_.size()) Grow();
    return (*this)[size_++];
  }
  void drop_front() {
    head_ = (head_ + 1) & (elements_.size() - 1);
    --size_;
  }

  void clear() {
    while (!empty()) pop_front();
  }

 private:
  void Grow() {
    std::vector<T> larger(elements_.empty() ? 16 : elements_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    elements_ = std::move(larger);
    head_ = 0;
  }

  std::vector<T> elements_;  // their number is a power of two, or zero
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_RING_H_
