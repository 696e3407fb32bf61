#ifndef RETRYQ_CLI_WORKER_RUNNING_WATCH_H_
#define RETRYQ_CLI_WORKER_RUNNING_WATCH_H_

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace retryq::cli {

// Notices a message that runs much longer than usual: ten times the average of the last messages,
// and at least a second. As long as none has ended, the limit is a minute. Reports each message
// once.
class RunningWatch {
 public:
  // Records the run time of a message that has ended.
  void Ended(absl::Duration took) {
    ended_ = std::min(ended_ + 1, kLately);
    usual_ += (took - usual_) / ended_;
  }

  // Returns a warning about the message that has been running longest, if there is one. Call it
  // from time to time; `now` is since boot.
  std::optional<std::string> Look(absl::Duration now, absl::Duration running) {
    const absl::Duration much =
        ended_ == 0 ? absl::Minutes(1) : std::max(10 * usual_, absl::Seconds(1));
    // The start is computed from the caller's times, which are not exact.
    const bool is_said = now - running <= said_ + absl::Milliseconds(1);
    if (running < much || is_said) return std::nullopt;
    said_ = now - running;
    return absl::StrCat(
        "it has been running for ", Seconds(running), ", ",
        ended_ == 0 ? "and no message has ended so far"
                    : absl::StrCat("more than ten times as long as usual (", Seconds(usual_), ")"),
        "; --timeout ends programs that hang");
  }

  // "1.25s"
  static std::string Seconds(absl::Duration time) {
    return absl::FormatDuration(
        absl::Trunc(time, absl::Milliseconds(time < absl::Seconds(10) ? 1 : 1000)));
  }

 private:
  static constexpr int kLately = 16;

  absl::Duration usual_ = absl::ZeroDuration();
  int ended_ = 0;                                    // up to kLately
  absl::Duration said_ = -absl::InfiniteDuration();  // when the reported message began, since boot
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_RUNNING_WATCH_H_
