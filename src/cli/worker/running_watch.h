#ifndef RETRYQ_CLI_WORKER_RUNNING_WATCH_H_
#define RETRYQ_CLI_WORKER_RUNNING_WATCH_H_

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace retryq::cli {

// Notices a message that a program is at for much longer than usual: ten times the average of those
// that ended lately, and a second at least; a minute as long as none has ended. Each once.
class RunningWatch {
 public:
  // Of a message that has ended.
  void Ended(absl::Duration took) {
    ended_ = std::min(ended_ + 1, kLately);
    usual_ += (took - usual_) / ended_;
  }

  // To be asked now and then (`now` is since boot) about the message that is running for longest.
  // What there is to say about it.
  std::optional<std::string> Look(absl::Duration now, absl::Duration running) {
    const absl::Duration much =
        ended_ == 0 ? absl::Minutes(1) : std::max(10 * usual_, absl::Seconds(1));
    // Its begin is known as exactly as anybody is asked.
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
  absl::Duration said_ = -absl::InfiniteDuration();  // when that one was begun, since boot
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_RUNNING_WATCH_H_
