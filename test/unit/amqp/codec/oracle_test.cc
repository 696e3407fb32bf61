#include <concepts>
#include <tuple>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "amqp/codec/method_codec.h"
#include "amqp/codec/properties_codec.h"
#include "amqp/codec/wire.h"
#include "support/test.h"
#include "unit/amqp/librabbitmq.h"
#include "unit/amqp/random_values.h"

// The codec held against librabbitmq's: what ours writes theirs reads, what theirs writes ours
// reads, and whatever ours accepts theirs accepts, all with the same values.
namespace retryq::amqp::oracle_test {

using librabbitmq::Pool;
using librabbitmq::ToOurs;
using librabbitmq::ToTheirs;

constexpr int kShallow = 4;

// Tables are compared by their encoding, in which NaNs are equal and 0 is not -0.
std::string Encoded(const Table& table) { return table.Encode().value(); }

template <FieldInteger T>
bool Same(T ours, T theirs) {
  return ours == theirs;
}
bool Same(std::string_view ours, amqp_bytes_t theirs) { return ours == ToOurs(theirs); }
bool Same(TableView ours, const amqp_table_t& theirs) {
  return Encoded(ours.Decode().value()) == Encoded(ToOurs(theirs));
}

// ---- Tables

std::string BehindItsLength(std::string_view bytes) {
  std::string out;
  AppendLongString(bytes, &out);
  return out;
}

// What they read from the fields' bytes, encoded by us; nothing if they refuse it.
std::optional<std::string> ReadByThem(std::string_view fields) {
  const std::string bytes = BehindItsLength(fields);
  Pool pool;
  amqp_table_t table;
  std::size_t offset = 0;
  if (amqp_decode_table(ToTheirs(bytes), pool.get(), &table, &offset) != 0) return std::nullopt;
  EXPECT_EQ(offset, bytes.size());
  return Encoded(ToOurs(table));
}

// What we write they read, and what they write we read.
void ExpectToAgree(const Table& table) {
  const std::string expected = Encoded(table);
  ASSERT_EQ(ReadByThem(expected), expected);

  Pool pool;
  amqp_table_t theirs = ToTheirs(table, &pool);
  std::string bytes = BehindItsLength(std::string(expected.size(), '\0'));
  std::size_t size = 0;
  ASSERT_EQ(amqp_encode_table(ToTheirs(bytes), &theirs, &size), 0);
  ASSERT_EQ(size, bytes.size());

  const TableView ours(std::string_view(bytes).substr(bytes.size() - expected.size()));
  ASSERT_TRUE(ours.Validate().ok()) << ours.Validate();
  ASSERT_EQ(Encoded(ours.Decode().value()), expected);
}

TEST(Oracle, AgreesOnTables) {
  RandomValues random(1);
  for (int i = 0; i < 2000 && !HasFatalFailure(); ++i) ExpectToAgree(random.MakeTable(kShallow));
}

TEST(Oracle, AcceptsTheTablesThatWeAccept) {
  RandomValues random(3);
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = random.Damage(Encoded(random.MakeTable(kShallow)));
    const absl::StatusOr<Table> table = TableView(bytes).Decode();
    ASSERT_EQ(table.ok(), TableView(bytes).Validate().ok());
    ++(table.ok() ? accepted : refused);
    if (table.ok()) {
      ASSERT_EQ(ReadByThem(bytes), Encoded(*table));
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

// ---- Methods

// The fields of a method after librabbitmq has read and written them; nothing if it refuses them.
std::optional<std::string> ThroughThem(const method::Id& id, std::string_view fields) {
  const amqp_method_number_t number = amqp_method_number_t{id.class_id} << 16 | id.method_id;
  Pool pool;
  void* decoded = nullptr;
  if (amqp_decode_method(number, pool.get(), ToTheirs(fields), &decoded) != 0) return std::nullopt;
  std::string written(fields.size(), '\0');
  const int size = amqp_encode_method(number, decoded, ToTheirs(written));
  EXPECT_EQ(size, static_cast<int>(fields.size())) << id.name;
  return written;
}

template <typename Method>
std::string Payload(const Method& method) {
  std::string payload;
  AppendMethod(method, &payload);
  return payload;
}

// The method as we read it, written again; nothing if we refuse it. Tables are as in `Encoded`.
template <typename Method>
std::optional<std::string> ThroughUs(std::string_view payload) {
  Method method;
  if (!ReadMethod(payload, &method).ok()) return std::nullopt;
  std::string table;
  const auto normalize = [&table](auto& field) {
    if constexpr (std::same_as<decltype(field), TableView&>) {
      table = Encoded(field.Decode().value());
      field = TableView(table);
    }
  };
  std::apply([&](auto&... fields) { (normalize(fields), ...); }, Method::Fields(method));
  return Payload(method);
}

// The method with its name as librabbitmq spells it: "AMQP_BASIC_ACK_METHOD".
std::string TheirName(const method::Id& id) {
  return absl::StrCat("AMQP_",
                      absl::StrReplaceAll(absl::AsciiStrToUpper(id.name), {{".", "_"}, {"-", "_"}}),
                      "_METHOD");
}

template <typename Method>
void Compare() {
  // 0.11 does not know them: MethodWriter.WritesUpdateSecret and others hold them.
  const std::string_view name = Method::kId.name;
  if (name.starts_with("connection.update-secret")) return;
  constexpr std::size_t kIdSize = 4;
  const amqp_method_number_t number =
      amqp_method_number_t{Method::kId.class_id} << 16 | Method::kId.method_id;
  ASSERT_STREQ(amqp_method_name(number), TheirName(Method::kId).c_str());
  RandomValues random(number);
  for (int i = 0; i < 100 && !::testing::Test::HasFatalFailure(); ++i) {
    Method method;
    std::apply([&](auto&... fields) { (random.Set(fields), ...); }, Method::Fields(method));
    const std::string payload = Payload(method);
    const std::string fields = payload.substr(kIdSize);
    ASSERT_EQ(ThroughThem(Method::kId, fields), fields) << name;
    ASSERT_EQ(ThroughUs<Method>(payload), payload) << name;

    const std::string damaged = random.Damage(fields);
    const auto ours = ThroughUs<Method>(payload.substr(0, kIdSize) + damaged);
    if (!ours) continue;
    const auto theirs = ThroughThem(Method::kId, damaged);
    ASSERT_TRUE(theirs) << name;
    ASSERT_EQ(ThroughUs<Method>(payload.substr(0, kIdSize) + *theirs), ours) << name;
  }
}

template <typename... Methods>
void CompareAll(std::type_identity<std::variant<Methods...>>) {
  (Compare<Methods>(), ...);
}

TEST(Oracle, AgreesOnEveryMethod) {
  CompareAll(std::type_identity<ServerMethod>());
  CompareAll(std::type_identity<ClientMethod>());
}

// ---- Content headers

constexpr std::size_t kBeforeFlags = 12;  // class, weight, body size

template <typename Visit>
void ForEachProperty(auto& ours, auto& theirs, const Visit& visit) {
  visit(ours.content_type, theirs.content_type, AMQP_BASIC_CONTENT_TYPE_FLAG);
  visit(ours.content_encoding, theirs.content_encoding, AMQP_BASIC_CONTENT_ENCODING_FLAG);
  visit(ours.headers, theirs.headers, AMQP_BASIC_HEADERS_FLAG);
  visit(ours.delivery_mode, theirs.delivery_mode, AMQP_BASIC_DELIVERY_MODE_FLAG);
  visit(ours.priority, theirs.priority, AMQP_BASIC_PRIORITY_FLAG);
  visit(ours.correlation_id, theirs.correlation_id, AMQP_BASIC_CORRELATION_ID_FLAG);
  visit(ours.reply_to, theirs.reply_to, AMQP_BASIC_REPLY_TO_FLAG);
  visit(ours.expiration, theirs.expiration, AMQP_BASIC_EXPIRATION_FLAG);
  visit(ours.message_id, theirs.message_id, AMQP_BASIC_MESSAGE_ID_FLAG);
  visit(ours.timestamp, theirs.timestamp, AMQP_BASIC_TIMESTAMP_FLAG);
  visit(ours.type, theirs.type, AMQP_BASIC_TYPE_FLAG);
  visit(ours.user_id, theirs.user_id, AMQP_BASIC_USER_ID_FLAG);
  visit(ours.app_id, theirs.app_id, AMQP_BASIC_APP_ID_FLAG);
  visit(ours.cluster_id, theirs.cluster_id, AMQP_BASIC_CLUSTER_ID_FLAG);
}

// Every property there or not, at random.
Properties RandomProperties(RandomValues* random) {
  Properties properties;
  ForEachProperty(properties, properties, [random](auto& property, auto&, int) {
    if (random->Below(2) == 0) random->Set(property.emplace());
  });
  return properties;
}

// What they read from a content header; fails if they refuse it.
amqp_basic_properties_t* ReadByThem(std::string_view payload, Pool* pool) {
  void* decoded = nullptr;
  const int status = amqp_decode_properties(AMQP_BASIC_CLASS, pool->get(),
                                            ToTheirs(payload.substr(kBeforeFlags)), &decoded);
  EXPECT_EQ(status, 0);
  return status == 0 ? static_cast<amqp_basic_properties_t*>(decoded) : nullptr;
}

bool Same(const Properties& ours, const amqp_basic_properties_t& theirs) {
  bool same = true;
  ForEachProperty(ours, theirs, [&](const auto& our, const auto& their, amqp_flags_t flag) {
    same &= our.has_value() == ((theirs._flags & flag) != 0) && (!our || Same(*our, their));
  });
  return same;
}

// What we write they read, and what they write we read.
void ExpectToAgree(const Properties& ours, std::uint64_t body_size) {
  std::string payload;
  AppendContentHeader(body_size, ours, &payload);
  Pool pool;
  amqp_basic_properties_t* theirs = ReadByThem(payload, &pool);
  ASSERT_NE(theirs, nullptr);
  ASSERT_TRUE(Same(ours, *theirs));

  std::string written = payload.substr(0, kBeforeFlags);
  written.resize(payload.size());
  const int size = amqp_encode_properties(AMQP_BASIC_CLASS, theirs,
                                          ToTheirs(std::string_view(written).substr(kBeforeFlags)));
  ASSERT_EQ(static_cast<std::size_t>(size), payload.size() - kBeforeFlags);
  const absl::StatusOr<ContentHeader> read = DecodeContentHeader(written);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(Same(read->properties, *theirs));
  ASSERT_EQ(read->body_size, body_size);
}

TEST(Oracle, AgreesOnProperties) {
  RandomValues random(4);
  for (std::uint64_t i = 0; i < 2000 && !HasFatalFailure(); ++i) {
    ExpectToAgree(RandomProperties(&random), i);
  }
}

TEST(Oracle, AcceptsThePropertiesThatWeAccept) {
  RandomValues random(5);
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string payload;
    AppendContentHeader(0, RandomProperties(&random), &payload);
    payload = payload.substr(0, kBeforeFlags) + random.Damage(payload.substr(kBeforeFlags));
    const absl::StatusOr<ContentHeader> ours = DecodeContentHeader(payload);
    ++(ours.ok() ? accepted : refused);
    if (!ours.ok()) continue;
    Pool pool;
    const amqp_basic_properties_t* theirs = ReadByThem(payload, &pool);
    ASSERT_NE(theirs, nullptr);
    ASSERT_TRUE(Same(ours->properties, *theirs));
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace retryq::amqp::oracle_test
