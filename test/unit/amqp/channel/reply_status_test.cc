#include "amqp/channel/reply_status.h"

#include "support/test.h"

namespace retryq::amqp::reply_status_test {

TEST(ChannelCloseStatus, DistinguishesALimitFromDifferentArguments) {
  for (const char* text :
       {"PRECONDITION_FAILED - cannot declare queue 'retry.1000': queue limit in vhost 'shop' (10) "
        "is reached",
        "PRECONDITION_FAILED - cannot declare queue 'retry.1000': queue limit in cluster (10) is "
        "reached",
        "PRECONDITION_FAILED - cannot declare exchange 'retry.1000': exchange limit of 10 is "
        "reached"}) {
    EXPECT_EQ(ChannelCloseStatus(406, text).code(), absl::StatusCode::kResourceExhausted) << text;
  }
  for (const char* text :
       {"PRECONDITION_FAILED - inequivalent arg 'x-expires' for queue 'limit' in vhost '/': "
        "received the value '1' of type 'long' but current is none",
        "PRECONDITION_FAILED - invalid arg 'x-delivery-limit'"}) {
    EXPECT_EQ(ChannelCloseStatus(406, text).code(), absl::StatusCode::kFailedPrecondition) << text;
  }
}

}  // namespace retryq::amqp::reply_status_test
