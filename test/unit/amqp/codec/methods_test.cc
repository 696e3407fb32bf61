#include "amqp/codec/methods.h"

#include "amqp/codec/method_codec.h"
#include "support/test.h"
#include "unit/amqp/hex.h"

namespace retryq::amqp::methods_test {

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

TEST(MethodWriter, WritesUpdateSecret) {
  EXPECT_EQ(Encode(ConnectionUpdateSecret{.new_secret = {"s"}, .reason = "r"}),
            FromHex("000a 0046 00000001 73 01 72"));
}

TEST(MethodReader, ReadsMethodsWithoutFields) {
  DecodeAs<ConnectionUnblocked>(FromHex("000a 003d"));
  DecodeAs<ConnectionUpdateSecretOk>(FromHex("000a 0047"));
  DecodeAs<ConfirmSelectOk>(FromHex("0055 000b"));
}

TEST(MethodReader, DistinguishesMethods) {
  const std::string payload = Encode(BasicAck{.delivery_tag = 7});
  EXPECT_TRUE(IsMethod<BasicAck>(payload));
  EXPECT_FALSE(IsMethod<BasicDeliver>(payload)) << "of the same class";
  EXPECT_FALSE(IsMethod<BasicAck>(FromHex("003d 0050 0000000000000007 00"))) << "of another class";
  EXPECT_TRUE(IsMethod<BasicAck>(payload.substr(0, 4)));
  EXPECT_FALSE(IsMethod<BasicAck>(payload.substr(0, 3)));
}

template <typename... Methods, typename Check>
void ForEach(std::type_identity<std::variant<Methods...>>, const Check& check) {
  (check(Methods{}), ...);
}

TEST(MethodReader, RefusesEveryTruncatedMethod) {
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

}  // namespace retryq::amqp::methods_test
