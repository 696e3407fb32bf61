#include "amqp/incoming_content.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "amqp/properties_codec.h"
#include "amqp/protocol_error.h"

namespace retryq::amqp {
namespace {

std::string Header(std::uint64_t body_size) {
  std::string payload;
  AppendContentHeader(body_size, {.content_type = "text/plain"}, &payload);
  return payload;
}

TEST(IncomingContent, IsWholeWithItsHeaderIfThereIsNoBody) {
  IncomingContent content;
  content.Begin(std::make_shared<Message>());
  EXPECT_TRUE(content.expected());
  const auto message = content.OnHeader(Header(0));
  ASSERT_TRUE(message.ok()) << message.status();
  ASSERT_NE(*message, nullptr);
  EXPECT_EQ((*message)->body, "");
  EXPECT_EQ((*message)->properties.content_type, "text/plain");
  EXPECT_FALSE(content.expected());
}

TEST(IncomingContent, JoinsTheBodysFrames) {
  IncomingContent content;
  for (int round = 0; round < 2; ++round) {
    content.Begin(std::make_shared<Message>());
    EXPECT_EQ(content.OnHeader(Header(6)).value(), nullptr);
    EXPECT_EQ(content.OnBody("abc").value(), nullptr);
    EXPECT_TRUE(content.expected());
    EXPECT_EQ(content.OnBody("").value(), nullptr);
    const auto message = content.OnBody("def");
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_EQ((*message)->body, "abcdef");
  }
}

TEST(IncomingContent, DoesNotBelieveAHugeBodyBeforeItComes) {
  IncomingContent content;
  const auto message = std::make_shared<Message>();
  content.Begin(message);
  EXPECT_TRUE(content.OnHeader(Header(kMaxBodySize)).ok());
  EXPECT_LT(message->content.capacity(), std::size_t{1} << 20);
}

TEST(IncomingContent, RefusesABodyThatNoBrokerCarries) {
  IncomingContent content;
  content.Begin(std::make_shared<Message>());
  EXPECT_EQ(ReplyCodeOf(content.OnHeader(Header(kMaxBodySize + 1)).status()),
            ReplyCode::kContentTooLarge);
}

TEST(IncomingContent, RefusesFramesOutOfPlace) {
  IncomingContent content;
  EXPECT_EQ(ReplyCodeOf(content.OnHeader(Header(1)).status()), ReplyCode::kUnexpectedFrame);
  EXPECT_EQ(ReplyCodeOf(content.OnBody("x").status()), ReplyCode::kUnexpectedFrame);
  content.Begin(std::make_shared<Message>());
  EXPECT_EQ(ReplyCodeOf(content.OnBody("x").status()), ReplyCode::kUnexpectedFrame);
  EXPECT_TRUE(content.OnHeader(Header(1)).ok());
  EXPECT_EQ(ReplyCodeOf(content.OnHeader(Header(1)).status()), ReplyCode::kUnexpectedFrame);
}

TEST(IncomingContent, RefusesMoreBodyThanPromised) {
  IncomingContent content;
  content.Begin(std::make_shared<Message>());
  EXPECT_TRUE(content.OnHeader(Header(3)).ok());
  EXPECT_EQ(ReplyCodeOf(content.OnBody("four").status()), ReplyCode::kFrameError);
}

TEST(IncomingContent, RefusesAHeaderWhoseLengthsLie) {
  IncomingContent content;
  content.Begin(std::make_shared<Message>());
  std::string header = Header(0);
  header.pop_back();
  EXPECT_FALSE(content.OnHeader(header).ok());
}

}  // namespace
}  // namespace retryq::amqp
