#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "amqp/codec/method_codec.h"
#include "amqp/codec/properties_codec.h"
#include "amqp/codec/wire.h"
#include "unit/amqp/librabbitmq.h"
#include "unit/amqp/random_values.h"

// The codec held against librabbitmq's: what ours writes theirs reads, what theirs writes ours
// reads, and whatever ours accepts theirs accepts, all with the same values.
namespace retryq::amqp {
namespace oracle_test {

using librabbitmq::Pool;
using librabbitmq::ToOurs;
using librabbitmq::ToTheirs;

constexpr int kShallow = 4;

// Tables are compared by their encoding, in which NaNs are equal and 0 is not -0.
std::string Encoded(const Table& table) { return table.Encode().value(); }

bool Same(bool ours, amqp_boolean_t theirs) { return ours == (theirs != 0); }
template <FieldInteger T>
bool Same(T ours, T theirs) {
  return ours == theirs;
}
bool Same(std::string_view ours, amqp_bytes_t theirs) { return ours == ToOurs(theirs); }
bool Same(LongString ours, amqp_bytes_t theirs) { return ours.bytes == ToOurs(theirs); }
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

// One method, ours and theirs. `Fields` ties the fields of either struct: they bear the same names.
template <typename Ours, typename Theirs, typename Fields>
class MethodComparison {
 public:
  explicit MethodComparison(Fields fields) : fields_(std::move(fields)) {}

  void Run() {
    for (int i = 0; i < 100 && !::testing::Test::HasFatalFailure(); ++i) {
      Ours ours;
      std::apply([this](auto&... field) { (random_.Set(field), ...); }, fields_(ours));
      std::string payload;
      AppendMethod(ours, &payload);
      TheyReadAndWriteTheSame(ours, payload);

      const std::string damaged =
          payload.substr(0, kIdSize) + random_.Damage(payload.substr(kIdSize));
      if (const std::optional<Ours> accepted = ReadByUs(damaged)) TheyRead(*accepted, damaged);
    }
  }

 private:
  static constexpr std::size_t kIdSize = 4;
  static constexpr amqp_method_number_t kNumber =
      amqp_method_number_t{Ours::kId.class_id} << 16 | Ours::kId.method_id;

  // What they read from the fields behind the method's number; fails if they refuse it.
  Theirs* ReadByThem(std::string_view payload, Pool* pool) {
    void* decoded = nullptr;
    const int status =
        amqp_decode_method(kNumber, pool->get(), ToTheirs(payload.substr(kIdSize)), &decoded);
    EXPECT_EQ(status, 0) << Ours::kId.name;
    return status == 0 ? static_cast<Theirs*>(decoded) : nullptr;
  }

  static std::optional<Ours> ReadByUs(std::string_view payload) {
    if (const auto method = DecodeServerMethod(payload); method.ok()) return Get(*method);
    if (const auto method = DecodeClientMethod(payload); method.ok()) return Get(*method);
    return std::nullopt;
  }
  template <typename... Methods>
  static std::optional<Ours> Get(const std::variant<Methods...>& method) {
    if constexpr ((std::same_as<Methods, Ours> || ...)) return std::get<Ours>(method);
    return std::nullopt;
  }

  void ExpectSame(const Ours& ours, const Theirs& theirs) {
    const bool same = std::apply(
        [&](const auto&... our) {
          return std::apply([&](const auto&... their) { return (Same(our, their) && ...); },
                            fields_(theirs));
        },
        fields_(ours));
    ASSERT_TRUE(same) << Ours::kId.name;
  }

  void TheyRead(const Ours& ours, std::string_view payload) {
    Pool pool;
    if (const Theirs* theirs = ReadByThem(payload, &pool)) ExpectSame(ours, *theirs);
  }

  void TheyReadAndWriteTheSame(const Ours& ours, std::string_view payload) {
    Pool pool;
    Theirs* theirs = ReadByThem(payload, &pool);
    ASSERT_NE(theirs, nullptr);
    ExpectSame(ours, *theirs);

    std::string written(payload.substr(0, kIdSize));
    written.resize(payload.size());
    const int size =
        amqp_encode_method(kNumber, theirs, ToTheirs(std::string_view(written).substr(kIdSize)));
    ASSERT_EQ(written, payload) << Ours::kId.name;
    ASSERT_EQ(static_cast<std::size_t>(size), payload.size() - kIdSize);

    const std::optional<Ours> read = ReadByUs(written);
    ASSERT_TRUE(read.has_value()) << Ours::kId.name;
    ExpectSame(*read, *theirs);
  }

