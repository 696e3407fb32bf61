#include "amqp/outbox.h"

#include <event2/buffer.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "amqp/frame.h"
#include "amqp/methods.h"
#include "amqp/properties_codec.h"

namespace retryq::amqp {
namespace {

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

TEST(Outbox, KeepsTheOrderOfWhatIsAdded) {
  Outbox outbox;
  EXPECT_TRUE(outbox.empty());
  outbox.AddHeartbeat();
  outbox.AddMethod(7, method::BasicAck{.delivery_tag = 1});
  std::string expected;
  AppendHeartbeat(&expected);
  AppendMethodFrame(7, method::BasicAck{.delivery_tag = 1}, &expected);
  EXPECT_EQ(Take(outbox), expected);
}

TEST(Outbox, GivesTheContentHeaderItWrote) {
  Outbox outbox;
  outbox.AddHeartbeat();
  const Properties properties = {.content_type = "text/plain", .delivery_mode = 2};
  std::string expected;
  AppendContentHeader(4, properties, &expected);
  EXPECT_EQ(
      outbox.AddPublish(
          1, {.exchange = "e", .routing_key = "k", .properties = properties, .body = "body"}, 4096),
      expected);
}

TEST(Outbox, SendsTheSameWhetherABodyIsCopiedOrShared) {
  for (const std::size_t size : {0U, 10U, 4088U, 4096U, 5000U, 100000U}) {
    std::string body(size, '.');
    for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>(i % 253);
    Outbox copying;
    Outbox sharing;
    for (Outbox* outbox : {&copying, &sharing}) {
      PublishParams params = {.exchange = "e", .routing_key = "k", .body = body};
      if (outbox == &sharing) params.body_owner = std::make_shared<int>();
      outbox->AddHeartbeat();
      outbox->AddPublish(3, params, 4096);
      outbox->AddPublish(4, params, 8192);
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
  outbox.AddPublish(
      1, {.exchange = "e", .routing_key = "k", .body = body, .body_owner = std::move(owner)},
      131072);
  EXPECT_FALSE(watch.expired());
  evbuffer* buffer = evbuffer_new();
  outbox.MoveTo(buffer);
  EXPECT_FALSE(watch.expired());
  evbuffer_drain(buffer, evbuffer_get_length(buffer));
  EXPECT_TRUE(watch.expired());
  evbuffer_free(buffer);
}

}  // namespace
}  // namespace retryq::amqp
