#include "cli/worker/outcome_of_child.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace retryq::cli {
namespace outcome_of_child_test {

using End = ChildResult::End;
using Kind = Outcome::Kind;

Outcome OutcomeOf(const ChildResult& result) { return OutcomeOf(result, absl::Seconds(30)); }

std::string ErrorOf(const ChildResult& result) {
  return std::string(OutcomeOf(result).status().message());
}

TEST(OutcomeOf, ExitZeroIsOkWhateverWasSaid) {
  const Outcome outcome = OutcomeOf({.end = End::kExited, .errors = "warning\nretry-after: 1s\n"});
  EXPECT_EQ(outcome.kind(), Kind::kByStatus);
  EXPECT_TRUE(outcome.status().ok());
}

TEST(OutcomeOf, Exit65Parks) {
  const Outcome outcome = OutcomeOf({.end = End::kExited, .code = 65, .errors = "no JSON\n"});
  EXPECT_EQ(outcome.kind(), Kind::kPark);
  EXPECT_EQ(outcome.status().message(), "exit 65: no JSON");
}

TEST(OutcomeOf, AnyOtherEndIsAFailureToRetry) {
  for (const ChildResult& result :
       {ChildResult{.end = End::kExited, .code = 1}, ChildResult{.end = End::kExited, .code = 255},
        ChildResult{.end = End::kSignaled, .code = SIGTERM}, ChildResult{.end = End::kTimedOut}}) {
    const Outcome outcome = OutcomeOf(result);
    EXPECT_EQ(outcome.kind(), Kind::kByStatus);
    // Of the codes that the library does not take for permanent.
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kUnknown);
  }
}

TEST(OutcomeOf, TheErrorIsTheEndAndTheLastLine) {
  EXPECT_EQ(ErrorOf({.end = End::kExited, .code = 3, .errors = "first\nlast\n\n"}), "exit 3: last");
  EXPECT_EQ(ErrorOf({.end = End::kExited, .code = 3, .errors = "  no line break  "}),
            "exit 3: no line break");
  EXPECT_EQ(ErrorOf({.end = End::kExited, .code = 3, .errors = "dos\r\n"}), "exit 3: dos");
  EXPECT_EQ(ErrorOf({.end = End::kExited, .code = 3}), "exit 3");
  EXPECT_EQ(ErrorOf({.end = End::kSignaled, .code = SIGSEGV}), "killed by SIGSEGV");
  EXPECT_EQ(ErrorOf({.end = End::kSignaled, .code = SIGKILL, .errors = "oh"}),
            "killed by SIGKILL: oh");
  EXPECT_EQ(ErrorOf({.end = End::kTimedOut, .errors = "busy\n"}), "timed out after 30s: busy");
}

TEST(OutcomeOf, ALastLineSetsTheDelay) {
  const Outcome outcome =
      OutcomeOf({.end = End::kExited, .code = 75, .errors = "too busy\nretry-after: 30s\n"});
  EXPECT_EQ(outcome.kind(), Kind::kRetryAfter);
  EXPECT_EQ(outcome.delay(), absl::Seconds(30));
  EXPECT_EQ(outcome.status().message(), "exit 75: too busy");
}

TEST(OutcomeOf, OnlyTheLastLineSetsTheDelay) {
  const Outcome outcome =
      OutcomeOf({.end = End::kExited, .code = 75, .errors = "retry-after: 30s\ngone\n"});
  EXPECT_EQ(outcome.kind(), Kind::kByStatus);
  EXPECT_EQ(outcome.status().message(), "exit 75: gone");
}

TEST(OutcomeOf, ADelayDoesNotKeepFromParking) {
  EXPECT_EQ(OutcomeOf({.end = End::kExited, .code = 65, .errors = "retry-after: 30s"}).kind(),
            Kind::kPark);
}

TEST(OutcomeOf, ALastLineSnoozes) {
  const Outcome outcome =
      OutcomeOf({.end = End::kExited, .code = 75, .errors = "closed at night\nsnooze: 8h\n"});
  EXPECT_EQ(outcome.kind(), Kind::kSnooze);
  EXPECT_EQ(outcome.delay(), absl::Hours(8));
  EXPECT_EQ(outcome.status().message(), "closed at night");
}

TEST(OutcomeOf, OnlyAProgramThatHasExitedSnoozes) {
  for (const ChildResult::End end : {End::kSignaled, End::kTimedOut}) {
    const Outcome outcome = OutcomeOf({.end = end, .code = SIGTERM, .errors = "snooze: 30s\n"});
    EXPECT_EQ(outcome.kind(), Kind::kByStatus);
    EXPECT_FALSE(outcome.status().ok());
  }
  EXPECT_TRUE(OutcomeOf({.end = End::kExited, .errors = "snooze: 30s\n"}).status().ok());
  EXPECT_EQ(OutcomeOf({.end = End::kExited, .code = 65, .errors = "snooze: 30s\n"}).kind(),
            Kind::kPark);
}

TEST(WhyNotRun, IsForWhatNeverCameToHandlingTheMessage) {
  EXPECT_EQ(WhyNotRun({.end = End::kNotStarted, .code = ENOENT}),
            "cannot be started: No such file or directory");
  EXPECT_EQ(WhyNotRun({.end = End::kExited, .code = 127, .errors = "sh: 1: x: not found\n"}),
            "exit 127: sh: 1: x: not found");
  EXPECT_EQ(WhyNotRun({.end = End::kExited, .code = 126}), "exit 126");
  EXPECT_EQ(WhyNotRun({.end = End::kExited, .code = 125}), std::nullopt);
  EXPECT_EQ(WhyNotRun({.end = End::kSignaled, .code = 126}), std::nullopt);
  EXPECT_EQ(WhyNotRun({.end = End::kTimedOut}), std::nullopt);
}

}  // namespace outcome_of_child_test
}  // namespace retryq::cli
