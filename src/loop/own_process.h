#ifndef RETRYQ_SRC_LOOP_OWN_PROCESS_H_
#define RETRYQ_SRC_LOOP_OWN_PROCESS_H_

#include <pthread.h>

#include <atomic>

namespace retryq {

// A member of objects that must do nothing in a forked child. The child shares epoll sets and
// sockets with the parent, does not have the parent's threads, and may have locks that are never
// released. A child that calls exit() runs the destructors of all static objects.
class OwnProcess {
 public:
  // Whether the object was made in this process.
  bool is_here() const { return forks_ == Forks().load(std::memory_order_relaxed); }

 private:
  static std::atomic<unsigned>& Forks() {
    static std::atomic<unsigned> forks = 0;
    [[maybe_unused]] static const int registered =
        pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
    return forks;
  }

  unsigned forks_ = Forks().load(std::memory_order_relaxed);  // before it was made
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_OWN_PROCESS_H_
