#include "base/field_errors.h"

#include "support/test.h"

namespace retryq::field_errors_test {

TEST(FieldErrors, KeepsTheCodeOfASingleError) {
  FieldErrors errors;
  EXPECT_EQ(errors.status(), absl::OkStatus());
  errors.Require(true, "unused");
  errors.Add(absl::CancelledError("drained"));
  EXPECT_EQ(errors.status(), absl::CancelledError("drained"));
  errors.Require(false, "calls must be 1 to ", 10, ", but is ", 0);
  EXPECT_EQ(errors.status(),
            absl::InvalidArgumentError("drained; calls must be 1 to 10, but is 0"));
}

TEST(FieldErrors, RefusesNamesThatAMQPCannotCarry) {
  FieldErrors errors;
  errors.RequireName("queue", "");
  errors.RequireName("queue", std::string(255, 'x'));
  EXPECT_EQ(errors.status(), absl::OkStatus());
  errors.RequireName("queue", std::string(256, 'x'));
  errors.RequireName("exchange", std::string_view("a\0b", 3));
  EXPECT_EQ(errors.status(),
            absl::InvalidArgumentError("queue must be at most 255 bytes long; exchange must "
                                       "contain neither line breaks nor NUL"));
}

}  // namespace retryq::field_errors_test
