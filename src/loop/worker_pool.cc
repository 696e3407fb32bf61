#include "loop/worker_pool.h"

#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace retryq {

absl::StatusOr<std::unique_ptr<WorkerPool>> WorkerPool::Create(int threads) {
  std::unique_ptr<WorkerPool> pool(new WorkerPool);
  try {
    for (int i = 0; i < threads; ++i) {
      pool->threads_.emplace_back([self = pool.get()] { self->Run(); });
    }
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot create thread ", pool->threads_.size() + 1, " of ", threads, ": ",
        error.code().message(),
        "; ask for fewer, or raise the limit of processes (ulimit -u, or that of the container)"));
  }
  return pool;
}

WorkerPool::~WorkerPool() {
  std::deque<Work> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_all();
  dropped.clear();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Submit(Work work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void WorkerPool::DropWaiting() {
  std::deque<Work> dropped;  // destroyed outside of the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  dropped.swap(waiting_);
}

void WorkerPool::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    {
      Work work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      std::move(work)();
    }
    lock.lock();
  }
}

}  // namespace retryq