  Fields fields_;
  RandomValues random_{kNumber};
};

// Those that were compared.
std::set<std::string>& Compared() {
  static std::set<std::string> names;
  return names;
}

template <typename Ours, typename Theirs, typename Fields>
void Compare(Fields fields) {
  Compared().insert(Ours::kId.name);
  MethodComparison<Ours, Theirs, Fields>(std::move(fields)).Run();
}

template <typename... Methods>
void ExpectToBeCompared(std::type_identity<std::variant<Methods...>>) {
  // 0.11 does not know them: MethodWriter.WritesUpdateSecret and others hold them.
  const std::set<std::string> unknown = {"connection.update-secret", "connection.update-secret-ok"};
  for (const std::string& name : {std::string(Methods::kId.name)...}) {
    EXPECT_EQ(Compared().count(name) + unknown.count(name), 1U) << name;
  }
}

TEST(Oracle, AgreesOnEveryMethod) {
  using namespace method;  // NOLINT(google-build-using-namespace)
  constexpr auto kNoFields = [](auto&) { return std::tuple<>(); };
  Compare<ConnectionStart, amqp_connection_start_t>([](auto& m) {
    return std::tie(m.version_major, m.version_minor, m.server_properties, m.mechanisms, m.locales);
  });
  Compare<ConnectionStartOk, amqp_connection_start_ok_t>(
      [](auto& m) { return std::tie(m.client_properties, m.mechanism, m.response, m.locale); });
  Compare<ConnectionSecure, amqp_connection_secure_t>(
      [](auto& m) { return std::tie(m.challenge); });
  Compare<ConnectionSecureOk, amqp_connection_secure_ok_t>(
      [](auto& m) { return std::tie(m.response); });
  Compare<ConnectionTune, amqp_connection_tune_t>(
      [](auto& m) { return std::tie(m.channel_max, m.frame_max, m.heartbeat); });
  Compare<ConnectionTuneOk, amqp_connection_tune_ok_t>(
      [](auto& m) { return std::tie(m.channel_max, m.frame_max, m.heartbeat); });
  Compare<ConnectionOpen, amqp_connection_open_t>([](auto& m) { return std::tie(m.virtual_host); });
  Compare<ConnectionOpenOk, amqp_connection_open_ok_t>(kNoFields);
  Compare<ConnectionClose, amqp_connection_close_t>(
      [](auto& m) { return std::tie(m.reply_code, m.reply_text, m.class_id, m.method_id); });
  Compare<ConnectionCloseOk, amqp_connection_close_ok_t>(kNoFields);
  Compare<ConnectionBlocked, amqp_connection_blocked_t>([](auto& m) { return std::tie(m.reason); });
  Compare<ConnectionUnblocked, amqp_connection_unblocked_t>(kNoFields);
  Compare<ChannelOpen, amqp_channel_open_t>(kNoFields);
  Compare<ChannelOpenOk, amqp_channel_open_ok_t>(kNoFields);
  Compare<ChannelFlow, amqp_channel_flow_t>([](auto& m) { return std::tie(m.active); });
  Compare<ChannelFlowOk, amqp_channel_flow_ok_t>([](auto& m) { return std::tie(m.active); });
  Compare<ChannelClose, amqp_channel_close_t>(
      [](auto& m) { return std::tie(m.reply_code, m.reply_text, m.class_id, m.method_id); });
  Compare<ChannelCloseOk, amqp_channel_close_ok_t>(kNoFields);
  Compare<ExchangeDeclare, amqp_exchange_declare_t>([](auto& m) {
    return std::tie(m.exchange, m.type, m.passive, m.durable, m.auto_delete, m.internal, m.nowait,
                    m.arguments);
  });
  Compare<ExchangeDeclareOk, amqp_exchange_declare_ok_t>(kNoFields);
  Compare<ExchangeDelete, amqp_exchange_delete_t>(
      [](auto& m) { return std::tie(m.exchange, m.if_unused, m.nowait); });
  Compare<ExchangeDeleteOk, amqp_exchange_delete_ok_t>(kNoFields);
  Compare<QueueDeclare, amqp_queue_declare_t>([](auto& m) {
    return std::tie(m.queue, m.passive, m.durable, m.exclusive, m.auto_delete, m.nowait,
                    m.arguments);
  });
  Compare<QueueDeclareOk, amqp_queue_declare_ok_t>(
      [](auto& m) { return std::tie(m.queue, m.message_count, m.consumer_count); });
  Compare<QueueBind, amqp_queue_bind_t>(
      [](auto& m) { return std::tie(m.queue, m.exchange, m.routing_key, m.nowait, m.arguments); });
  Compare<QueueBindOk, amqp_queue_bind_ok_t>(kNoFields);
  Compare<QueueUnbind, amqp_queue_unbind_t>(
      [](auto& m) { return std::tie(m.queue, m.exchange, m.routing_key, m.arguments); });
  Compare<QueueUnbindOk, amqp_queue_unbind_ok_t>(kNoFields);
  Compare<QueuePurge, amqp_queue_purge_t>([](auto& m) { return std::tie(m.queue, m.nowait); });
  Compare<QueuePurgeOk, amqp_queue_purge_ok_t>([](auto& m) { return std::tie(m.message_count); });
  Compare<QueueDelete, amqp_queue_delete_t>(
      [](auto& m) { return std::tie(m.queue, m.if_unused, m.if_empty, m.nowait); });
  Compare<QueueDeleteOk, amqp_queue_delete_ok_t>([](auto& m) { return std::tie(m.message_count); });
  Compare<BasicQos, amqp_basic_qos_t>(
      [](auto& m) { return std::tie(m.prefetch_size, m.prefetch_count, m.global); });
  Compare<BasicQosOk, amqp_basic_qos_ok_t>(kNoFields);
  Compare<BasicConsume, amqp_basic_consume_t>([](auto& m) {
    return std::tie(m.queue, m.consumer_tag, m.no_local, m.no_ack, m.exclusive, m.nowait,
                    m.arguments);
  });
  Compare<BasicConsumeOk, amqp_basic_consume_ok_t>(
      [](auto& m) { return std::tie(m.consumer_tag); });
  Compare<BasicCancel, amqp_basic_cancel_t>(
      [](auto& m) { return std::tie(m.consumer_tag, m.nowait); });
  Compare<BasicCancelOk, amqp_basic_cancel_ok_t>([](auto& m) { return std::tie(m.consumer_tag); });
  Compare<BasicPublish, amqp_basic_publish_t>(
      [](auto& m) { return std::tie(m.exchange, m.routing_key, m.mandatory, m.immediate); });
  Compare<BasicReturn, amqp_basic_return_t>(
      [](auto& m) { return std::tie(m.reply_code, m.reply_text, m.exchange, m.routing_key); });
  Compare<BasicDeliver, amqp_basic_deliver_t>([](auto& m) {
    return std::tie(m.consumer_tag, m.delivery_tag, m.redelivered, m.exchange, m.routing_key);
  });
  Compare<BasicGet, amqp_basic_get_t>([](auto& m) { return std::tie(m.queue, m.no_ack); });
  Compare<BasicGetOk, amqp_basic_get_ok_t>([](auto& m) {
    return std::tie(m.delivery_tag, m.redelivered, m.exchange, m.routing_key, m.message_count);
  });
  Compare<BasicGetEmpty, amqp_basic_get_empty_t>(kNoFields);
  Compare<BasicAck, amqp_basic_ack_t>([](auto& m) { return std::tie(m.delivery_tag, m.multiple); });
  Compare<BasicReject, amqp_basic_reject_t>(
      [](auto& m) { return std::tie(m.delivery_tag, m.requeue); });
  Compare<BasicRecover, amqp_basic_recover_t>([](auto& m) { return std::tie(m.requeue); });
  Compare<BasicRecoverOk, amqp_basic_recover_ok_t>(kNoFields);
  Compare<BasicNack, amqp_basic_nack_t>(
      [](auto& m) { return std::tie(m.delivery_tag, m.multiple, m.requeue); });
  Compare<ConfirmSelect, amqp_confirm_select_t>([](auto& m) { return std::tie(m.nowait); });
  Compare<ConfirmSelectOk, amqp_confirm_select_ok_t>(kNoFields);

  ExpectToBeCompared(std::type_identity<ServerMethod>());
  ExpectToBeCompared(std::type_identity<ClientMethod>());
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

}  // namespace oracle_test
}  // namespace retryq::amqp
