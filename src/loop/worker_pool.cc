#include "loop/worker_pool.h"

#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace retryq {

WorkOrigin& CurrentOrigin() {
  thread_local WorkOrigin origin;
  return origin;
}

absl::StatusOr<std::unique_ptr<WorkerPool>> WorkerPool::Create(int threads) {
  std::unique_ptr<WorkerPool> pool(new WorkerPool);
  std::vector<std::thread>& started = pool->state_->threads;
  try {
    for (int i = 0; i < threads; ++i) {
      started.emplace_back([state = pool->state_.get()] { state->Run(); });
    }
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot create thread ", started.size() + 1, " of ", threads, ": ", error.code().message(),
        "; use fewer threads, or raise the limit of processes (ulimit -u, or that of the "
        "container)"));
  }
  return pool;
}

WorkerPool::~WorkerPool() {
  if (!process_.is_here()) {
    static_cast<void>(state_.release());
    return;
  }
  Finish(absl::InfiniteDuration());
  for (std::thread& thread : state_->threads) thread.join();
}

bool WorkerPool::Finish(absl::Duration patience) {
  std::deque<Work> dropped;  // destroyed after the lock is released
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->stopping = true;
  dropped.swap(state_->waiting);
  lock.unlock();
  state_->changed.notify_all();
  dropped.clear();
  lock.lock();
  const auto is_idle = [this] { return state_->running == 0; };
  if (patience != absl::InfiniteDuration()) {
    return state_->changed.wait_for(lock, absl::ToChronoNanoseconds(patience), is_idle);
  }
  state_->changed.wait(lock, is_idle);
  return true;
}

void WorkerPool::Submit(Work work) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->waiting.push_back(std::move(work));
  }
  state_->changed.notify_one();
}

void WorkerPool::DropWaiting() {
  std::deque<Work> dropped;  // destroyed after the lock is released
  const std::lock_guard<std::mutex> lock(state_->mutex);
  dropped.swap(state_->waiting);
}

void WorkerPool::State::Run() {
  CurrentOrigin() = origin;
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return stopping || !waiting.empty(); });
    if (stopping) return;
    {
      Work work = std::move(waiting.front());
      waiting.pop_front();
      ++running;
      lock.unlock();
      std::move(work)();
    }
    lock.lock();
    --running;
    if (stopping) changed.notify_all();
  }
}

}  // namespace retryq
