#include "amqp/channel/incoming_content.h"

#include <span>
#include <thread>

#include "amqp/codec/properties_codec.h"
#include "support/test.h"

namespace retryq::amqp::incoming_content_test {

std::string Header(std::uint64_t body_size) {
  std::string payload;
  AppendContentHeader(body_size, {.content_type = "text/plain"}, &payload);
  return payload;
}

// The message if a frame has completed it, otherwise null.
std::shared_ptr<Message> Whole(IncomingContent& content, const absl::Status& added) {
  EXPECT_EQ(added, absl::OkStatus());
  return content.missing() > 0 ? nullptr : content.Take();
}

TEST(IncomingContent, AllocatesLittleBeforeAHugeBodyArrives) {
  IncomingContent content;
  content.Begin("", "");
  EXPECT_TRUE(content.OnHeader(Header(kMaxBodySize)).ok());
  EXPECT_LT(content.message()->content.capacity(), std::size_t{1} << 20);
}

TEST(IncomingContent, OmitsABodyAboveTheLimit) {
  IncomingContent content;
  for (int round = 0; round < 2; ++round) {
    content.Begin("", "", /*limit=*/5);
    EXPECT_EQ(Whole(content, content.OnHeader(Header(6))), nullptr);
    EXPECT_TRUE(content.Room(6).empty());
    EXPECT_EQ(Whole(content, content.OnBody("abc")), nullptr);
    const auto message = Whole(content, content.OnBody("def"));
    ASSERT_NE(message, nullptr);
    EXPECT_EQ(message->left_out, 6U);
    EXPECT_EQ(message->body, "");
    EXPECT_EQ(message->properties.content_type, "text/plain");
    content.Begin("", "", /*limit=*/6);
    EXPECT_EQ(Whole(content, content.OnHeader(Header(6))), nullptr);
    EXPECT_EQ(Whole(content, content.OnBody("abcdef"))->body, "abcdef");
  }
}

void Write(std::string_view bytes, std::span<char> room) {
  ASSERT_GE(room.size(), bytes.size());
  std::copy(bytes.begin(), bytes.end(), room.begin());
}

// Of a body that is too large to follow the header; only this begins it.
const std::string kBeginning(5000, 'x');

TEST(IncomingContent, AcceptsPartsOfABodyInPlace) {
  IncomingContent content;
  content.Begin("", "");
  EXPECT_TRUE(content.OnHeader(Header(kBeginning.size() + 9)).ok());
  EXPECT_EQ(Whole(content, content.OnBody(kBeginning)), nullptr);
  EXPECT_EQ(Whole(content, content.OnBody("abc")), nullptr);
  const std::span<char> room = content.Room(5);
  EXPECT_EQ(room.size(), 5U);
  Write("de", room);
  content.Added(2);
  EXPECT_EQ(content.Room(3).data(), room.data() + 2);
  Write("fg", content.Room(3));
  content.Added(2);
  EXPECT_EQ(Whole(content, content.OnBody("h")), nullptr);
  Write("i", content.Room(1));
  content.Added(1);
  EXPECT_EQ(Whole(content, content.OnBody(""))->body, kBeginning + "abcdefghi");
}

TEST(IncomingContent, HasNoRoomForUnexpectedBytes) {
  IncomingContent content;
  EXPECT_TRUE(content.Room(1).empty());
  content.Begin("", "");
  EXPECT_TRUE(content.Room(1).empty());
  EXPECT_TRUE(content.OnHeader(Header(kBeginning.size() + 3)).ok());
  EXPECT_TRUE(content.Room(kBeginning.size() + 4).empty());
  EXPECT_EQ(Whole(content, content.OnBody(kBeginning + "a")), nullptr);
  EXPECT_TRUE(content.Room(3).empty());
  EXPECT_EQ(content.Room(2).size(), 2U);
}

TEST(IncomingContent, ReservesLittleRoomInAdvance) {
  IncomingContent content;
  content.Begin("", "");
  EXPECT_TRUE(content.OnHeader(Header(kMaxBodySize)).ok());
  EXPECT_GT(content.Room(kMaxBodySize).size(), std::size_t{1} << 16);
  EXPECT_LT(content.message()->content.capacity(), std::size_t{1} << 20);
}

TEST(IncomingContent, KeepsNothingOfThePreviousMessage) {
  IncomingContent content;
  for (const std::string& body : {kBeginning + "a long body", std::string("short"), std::string(),
                                  kBeginning + "one of middle"}) {
    content.Begin("", "");
    auto whole = Whole(content, content.OnHeader(Header(body.size())));
    if (!body.empty()) whole = Whole(content, content.OnBody(body));
    EXPECT_EQ(whole->body, body);
  }
  content.Begin("", "");
  EXPECT_TRUE(content.OnHeader(Header(kBeginning.size())).ok());
  Write(kBeginning, content.Room(kBeginning.size()));
  content.Added(kBeginning.size());
  EXPECT_EQ(Whole(content, content.OnBody(""))->body, kBeginning);
}

TEST(IncomingContent, ReusesMemoryOfThePreviousMessage) {
  IncomingContent content;
  const auto receive = [&content] {
    content.Begin("", "");
    EXPECT_EQ(Whole(content, content.OnHeader(Header(3))), nullptr);
    return Whole(content, content.OnBody("abc"));
  };
  for (int round = 0; round < 3; ++round) {
    const std::shared_ptr<Message> message = receive();
    EXPECT_EQ(message->delivery_tag, DeliveryTag());
    EXPECT_EQ(message->properties.priority, std::nullopt);
    EXPECT_EQ(message->storage, "");
    EXPECT_EQ(message->content, "");
    EXPECT_EQ(message->left_out, 0U);
    EXPECT_FALSE(message->passed_on);
    EXPECT_EQ(message->not_passed_on, "");
    EXPECT_FALSE(message->refused);
    message->delivery_tag = {.generation = 1, .tag = 1};
    message->properties.priority = 1;
    message->storage = "storage";
    message->content = "content";
    message->left_out = 1;
    message->passed_on = message->refused = true;
    message->not_passed_on = "refused";
  }
}

TEST(IncomingContent, TakesMemoryOfMessagesThatOtherThreadsFree) {
  constexpr std::size_t kMessages = 2000;  // more than are kept
  IncomingContent content;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::shared_ptr<Message>> messages(kMessages);
    for (std::size_t i = 0; i < kMessages; ++i) {
      content.Begin("", "");
      EXPECT_EQ(Whole(content, content.OnHeader(Header(8))), nullptr);
      messages[i] = Whole(content, content.OnBody(std::to_string(10'000'000 + i)));
    }
    for (std::size_t i = 0; i < kMessages; ++i) {
      EXPECT_EQ(messages[i]->body, std::to_string(10'000'000 + i));
    }
    const std::span<std::shared_ptr<Message>> all(messages);
    std::thread other([half = all.first(kMessages / 2)] {
      for (std::shared_ptr<Message>& message : half) message = nullptr;
    });
    for (std::shared_ptr<Message>& message : all.last(kMessages / 2)) message = nullptr;
    other.join();
  }
}

TEST(IncomingContent, StoresNamesHeaderAndASmallBodyTogether) {
  IncomingContent content;
  content.Begin("shop", "order.placed");
  const std::string header = Header(6);
  EXPECT_EQ(Whole(content, content.OnHeader(header)), nullptr);
  EXPECT_EQ(Whole(content, content.OnBody("abc")), nullptr);
  const auto message = Whole(content, content.OnBody("def"));
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->exchange, "shop");
  EXPECT_EQ(message->routing_key, "order.placed");
  EXPECT_EQ(message->header, header);
  EXPECT_EQ(message->body, "abcdef");
  const std::string all = "shoporder.placed" + header + "abcdef";
  EXPECT_EQ(std::string_view(message->exchange.data(), all.size()), all);
}

}  // namespace retryq::amqp::incoming_content_test
