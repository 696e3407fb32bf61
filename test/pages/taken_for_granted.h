// The names that the programs in the pages use without declaring them, because readers have them in
// their own programs.

#ifndef RETRYQ_TEST_PAGES_TAKEN_FOR_GRANTED_H_
#define RETRYQ_TEST_PAGES_TAKEN_FOR_GRANTED_H_

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "retryq/coroutine.h"
#include "retryq/retryq.h"
#include "retryq/testing/delivery.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"

struct Pool {
  template <typename Job>
  void Run(Job job) {
    job();
  }
};

struct Tokens {
  std::string text;
  absl::Time end;
};

// Another event loop, whose thread runs posted work.
struct OtherLoop {
  template <typename Work>
  void Post(Work work) {
    work();
  }
};
inline OtherLoop other_loop;

using Done = std::function<void(const absl::Status&)>;

#define TAKEN_FOR_GRANTED                                                                     \
  [[maybe_unused]] retryq::EventLoop &loop, [[maybe_unused]] retryq::Client &client,          \
      [[maybe_unused]] const retryq::Delivery &delivery,                                      \
      [[maybe_unused]] const std::function<retryq::Outcome(const retryq::Delivery&)>&handler, \
      [[maybe_unused]] const Done &done, [[maybe_unused]] const Done &fatal,                  \
      [[maybe_unused]] std::string &body, [[maybe_unused]] absl::Time noon,                   \
      [[maybe_unused]] Pool &pool, [[maybe_unused]] Tokens &tokens,                           \
      [[maybe_unused]] const std::shared_ptr<retryq::Executor>&threads

int Fail(const absl::Status& status);
absl::Status Charge(const retryq::Delivery& order);

#endif  // RETRYQ_TEST_PAGES_TAKEN_FOR_GRANTED_H_
