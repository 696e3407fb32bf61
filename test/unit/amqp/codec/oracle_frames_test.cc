#include <amqp_tcp_socket.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "amqp/codec/properties_codec.h"
#include "unit/amqp/librabbitmq.h"
#include "unit/amqp/random_values.h"

// Frames held against librabbitmq's, whatever pieces they come in.
namespace retryq::amqp {
namespace oracle_frames_test {

using librabbitmq::ToOurs;
using librabbitmq::ToTheirs;

constexpr int kFrameMax = 4096;

// A connection of theirs, on which nothing is connected.
class TheirConnection {
 public:
  TheirConnection() = default;
  TheirConnection(const TheirConnection&) = delete;
  TheirConnection& operator=(const TheirConnection&) = delete;
  ~TheirConnection() { amqp_destroy_connection(state_); }

  amqp_connection_state_t get() const { return state_; }

 private:
  const amqp_connection_state_t state_ = amqp_new_connection();
};

// What is in a frame, in words that are the same for both.
std::string Describe(int type, int channel, std::string_view what) {
  return absl::StrCat(type, " ", channel, " ", absl::string_view(what.data(), what.size()));
}

// A frame of theirs holds no method as bytes, so it is encoded again.
std::string Describe(const amqp_frame_t& frame) {
  std::string bytes;
  if (frame.frame_type == AMQP_FRAME_METHOD) {
    bytes.resize(kFrameMax);
    const int size =
        amqp_encode_method(frame.payload.method.id, frame.payload.method.decoded, ToTheirs(bytes));
    bytes.resize(static_cast<std::size_t>(size));
    bytes = absl::StrCat(frame.payload.method.id, " ", bytes);
  } else if (frame.frame_type == AMQP_FRAME_HEADER) {
    bytes.resize(kFrameMax);
    const int size = amqp_encode_properties(frame.payload.properties.class_id,
                                            frame.payload.properties.decoded, ToTheirs(bytes));
    bytes.resize(static_cast<std::size_t>(size));
    bytes = absl::StrCat(frame.payload.properties.body_size, " ", bytes);
  } else if (frame.frame_type == AMQP_FRAME_BODY) {
    bytes = ToOurs(frame.payload.body_fragment);
  }
  return Describe(frame.frame_type, frame.channel, bytes);
}

std::string Describe(const FrameView& frame) {
  WireReader reader(frame.payload);
  std::string bytes(frame.payload);
  if (frame.type == FrameType::kMethod) {
    const auto id = reader.Integer<std::uint32_t>();
    bytes = absl::StrCat(id, " ", std::string(reader.rest()));
  } else if (frame.type == FrameType::kHeader) {
    reader.Integer<std::uint32_t>();  // class and weight
    const auto body_size = reader.Integer<std::uint64_t>();
    bytes = absl::StrCat(body_size, " ", std::string(reader.rest()));
  }
  return Describe(static_cast<int>(frame.type), frame.channel, bytes);
}

// Frames of all types as we write them, one behind the other.
std::string RandomFrames(RandomValues* random) {
  std::string bytes;
  for (std::size_t count = 1 + random->Below(8); count > 0; --count) {
    const auto channel = static_cast<std::uint16_t>(1 + random->Below(3));
    switch (random->Below(4)) {
      case 0:
        AppendHeartbeat(&bytes);
        break;
      case 1: {
        method::BasicDeliver deliver;
        random->Set(deliver.consumer_tag);
        random->Set(deliver.delivery_tag);
        random->Set(deliver.redelivered);
        random->Set(deliver.exchange);
        random->Set(deliver.routing_key);
        AppendMethodFrame(channel, deliver, &bytes);
        break;
      }
      case 2: {
        Properties properties;
        random->Set(properties.content_type.emplace());
        random->Set(properties.timestamp.emplace());
        AppendContentHeaderFrame(channel, random->Below(1000), properties, &bytes);
        break;
      }
      default:
        AppendBodyFrames(channel, random->Text(3 * kFrameMax) + "x", kFrameMax, &bytes);
    }
  }
  return bytes;
}

// `bytes` in pieces of this size, the last one shorter.
std::vector<std::string> Cut(std::string_view bytes, std::size_t size) {
  std::vector<std::string> pieces;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
    pieces.emplace_back(bytes.substr(0, size));
  }
  return pieces;
}

std::vector<std::string> ReadByUs(const std::vector<std::string>& pieces) {
  std::vector<std::string> frames;
  std::string buffer;
  for (const std::string& piece : pieces) {
    buffer += piece;
    while (true) {
      const auto frame = NextFrame(buffer, kFrameMax);
      EXPECT_TRUE(frame.ok()) << frame.status();
      if (!frame.ok() || !frame->has_value()) break;
      frames.push_back(Describe(**frame));
      buffer.erase(0, (*frame)->frame_size());
    }
  }
  EXPECT_EQ(buffer, "");
  return frames;
}

std::vector<std::string> ReadByThem(std::vector<std::string> pieces) {
  TheirConnection connection;
  std::vector<std::string> frames;
  // Of the very first frame 0.11 forgets the first byte, which is 0 in every method.
  std::string first;
  AppendMethodFrame(0, method::ConnectionUnblocked{}, &first);
  pieces.insert(pieces.begin(), first);
  for (const std::string& piece : pieces) {
    std::string_view rest = piece;
    while (!rest.empty()) {
      amqp_frame_t frame;
      const int used = amqp_handle_input(connection.get(), ToTheirs(rest), &frame);
      EXPECT_GT(used, 0);
      if (used <= 0) return frames;
      if (frame.frame_type != 0) frames.push_back(Describe(frame));
      rest.remove_prefix(static_cast<std::size_t>(used));
    }
  }
  frames.erase(frames.begin());
  return frames;
}

TEST(OracleFrames, AreReadIdenticallyInPiecesOfAnySize) {
  RandomValues random(7);
  for (int i = 0; i < 100; ++i) {
    const std::string bytes = RandomFrames(&random);
    const std::vector<std::string> expected = ReadByUs({bytes});
    ASSERT_FALSE(expected.empty());
    for (const std::size_t size : {std::size_t{1}, 1 + random.Below(100), bytes.size()}) {
      ASSERT_TRUE(ReadByUs(Cut(bytes, size)) == expected) << size;
      ASSERT_TRUE(ReadByThem(Cut(bytes, size)) == expected) << size;
    }
  }
}

TEST(OracleFrames, AreWrittenIdenticallyByTheOracle) {
  std::array<int, 2> ends;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  {
    TheirConnection connection;
    amqp_socket_t* const socket = amqp_tcp_socket_new(connection.get());
    amqp_tcp_socket_set_sockfd(socket, ends[0]);  // which it closes
    RandomValues random(8);
    for (int i = 0; i < 200; ++i) {
      const std::string body = random.Text(kFrameMax - kFrameOverhead);
      amqp_frame_t frame = {};
      frame.channel = static_cast<amqp_channel_t>(random.Below(65536));
      frame.frame_type = AMQP_FRAME_BODY;
      frame.payload.body_fragment = ToTheirs(body);
      amqp_basic_ack_t ack = {random.Below(1 << 30), 1};
      if (i % 2 == 0) {
        frame.frame_type = AMQP_FRAME_METHOD;
        frame.payload.method = {AMQP_BASIC_ACK_METHOD, &ack};
      }
      ASSERT_EQ(amqp_send_frame(connection.get(), &frame), AMQP_STATUS_OK);

      std::string ours;
      if (i % 2 == 0) {
        AppendMethodFrame(frame.channel,
                          method::BasicAck{.delivery_tag = ack.delivery_tag, .multiple = true},
                          &ours);
      } else {
        AppendFrame(FrameType::kBody, frame.channel, body, &ours);
      }
      std::string theirs(ours.size(), '\0');
      ASSERT_EQ(recv(ends[1], theirs.data(), theirs.size(), MSG_WAITALL),
                static_cast<ssize_t>(ours.size()));
      ASSERT_EQ(theirs, ours);
    }
    char more;
    EXPECT_EQ(recv(ends[1], &more, 1, MSG_DONTWAIT), -1);
  }
  close(ends[1]);
}

}  // namespace oracle_frames_test
}  // namespace retryq::amqp
