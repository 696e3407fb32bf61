#include "cli/text/waiting.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/text/escaped_text.h"
#include "cli/text/io.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kFirstReport = absl::Seconds(2);
constexpr absl::Duration kReportEvery = absl::Seconds(10);

}  // namespace

Waiting::Waiting(Timers& timers, std::string what, Say say)
    : timers_(timers), what_(std::move(what)), say_(std::move(say)) {
  SayAfter(kFirstReport);
}

void Waiting::SayAfter(absl::Duration pause) {
  timer_ = timers_.After(pause, [this] {
    const std::unique_ptr<Timer> fired = std::move(timer_);
    say_(absl::StrCat("waiting for ", what_, ": ", EscapedText(why_)));
    SayAfter(kReportEvery);
  });
}

void Waiting::OnStderr(const std::string& text) {
  WriteAll(STDERR_FILENO, absl::StrCat("retryq: ", text, "\n"));
}

}  // namespace retryq::cli
