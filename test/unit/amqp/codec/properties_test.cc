#include "retryq/amqp/properties.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "amqp/codec/properties_codec.h"
#include "unit/amqp/hex.h"

namespace retryq::amqp {
namespace properties_test {

constexpr std::string_view kHeaders("\1at\1", 4);

// Every property there is, each different from the others.
Properties All() {
  return {.content_type = "ct",
          .content_encoding = "ce",
          .headers = TableView(kHeaders),
          .delivery_mode = 2,
          .priority = 9,
          .correlation_id = "ci",
          .reply_to = "rt",
          .expiration = "10",
          .message_id = "mi",
          .timestamp = 0x0102030405060708,
          .type = "ty",
          .user_id = "ui",
          .app_id = "ai",
          .cluster_id = "cl"};
}

const char kAll[] =
    "003c 0000 00000000000000ff fffc"
    "02 6374 02 6365 00000004 01617401 02 09 02 6369 02 7274 02 3130 02 6d69"
    "0102030405060708 02 7479 02 7569 02 6169 02 636c";

std::string Encode(const Properties& properties, std::uint64_t body_size = 255) {
  std::string payload;
  AppendContentHeader(body_size, properties, &payload);
  EXPECT_EQ(payload.size(), ContentHeaderSize(properties));
  return payload;
}

TEST(ContentHeader, IsWrittenAsTheProtocolRequires) {
  EXPECT_EQ(Encode(All()), FromHex(kAll));
  EXPECT_EQ(Encode({}, 0), FromHex("003c 0000 0000000000000000 0000"));
  EXPECT_EQ(Encode({.delivery_mode = 2}, 1), FromHex("003c 0000 0000000000000001 1000 02"));
}

TEST(ContentHeader, ViewsThePayload) {
  const std::string payload = FromHex(kAll);
  const ContentHeader header = DecodeContentHeader(payload).value();
  EXPECT_EQ(header.properties.content_type->data(), payload.data() + 15);
}

TEST(ContentHeader, IsWrittenInAFrame) {
  std::string out;
  AppendContentHeaderFrame(5, 1, {.priority = 3}, &out);
  EXPECT_EQ(out, FromHex("02 0005 0000000f 003c 0000 0000000000000001 0800 03 ce"));
}

}  // namespace properties_test
}  // namespace retryq::amqp
