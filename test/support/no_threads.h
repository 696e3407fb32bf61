#ifndef RETRYQ_TEST_SUPPORT_NO_THREADS_H_
#define RETRYQ_TEST_SUPPORT_NO_THREADS_H_

#include <pthread.h>

#include <cstddef>

namespace retryq::testing {

// While this object exists, no thread can be created, because each would need a stack larger than
// any address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 60);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_NO_THREADS_H_
