#include "amqp/codec/frame.h"

#include "amqp/codec/protocol_error.h"
#include "support/test.h"
#include "unit/amqp/hex.h"

namespace retryq::amqp::frame_test {

constexpr std::size_t kFrameMax = 4096;

std::string Frame(FrameType type, std::uint16_t channel, std::string_view payload) {
  std::string bytes;
  AppendFrame(type, channel, payload, &bytes);
  return bytes;
}

FrameView First(std::string_view bytes) {
  const auto frame = NextFrame(bytes, kFrameMax);
  EXPECT_TRUE(frame.ok()) << frame.status();
  EXPECT_TRUE(frame.ok() && frame->has_value());
  return frame.ok() && frame->has_value() ? **frame : FrameView{};
}

TEST(FrameWriter, WritesTheFormatOfTheProtocol) {
  std::string out;
  AppendProtocolHeader(&out);
  AppendHeartbeat(&out);
  AppendBodyFrames(0x0102, "hi", kFrameMax, &out);
  EXPECT_EQ(out, FromHex("41 4d 51 50 00 00 09 01"
                         "08 0000 00000000 ce"
                         "03 0102 00000002 6869 ce"));
}

TEST(FrameWriter, SplitsABodyAtFrameMax) {
  const std::string body(2 * (kFrameMax - kFrameOverhead) + 1, 'b');
  std::string out;
  AppendBodyFrames(1, body, kFrameMax, &out);

  std::string joined;
  std::string_view rest = out;
  for (const std::size_t size : {kFrameMax, kFrameMax, kFrameOverhead + 1}) {
    const FrameView frame = First(rest);
    EXPECT_EQ(frame.frame_size(), size);
    joined.append(frame.payload);
    rest.remove_prefix(frame.frame_size());
  }
  EXPECT_EQ(rest, "");
  EXPECT_EQ(joined, body);
}

TEST(FrameWriter, WritesNoFrameForAnEmptyBody) {
  std::string out;
  AppendBodyFrames(1, "", kFrameMax, &out);
  EXPECT_EQ(out, "");
}

TEST(FrameReader, ViewsThePayloadInTheBuffer) {
  const std::string bytes = Frame(FrameType::kBody, 0xfffe, "payload") + "the next";
  const FrameView frame = First(bytes);
  EXPECT_EQ(frame.type, FrameType::kBody);
  EXPECT_EQ(frame.channel, 0xfffe);
  EXPECT_EQ(frame.payload, "payload");
  EXPECT_EQ(frame.payload.data(), bytes.data() + kFrameHeadSize);
  EXPECT_EQ(bytes.substr(frame.frame_size()), "the next");
}

TEST(FrameReader, AcceptsAFrameOfExactlyFrameMax) {
  const std::string payload(kFrameMax - kFrameOverhead, 'p');
  EXPECT_EQ(First(Frame(FrameType::kBody, 1, payload)).payload, payload);
}

// The largest payload and what is around it, where a size_t has 32 bits.
static_assert(sizeof(FrameHead().frame_size()) > sizeof(FrameHead().payload_size));

TEST(ProtocolError, CarriesItsCode) {
  const absl::Status error = ProtocolError(ReplyCode::kUnexpectedFrame, "text");
  EXPECT_EQ(error.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(error.message(), "text");
  EXPECT_EQ(ReplyCodeOf(error), ReplyCode::kUnexpectedFrame);
  EXPECT_EQ(ReplyCodeOf(absl::InternalError("another")), ReplyCode::kInternalError);
}

}  // namespace retryq::amqp::frame_test
