#include "base/retry_id.h"

#include "support/test.h"

namespace retryq::retry_id_test {

TEST(RetryId, Is128BitsInHex) {
  EXPECT_EQ(RetryId(0x0123456789abcdef, 1).text(), "0123456789abcdef0000000000000001");
}

TEST(RetryId, IsRecognized) {
  EXPECT_TRUE(IsRetryId(RetryId(0x0123456789abcdef, 1).text()));
  EXPECT_FALSE(IsRetryId("0123456789abcdef000000000000001"));
  EXPECT_FALSE(IsRetryId("0123456789ABCDEF0000000000000001"));
}

}  // namespace retryq::retry_id_test
