#ifndef RETRYQ_SRC_TESTING_MAIL_H_
#define RETRYQ_SRC_TESTING_MAIL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/time/time.h"
#include "retryq/timers.h"

namespace retryq::testing {

// Calls that nobody takes back: each is made once its time has come, unless the whole is destroyed
// before.
class Mail {
 public:
  // `timers` must outlive it.
  explicit Mail(Timers& timers) : timers_(timers) {}

  void After(absl::Duration delay, std::function<void()> call) {
    const std::uint64_t number = ++last_;
    timers_held_.emplace(number, timers_.After(delay, [this, number, call = std::move(call)] {
      const auto fired = timers_held_.extract(number);  // kept until the call has returned
      call();
    }));
  }

 private:
  Timers& timers_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Timer>> timers_held_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_SRC_TESTING_MAIL_H_
