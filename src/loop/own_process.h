#ifndef RETRYQ_SRC_LOOP_OWN_PROCESS_H_
#define RETRYQ_SRC_LOOP_OWN_PROCESS_H_

#include <pthread.h>

#include <atomic>

namespace retryq {

// Held by objects that must do nothing in a forked child: epoll sets and sockets are the parent's
// too, its threads are not there, and its locks may be held for ever. A child that calls exit()
// runs the destructors of all static objects.
class OwnProcess {
 public:
  // Whether this is the process in which it was made.
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
