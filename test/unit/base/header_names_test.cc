#include "base/header_names.h"

#include "support/test.h"

namespace retryq::header_names_test {

TEST(HeaderNames, ShowWhoSetsTheHeader) {
  EXPECT_TRUE(IsRetryHeader("x-retry-count"));
  EXPECT_FALSE(IsRetryHeader("x-retry-other")) << "an application may use the prefix";
  EXPECT_FALSE(IsRetryHeader("x-retry-edited")) << "set by the command";
  EXPECT_TRUE(IsBrokerHeader("x-death"));
  EXPECT_TRUE(IsBrokerHeader("x-first-death-queue"));
  EXPECT_TRUE(IsBrokerHeader("x-acquired-count"));
  EXPECT_FALSE(IsDeathHeader("x-acquired-count"));
  EXPECT_FALSE(IsBrokerHeader("CC"));
  EXPECT_TRUE(IsRoutingHeader("CC"));
}

}  // namespace retryq::header_names_test
