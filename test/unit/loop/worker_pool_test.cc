#include "loop/worker_pool.h"

#include <atomic>
#include <future>
#include <latch>
#include <thread>

#include "support/no_threads.h"
#include "support/test.h"

namespace retryq::worker_pool_test {

TEST(WorkerPool, RunsSubmittedWorkInOrderOnItsThread) {
  std::vector<int> order;
  std::thread::id thread;
  std::promise<void> done;
  const std::unique_ptr<WorkerPool> pool = WorkerPool::Create(1).value();
  for (int i = 0; i < 100; ++i) pool->Submit([&order, i] { order.push_back(i); });
  pool->Submit([&] {
    thread = std::this_thread::get_id();
    done.set_value();
  });
  done.get_future().wait();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(WorkerPool, RunsAsManyTasksAtOnceAsItHasThreads) {
  constexpr int kThreads = 4;
  std::latch all_running(kThreads);  // no thread continues before all have arrived
  std::latch all_done(kThreads);
  const std::unique_ptr<WorkerPool> pool = WorkerPool::Create(kThreads).value();
  for (int i = 0; i < kThreads; ++i) {
    pool->Submit([&] {
      all_running.arrive_and_wait();
      all_done.count_down();
    });
  }
  all_done.wait();
}

TEST(WorkerPool, AcceptsMoveOnlyWork) {
  std::promise<int> result;
  const std::unique_ptr<WorkerPool> pool = WorkerPool::Create(1).value();
  pool->Submit([number = std::make_unique<int>(7), &result] { result.set_value(*number); });
  EXPECT_EQ(result.get_future().get(), 7);
}

TEST(WorkerPool, DropsWaitingWorkAndFinishesRunningWorkWhenDestroyed) {
  std::promise<void> started;
  std::promise<void> dropped;
  bool finished = false;
  bool waiting_ran = false;
  const auto tell = [&dropped](int* token) {
    delete token;
    dropped.set_value();
  };

  std::unique_ptr<WorkerPool> pool = WorkerPool::Create(1).value();
  pool->Submit([&] {
    started.set_value();
    dropped.get_future().wait();
    finished = true;
  });
  pool->Submit([&waiting_ran, token = std::shared_ptr<int>(new int, tell)] { waiting_ran = true; });
  started.get_future().wait();
  pool.reset();
  EXPECT_TRUE(finished);
  EXPECT_FALSE(waiting_ran);
}

TEST(WorkerPool, DestroysWorkBeforeTheNextStarts) {
  const auto owned = std::make_shared<int>();
  std::promise<long> owners;
  const std::unique_ptr<WorkerPool> pool = WorkerPool::Create(1).value();
  pool->Submit([owned] {});
  pool->Submit([&owners, &owned] { owners.set_value(owned.use_count()); });
  EXPECT_EQ(owners.get_future().get(), 1);
}

TEST(WorkerPool, DropsWaitingWorkAndContinues) {
  std::latch begun(1);
  std::latch go_on(1);
  std::promise<void> last;
  const auto owned = std::make_shared<int>(0);
  const std::unique_ptr<WorkerPool> pool = WorkerPool::Create(1).value();
  pool->Submit([&] {
    begun.count_down();
    go_on.wait();
  });
  begun.wait();
  for (int i = 0; i < 10; ++i) pool->Submit([owned] { ++*owned; });
  pool->DropWaiting();
  EXPECT_EQ(owned.use_count(), 1);
  pool->Submit([&] { last.set_value(); });
  go_on.count_down();
  last.get_future().wait();
  EXPECT_EQ(*owned, 0);
}

TEST(WorkerPool, AcceptsWorkFromManyThreadsAtOnce) {
  constexpr int kSubmitters = 4;
  constexpr int kEach = 250;
  std::latch all_done(kSubmitters * kEach);
  std::atomic<int> ran = 0;
  const std::unique_ptr<WorkerPool> pool = WorkerPool::Create(3).value();
  std::vector<std::thread> submitters;
  for (int i = 0; i < kSubmitters; ++i) {
    submitters.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) {
        pool->Submit([&] {
          ++ran;
          all_done.count_down();
        });
      }
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  all_done.wait();
  EXPECT_EQ(ran, kSubmitters * kEach);
}

TEST(WorkerPool, ReportsThatNoThreadCanBeStarted) {
  const testing::NoThreads no_threads;
  const absl::Status status = WorkerPool::Create(2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("cannot create thread 1 of 2"), absl::string_view::npos)
      << status;
}

}  // namespace retryq::worker_pool_test
