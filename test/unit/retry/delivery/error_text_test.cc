#include "retry/delivery/error_text.h"

#include "support/test.h"

namespace retryq::error_text_test {

TEST(ErrorText, NamesEveryCode) {
  std::string text = "what was there before";
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    const absl::Status error(static_cast<absl::StatusCode>(code), "");
    AssignErrorText(error, &text);
    EXPECT_EQ(text, absl::StatusCodeToString(error.code()));
  }
}

}  // namespace retryq::error_text_test
