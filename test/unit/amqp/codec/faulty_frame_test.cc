#include "amqp/codec/faulty_frame.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/amqp/hex.h"

namespace retryq::amqp {
namespace faulty_frame_test {

TEST(FaultyFrame, NamesTypeChannelAndMethod) {
  const FaultyFrame frame = DescribeFrame(FromHex("01 0003 00000004 003c 003c ce"));
  EXPECT_EQ(frame.name, "method frame basic.deliver on channel 3");
  EXPECT_EQ(frame.channel, 3);
  EXPECT_EQ(frame.class_id, 60);
  EXPECT_EQ(frame.method_id, 60);
}

TEST(FaultyFrame, NamesMethodsThatDoNotExistByNumber) {
  EXPECT_EQ(DescribeFrame(FromHex("01 0000 00000004 0063 0001 ce")).name,
            "method frame 99.1 on channel 0");
}

TEST(FaultyFrame, NamesNoMethodOfOtherFrames) {
  const FaultyFrame frame = DescribeFrame(FromHex("03 0102 00000004 003c 003c ce"));
  EXPECT_EQ(frame.name, "content body frame on channel 258");
  EXPECT_EQ(frame.class_id, 0);
  EXPECT_EQ(DescribeFrame(FromHex("02 0001 00000000 ce")).name,
            "content header frame on channel 1");
  EXPECT_EQ(DescribeFrame(FromHex("08 0001 00000000 ce")).name, "heartbeat frame on channel 1");
}

TEST(FaultyFrame, DescribesAsMuchOfAPartialFrameAsPossible) {
  EXPECT_EQ(DescribeFrame(FromHex("09")).name, "frame of type 9");
  EXPECT_EQ(DescribeFrame(FromHex("01 0003 00000004 003c")).name, "method frame on channel 3");
  EXPECT_EQ(DescribeFrame(FromHex("01 0003 00000002 003c ce 00")).name,
            "method frame on channel 3");
  EXPECT_EQ(DescribeFrame("").name, "frame of type 0");
}

}  // namespace faulty_frame_test
}  // namespace retryq::amqp
