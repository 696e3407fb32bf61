#include "amqp/codec/blame.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/amqp/hex.h"

namespace retryq::amqp {
namespace blame_test {

TEST(Blame, NamesTypeChannelAndMethod) {
  const Blame blame = BlameFrame(FromHex("01 0003 00000004 003c 003c ce"));
  EXPECT_EQ(blame.frame, "method frame basic.deliver on channel 3");
  EXPECT_EQ(blame.channel, 3);
  EXPECT_EQ(blame.class_id, 60);
  EXPECT_EQ(blame.method_id, 60);
}

TEST(Blame, NamesMethodsThatDoNotExistByNumber) {
  EXPECT_EQ(BlameFrame(FromHex("01 0000 00000004 0063 0001 ce")).frame,
            "method frame 99.1 on channel 0");
}

TEST(Blame, NamesNoMethodOfOtherFrames) {
  const Blame blame = BlameFrame(FromHex("03 0102 00000004 003c 003c ce"));
  EXPECT_EQ(blame.frame, "content body frame on channel 258");
  EXPECT_EQ(blame.class_id, 0);
  EXPECT_EQ(BlameFrame(FromHex("02 0001 00000000 ce")).frame, "content header frame on channel 1");
  EXPECT_EQ(BlameFrame(FromHex("08 0001 00000000 ce")).frame, "heartbeat frame on channel 1");
}

TEST(Blame, SaysOfAPartAsMuchAsCanBeTold) {
  EXPECT_EQ(BlameFrame(FromHex("09")).frame, "frame of type 9");
  EXPECT_EQ(BlameFrame(FromHex("01 0003 00000004 003c")).frame, "method frame on channel 3");
  EXPECT_EQ(BlameFrame(FromHex("01 0003 00000002 003c ce 00")).frame, "method frame on channel 3");
  EXPECT_EQ(BlameFrame("").frame, "frame of type 0");
}

}  // namespace blame_test
}  // namespace retryq::amqp
