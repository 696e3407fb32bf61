#include "amqp/codec/methods.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "amqp/codec/method_codec.h"
#include "amqp/codec/protocol_error.h"
#include "unit/amqp/hex.h"

namespace retryq::amqp {
namespace methods_test {

using namespace method;  // NOLINT(google-build-using-namespace): all of these tests are about it

template <typename Method>
std::string Encode(const Method& method) {
  std::string payload;
  AppendMethod(method, &payload);
  return payload;
}

template <typename Method>
Method DecodeAs(std::string_view payload) {
  const auto method = DecodeServerMethod(payload);
  EXPECT_TRUE(method.ok()) << method.status();
  const bool right = method.ok() && std::holds_alternative<Method>(*method);
  EXPECT_TRUE(right);
  return right ? std::get<Method>(*method) : Method{};
}

void ExpectError(std::string_view payload, ReplyCode code, std::string_view text) {
  const auto method = DecodeServerMethod(payload);
  ASSERT_FALSE(method.ok());
  EXPECT_EQ(ReplyCodeOf(method.status()), code);
  EXPECT_EQ(std::string(method.status().message()), text);
}

TEST(MethodWriter, WritesTuneOk) {
  EXPECT_EQ(Encode(ConnectionTuneOk{.channel_max = 2047, .frame_max = 131072, .heartbeat = 15}),
            FromHex("000a 001f 07ff 00020000 000f"));
}

TEST(MethodWriter, WritesStartOk) {
  EXPECT_EQ(Encode(ConnectionStartOk{.client_properties = {},
                                     .mechanism = "PLAIN",
                                     .response = {std::string_view("\0u\0p", 4)},
                                     .locale = "en_US"}),
            FromHex("000a 000b 00000000 05 504c41494e 00000004 00750070 05 656e5f5553"));
}

TEST(MethodWriter, WritesReservedFieldsAsZero) {
  EXPECT_EQ(Encode(ConnectionOpen{.virtual_host = "/"}), FromHex("000a 0028 01 2f 00 00"));
  EXPECT_EQ(Encode(ChannelOpen{}), FromHex("0014 000a 00"));
}

TEST(MethodWriter, PacksFlagsFromTheLowestBit) {
  EXPECT_EQ(Encode(QueueDeclare{.queue = "q", .passive = true}),
            FromHex("0032 000a 0000 01 71 01 00000000"));
  EXPECT_EQ(Encode(QueueDeclare{.queue = "q", .durable = true, .nowait = true}),
            FromHex("0032 000a 0000 01 71 12 00000000"));
  EXPECT_EQ(Encode(BasicNack{.delivery_tag = 1, .multiple = true, .requeue = true}),
            FromHex("003c 0078 0000000000000001 03"));
}

TEST(MethodWriter, WritesTablesBehindTheirLength) {
  const std::string arguments = FromHex("01 61 74 01");
  EXPECT_EQ(
      Encode(QueueBind{
          .queue = "q", .exchange = "e", .routing_key = "k", .arguments = TableView(arguments)}),
      FromHex("0032 0014 0000 01 71 01 65 01 6b 00 00000004 01617401"));
}

TEST(MethodWriter, WritesUpdateSecret) {
  EXPECT_EQ(Encode(ConnectionUpdateSecret{.new_secret = {"s"}, .reason = "r"}),
            FromHex("000a 0046 00000001 73 01 72"));
}

TEST(MethodWriter, WritesAFrame) {
  std::string out;
  AppendMethodFrame(3, ConfirmSelect{}, &out);
  EXPECT_EQ(out, FromHex("01 0003 00000005 0055 000a 00 ce"));
}

TEST(MethodReader, ReadsDeliver) {
  const std::string payload = FromHex("003c 003c 02 7461 0102030405060708 01 01 65 02 6b32");
  const auto deliver = DecodeAs<BasicDeliver>(payload);
  EXPECT_EQ(deliver.consumer_tag, "ta");
  EXPECT_EQ(deliver.delivery_tag, 0x0102030405060708u);
  EXPECT_TRUE(deliver.redelivered);
  EXPECT_EQ(deliver.exchange, "e");
  EXPECT_EQ(deliver.routing_key, "k2");
}

TEST(MethodReader, ReadsStartWithItsTable) {
  const std::string payload = FromHex(
      "000a 000a 00 09 0000000f 07 70726f64756374 78 00000002 6869"
      "00000005 504c41494e 00000005 656e5f5553");
  const auto start = DecodeAs<ConnectionStart>(payload);
  EXPECT_EQ(start.version_minor, 9);
  EXPECT_EQ(start.server_properties.FindString("product"), "hi");
  EXPECT_EQ(start.mechanisms.bytes, "PLAIN");
  EXPECT_EQ(start.locales.bytes, "en_US");
}

TEST(MethodReader, ReadsClose) {
  const std::string payload = FromHex("0014 0028 0194 03 4e4f21 0032 000a");
  const auto close = DecodeAs<ChannelClose>(payload);
  EXPECT_EQ(close.reply_code, 404);
  EXPECT_EQ(close.reply_text, "NO!");
  EXPECT_EQ(MethodName(close.class_id, close.method_id), "queue.declare");
}

TEST(MethodReader, ReadsMethodsWithoutFields) {
  DecodeAs<ConnectionUnblocked>(FromHex("000a 003d"));
  DecodeAs<ConnectionUpdateSecretOk>(FromHex("000a 0047"));
  DecodeAs<ConfirmSelectOk>(FromHex("0055 000b"));
}

TEST(MethodReader, IgnoresReservedFields) {
  DecodeAs<ConnectionOpenOk>(FromHex("000a 0029 04 686f7374"));
  DecodeAs<ChannelOpenOk>(FromHex("0014 000b 00000002 3432"));
}

TEST(MethodReader, RefusesWhatClientsSend) {
  ExpectError(Encode(QueueDeclare{.queue = "q"}), ReplyCode::kCommandInvalid,
              "the other side does not send it");
  EXPECT_TRUE(DecodeClientMethod(Encode(QueueDeclare{.queue = "q"})).ok());
}

TEST(MethodReader, RefusesWhatItDoesNotKnow) {
  ExpectError(FromHex("0063 0001"), ReplyCode::kNotImplemented, "unknown method");
}

TEST(MethodReader, TellsWhetherItIsThisMethod) {
  const std::string payload = Encode(BasicAck{.delivery_tag = 7});
  EXPECT_TRUE(IsMethod<BasicAck>(payload));
  EXPECT_FALSE(IsMethod<BasicDeliver>(payload)) << "of the same class";
  EXPECT_FALSE(IsMethod<BasicAck>(FromHex("003d 0050 0000000000000007 00"))) << "of another class";
  EXPECT_TRUE(IsMethod<BasicAck>(payload.substr(0, 4)));
  EXPECT_FALSE(IsMethod<BasicAck>(payload.substr(0, 3)));
}

TEST(MethodReader, RefusesAFrameWithoutAMethod) {
  for (const char* payload : {"", "00", "003c", "003c00"}) {
    ExpectError(FromHex(payload), ReplyCode::kSyntaxError, "it is too short for a method");
  }
}

TEST(MethodReader, RefusesBytesThatAreLeftOver) {
  ExpectError(FromHex("0055 000b 00"), ReplyCode::kSyntaxError,
              "confirm.select-ok has bytes left over: 1");
}

TEST(MethodReader, RefusesATableWhoseInnerLengthLies) {
  const std::string payload = FromHex(
      "000a 000a 00 09 00000008 01 61 53 00000009 78"
      "00000000 00000000");
  ExpectError(payload, ReplyCode::kSyntaxError,
              "connection.start: field \"a\" is of an unknown type or longer than the table");
}

template <typename... Methods, typename Check>
void ForEach(std::type_identity<std::variant<Methods...>>, const Check& check) {
  (check(Methods{}), ...);
}

TEST(MethodReader, RefusesEveryMethodCutShort) {
  const auto check = [](const auto& method) {
    const std::string payload = Encode(method);
    EXPECT_TRUE(DecodeServerMethod(payload).ok() || DecodeClientMethod(payload).ok());
    for (std::size_t size = 0; size < payload.size(); ++size) {
      EXPECT_FALSE(DecodeServerMethod(payload.substr(0, size)).ok()) << method.kId.name << size;
      EXPECT_FALSE(DecodeClientMethod(payload.substr(0, size)).ok()) << method.kId.name << size;
    }
  };
  ForEach(std::type_identity<ServerMethod>(), check);
  ForEach(std::type_identity<ClientMethod>(), check);
}

TEST(Methods, HaveNumbersOfTheirOwn) {
  const auto check_all = [](auto variant) {
    std::set<std::pair<int, int>> numbers;
    std::set<std::string> names;
    std::size_t count = 0;
    ForEach(variant, [&](const auto& method) {
      numbers.emplace(method.kId.class_id, method.kId.method_id);
      names.insert(method.kId.name);
      ++count;
    });
    EXPECT_EQ(numbers.size(), count);
    EXPECT_EQ(names.size(), count);
  };
  check_all(std::type_identity<ServerMethod>());
  check_all(std::type_identity<ClientMethod>());
}

TEST(Methods, AreNamedInErrors) {
  EXPECT_EQ(MethodName(60, 40), "basic.publish");
  EXPECT_EQ(MethodName(60, 60), "basic.deliver");
  EXPECT_EQ(MethodName(0, 0), "method 0.0");
}

}  // namespace methods_test
}  // namespace retryq::amqp
