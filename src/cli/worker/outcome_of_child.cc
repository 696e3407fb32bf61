#include "cli/worker/outcome_of_child.h"

#include <sysexits.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

// Exit codes of shells.
constexpr int kNotExecutable = 126;
constexpr int kCommandNotFound = 127;

struct LastWords {
  std::string_view error;  // the last line that is none of the following:
  std::optional<absl::Duration> retry_after;
  std::optional<absl::Duration> snooze;
};

// Removes and returns the last line of `text` that is not blank; empty if there is none.
std::string_view TakeLastLine(std::string_view& text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text = text.substr(0, text.find_last_not_of(kBlank) + 1);
  const std::size_t start = text.find_last_of("\r\n") + 1;
  std::string_view line = text.substr(start);
  text.remove_suffix(line.size());
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  return line;
}

LastWords LastWordsOf(std::string_view errors) {
  const std::string_view last = TakeLastLine(errors);
  if (const std::optional<absl::Duration> delay = ParseDelayLine("retry-after", last)) {
    return {.error = TakeLastLine(errors), .retry_after = delay};
  }
  if (const std::optional<absl::Duration> delay = ParseDelayLine("snooze", last)) {
    return {.error = TakeLastLine(errors), .snooze = delay};
  }
  return {.error = last};
}

std::string SignalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

std::string DescribeEndAlone(const ChildResult& result, absl::Duration timeout) {
  switch (result.end) {
    case ChildResult::End::kExited:
      return "exit " + std::to_string(result.code);
    case ChildResult::End::kSignaled:
      return "killed by " + SignalName(result.code);
    case ChildResult::End::kTimedOut:
      return "timed out after " + DurationText(timeout);
    case ChildResult::End::kCancelled:
      return "ended with the worker";
    case ChildResult::End::kNotStarted:
      return "cannot be started: " + std::generic_category().message(result.code);
  }
  return "";
}

}  // namespace

std::string DescribeEnd(const ChildResult& result, absl::Duration timeout) {
  const std::string_view error = LastWordsOf(result.errors).error;
  std::string description = DescribeEndAlone(result, timeout);
  if (!error.empty()) description.append(": ").append(error);
  return description;
}

Outcome OutcomeOf(const ChildResult& result, absl::Duration timeout) {
  if (result.end == ChildResult::End::kCancelled) return Outcome::Requeue();
  const bool exited = result.end == ChildResult::End::kExited;
  if (exited && result.code == EX_OK) return Outcome::Ok();
  const absl::Status error = absl::UnknownError(DescribeEnd(result, timeout));
  if (exited && result.code == EX_DATAERR) return Outcome::Park(error);
  const LastWords last = LastWordsOf(result.errors);
  // A command that did not exit by itself did not decide to snooze.
  if (exited && last.snooze) return Outcome::Snooze(*last.snooze, std::string(last.error));
  return last.retry_after ? Outcome::RetryAfter(*last.retry_after, error) : Outcome(error);
}

std::optional<std::string> WhyNotRun(const ChildResult& result) {
  const bool exited = result.end == ChildResult::End::kExited;
  const bool by_shell =
      exited && (result.code == kNotExecutable || result.code == kCommandNotFound);
  if (!by_shell && result.end != ChildResult::End::kNotStarted) return std::nullopt;
  return DescribeEnd(result, absl::ZeroDuration());
}

}  // namespace retryq::cli
