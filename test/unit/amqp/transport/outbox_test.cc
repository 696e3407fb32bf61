#include "amqp/transport/outbox.h"

#include <event2/buffer.h>
#include <sys/socket.h>
#include <unistd.h>

#include "amqp/codec/frame.h"
#include "amqp/codec/methods.h"
#include "amqp/codec/properties_codec.h"
#include "support/test.h"
#include "unit/amqp/codec/allocated_bytes.h"

namespace retryq::amqp::outbox_test {

// What would be sent.
std::string Take(Outbox& outbox) {
  evbuffer* buffer = evbuffer_new();
  const std::size_t size = outbox.size();
  outbox.MoveTo(buffer);
  std::string bytes(evbuffer_get_length(buffer), '\0');
  evbuffer_remove(buffer, bytes.data(), bytes.size());
  evbuffer_free(buffer);
  EXPECT_EQ(bytes.size(), size);
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(outbox.size(), 0U);
  return bytes;
}

std::string_view AddPublish(Outbox* outbox, std::uint16_t channel, const PublishParams& params,
                            std::size_t frame_max) {
  return outbox->AddPublish(channel, params, ContentHeaderSize(params.properties), frame_max);
}

// Three frames as they are written one by one.
TEST(Outbox, WritesTheThreeKindsOfFramesOfAPublish) {
  const Properties properties = {.content_type = "text/plain", .delivery_mode = 2};
  for (const std::size_t size : {0U, 1U, 4088U, 4089U, 9000U}) {
    const std::string body(size, 'b');
    std::string expected;
    AppendMethodFrame(
        3, method::BasicPublish{.exchange = "e", .routing_key = "k", .mandatory = true}, &expected);
    AppendContentHeaderFrame(3, size, properties, &expected);
    const std::size_t head_size = expected.size();
    AppendBodyFrames(3, body, 4096, &expected);
    Outbox outbox;
    outbox.AddHeartbeat();
    const std::string before = *outbox.bytes();
    const std::string frames(AddPublish(&outbox, 3,
                                        {.exchange = "e",
                                         .routing_key = "k",
                                         .mandatory = true,
                                         .properties = properties,
                                         .body = body},
                                        4096));
    EXPECT_EQ(frames, size > 4088 ? expected.substr(0, head_size) : expected) << size;
    EXPECT_EQ(Take(outbox), before + expected) << size;
  }
}

TEST(Outbox, SendsTheSameBytesForCopiedAndSharedBodies) {
  for (const std::size_t size : {0U, 10U, 4088U, 4089U, 4096U, 5000U, 100000U}) {
    std::string body(size, '.');
    for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>(i % 253);
    Outbox copying;
    Outbox sharing;
    for (Outbox* outbox : {&copying, &sharing}) {
      PublishParams params = {.exchange = "e", .routing_key = "k", .body = body};
      if (outbox == &sharing) params.body_owner = std::make_shared<int>();
      outbox->AddHeartbeat();
      AddPublish(outbox, 3, params, 4096);
      AddPublish(outbox, 4, params, 8192);
      outbox->AddHeartbeat();
    }
    EXPECT_EQ(Take(copying), Take(sharing)) << size;
  }
}

TEST(Outbox, KeepsASharedBodysOwnerUntilItIsSent) {
  auto owner = std::make_shared<std::string>(10000, 'x');
  const std::weak_ptr<std::string> watch = owner;
  Outbox outbox;
  const std::string_view body = *owner;
  AddPublish(&outbox, 1,
             {.exchange = "e", .routing_key = "k", .body = body, .body_owner = std::move(owner)},
             131072);
  EXPECT_FALSE(watch.expired());
  evbuffer* buffer = evbuffer_new();
  outbox.MoveTo(buffer);
  EXPECT_FALSE(watch.expired());
  evbuffer_drain(buffer, evbuffer_get_length(buffer));
  EXPECT_TRUE(watch.expired());
  evbuffer_free(buffer);
}

TEST(Outbox, NeedsLittleMemoryBesidesSharedBodies) {
  constexpr int kMessages = 100;
  const auto body = std::make_shared<const std::string>(std::size_t{64} << 10, 'x');
  Outbox outbox;
  for (int i = 0; i < kMessages; ++i) {
    AddPublish(&outbox, 1, {.exchange = "e", .body = *body, .body_owner = body}, 131072);
  }
  evbuffer* buffer = evbuffer_new();
  const std::size_t before = AllocatedBytes();
  outbox.MoveTo(buffer);
  EXPECT_LT(AllocatedBytes(), before + kMessages * 4000);
  evbuffer_free(buffer);
}

// Both ends of a connection that takes little at a time.
class OutboxToSocket : public ::testing::Test {
 protected:
  OutboxToSocket() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data()), 0);
  }
  ~OutboxToSocket() override {
    evbuffer_free(rest_);
    for (const int end : ends_) close(end);
  }

  // What came out of the other end, and what stayed.
  std::string Taken() const {
    std::string all;
    std::array<char, 65536> bytes;
    for (ssize_t size; (size = read(ends_[1], bytes.data(), bytes.size())) > 0;) {
      all.append(bytes.data(), static_cast<std::size_t>(size));
    }
    return all;
  }
  std::string Rest() const {
    std::string bytes(evbuffer_get_length(rest_), '\0');
    evbuffer_copyout(rest_, bytes.data(), bytes.size());
    return bytes;
  }

  // Copied bodies and shared ones.
  static void Fill(Outbox& outbox, int messages) {
    const auto body = std::make_shared<std::string>(10000, 'x');
    for (int i = 0; i < messages; ++i) {
      (*body)[0] = static_cast<char>('a' + i % 26);
      PublishParams params = {.exchange = "e", .routing_key = "k", .body = *body};
      if (i % 3 == 0) params.body = "short";
      if (i % 3 == 1) params.body_owner = std::make_shared<std::string>(*body);
      if (i % 3 == 1) params.body = *static_cast<const std::string*>(params.body_owner.get());
      AddPublish(&outbox, 1, params, 8192);
    }
  }
  static std::string Expected(int messages) {
    Outbox outbox;
    Fill(outbox, messages);
    return Take(outbox);
  }

  std::array<int, 2> ends_ = {};
  evbuffer* const rest_ = evbuffer_new();
  Outbox outbox_;
};

TEST_F(OutboxToSocket, KeepsUnsentBytesInOrder) {
  for (const int messages : {1, 2, 3, 30, 31, 32, 100, 1000}) {
    // Wherever in a run of bytes the socket ends to take them.
    for (int size = 5000; size < 5010; ++size) {
      setsockopt(ends_[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
      Fill(outbox_, messages);
      outbox_.SendTo(ends_[0], rest_);
      ASSERT_EQ(Taken() + Rest(), Expected(messages)) << messages;
      evbuffer_drain(rest_, evbuffer_get_length(rest_));
    }
  }
}

TEST_F(OutboxToSocket, KeepsEverythingIfThePeerIsGone) {
  close(ends_[1]);
  ends_[1] = -1;
  Fill(outbox_, 4);
  outbox_.SendTo(ends_[0], rest_);
  EXPECT_EQ(Rest(), Expected(4));
}

}  // namespace retryq::amqp::outbox_test
