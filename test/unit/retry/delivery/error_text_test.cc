#include "retry/delivery/error_text.h"

#include "support/test.h"

namespace retryq::error_text_test {

TEST(ErrorText, IsCodeAndMessage) {
  EXPECT_EQ(ErrorText(absl::UnavailableError("connection refused")),
            "UNAVAILABLE: connection refused");
}

TEST(ErrorText, OmitsAnUnknownCode) {
  EXPECT_EQ(ErrorText(absl::UnknownError("connection refused")), "connection refused");
}

TEST(ErrorText, IsTheCodeIfThereIsNoMessage) {
  EXPECT_EQ(ErrorText(absl::DeadlineExceededError("")), "DEADLINE_EXCEEDED");
  EXPECT_EQ(ErrorText(absl::UnknownError("")), "UNKNOWN");
}

TEST(ErrorText, NamesEveryCode) {
  std::string text = "what was there before";
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    const absl::Status error(static_cast<absl::StatusCode>(code), "");
    AssignErrorText(error, &text);
    EXPECT_EQ(text, absl::StatusCodeToString(error.code()));
  }
}

}  // namespace retryq::error_text_test
