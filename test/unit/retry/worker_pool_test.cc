#include "retry/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace retryq {
namespace {

TEST(WorkerPool, RunsWhatIsSubmittedInOrderOnAThreadOfItsOwn) {
  std::vector<int> order;
  std::thread::id thread;
  std::promise<void> done;
  WorkerPool pool(1);
  for (int i = 0; i < 100; ++i) pool.Submit([&order, i] { order.push_back(i); });
  pool.Submit([&] {
    thread = std::this_thread::get_id();
    done.set_value();
  });
  done.get_future().wait();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(WorkerPool, RunsAsManyAtATimeAsItHasThreads) {
  constexpr int kThreads = 4;
  std::latch all_running(kThreads);  // none gets through before all are there
  std::latch all_done(kThreads);
  WorkerPool pool(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    pool.Submit([&] {
      all_running.arrive_and_wait();
      all_done.count_down();
    });
  }
  all_done.wait();
}

TEST(WorkerPool, TakesWorkThatCanOnlyBeMoved) {
  std::promise<int> result;
  WorkerPool pool(1);
  pool.Submit([number = std::make_unique<int>(7), &result] { result.set_value(*number); });
  EXPECT_EQ(result.get_future().get(), 7);
}

TEST(WorkerPool, DestroyedItDropsWhatWaitsAndLetsRunningWorkFinish) {
  std::promise<void> started;
  std::promise<void> dropped;
  bool finished = false;
  bool waiting_ran = false;
  const auto tell = [&dropped](int* token) {
    delete token;
    dropped.set_value();
  };

  std::optional<WorkerPool> pool(1);
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

TEST(WorkerPool, WorkIsGoneBeforeTheNextBegins) {
  const auto owned = std::make_shared<int>();
  std::promise<long> owners;
  WorkerPool pool(1);
  pool.Submit([owned] {});
  pool.Submit([&owners, &owned] { owners.set_value(owned.use_count()); });
  EXPECT_EQ(owners.get_future().get(), 1);
}

TEST(WorkerPool, TakesWorkFromManyThreadsAtOnce) {
  constexpr int kSubmitters = 4;
  constexpr int kEach = 250;
  std::latch all_done(kSubmitters * kEach);
  std::atomic<int> ran = 0;
  WorkerPool pool(3);
  std::vector<std::thread> submitters;
  for (int i = 0; i < kSubmitters; ++i) {
    submitters.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) {
        pool.Submit([&] {
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

}  // namespace
}  // namespace retryq
