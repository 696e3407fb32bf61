#ifndef RETRYQ_DURATION_H_
#define RETRYQ_DURATION_H_

#include <chrono>
#include <cstdint>
#include <type_traits>

#include "absl/time/time.h"

namespace retryq {

// A duration in options and parameters: an absl::Duration that a std::chrono::duration converts to.
// A value that is out of range becomes an infinite duration; fractions are kept down to a quarter
// of a nanosecond.
class Duration : public absl::Duration {
 public:
  constexpr Duration() = default;
  // NOLINTBEGIN(google-explicit-constructor)
  constexpr Duration(absl::Duration duration) : absl::Duration(duration) {}
  template <typename Rep, typename Period>
  Duration(std::chrono::duration<Rep, Period> duration)
      : absl::Duration(Count(duration.count()) * absl::Seconds(Period::num) / Period::den) {}
  // NOLINTEND(google-explicit-constructor)

 private:
  static auto Count(auto count) {
    if constexpr (std::is_integral_v<decltype(count)>) {
      return static_cast<std::int64_t>(count);
    } else {
      return static_cast<double>(count);
    }
  }
};

}  // namespace retryq

#endif  // RETRYQ_DURATION_H_
