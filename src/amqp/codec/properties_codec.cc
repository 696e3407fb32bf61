#include "amqp/codec/properties_codec.h"

#include <tuple>

#include "absl/strings/str_cat.h"
#include "amqp/codec/fields.h"
#include "amqp/codec/frame.h"
#include "amqp/codec/protocol_error.h"
#include "amqp/codec/wire.h"

namespace retryq::amqp {
namespace {

constexpr std::uint16_t kBasicClass = 60;

// The fixed part of each content header: class, weight (0), body size, flags.
constexpr std::uint16_t kWeight = 0;
constexpr std::size_t kWeightAt = sizeof(kBasicClass);
constexpr std::size_t kSizeAt = kWeightAt + sizeof(kWeight);
constexpr std::size_t kFlagsAt = kSizeAt + sizeof(std::uint64_t);
constexpr std::size_t kFixedSize = kFlagsAt + sizeof(std::uint16_t);

// Flags of the properties that are present, from the highest bit for the first property. The lowest
// bit announces another word of flags, for properties that do not exist yet.
constexpr std::uint16_t kFirstFlag = 0x8000;
constexpr std::uint16_t kMoreFlags = 0x0001;

// All properties in wire order.
constexpr auto Fields(auto& p) {
  return std::tie(p.content_type, p.content_encoding, p.headers, p.delivery_mode, p.priority,
                  p.correlation_id, p.reply_to, p.expiration, p.message_id, p.timestamp, p.type,
                  p.user_id, p.app_id, p.cluster_id);
}

constexpr std::size_t kPropertyCount =
    std::tuple_size_v<decltype(Fields(std::declval<Properties&>()))>;
constexpr std::uint16_t kKnownFlags =
    static_cast<std::uint16_t>(~(0xffffU >> kPropertyCount) & 0xffffU);

// Returns whether all flags are those of known properties, after reading further words of flags.
bool AreKnown(std::uint16_t flags, FieldReader* reader) {
  std::uint16_t more = flags & kMoreFlags;
  while (more == kMoreFlags) reader->Read(more);
  return more == 0 && (flags & ~(kKnownFlags | kMoreFlags)) == 0;
}

}  // namespace

absl::StatusOr<ContentHeader> DecodeContentHeader(std::string_view payload) {
  ContentHeader header;
  const absl::Status status = DecodeContentHeader(payload, &header.properties, &header.body_size);
  if (!status.ok()) return status;
  return header;
}

absl::Status DecodeContentHeader(std::string_view payload, Properties* properties,
                                 std::uint64_t* body_size) {
  if (payload.size() < kFixedSize) {
    return ProtocolError(ReplyCode::kSyntaxError, "content header ends early");
  }
  const auto class_id = LoadBigEndian<std::uint16_t>(payload.data());
  const auto weight = LoadBigEndian<std::uint16_t>(payload.data() + kWeightAt);
  const auto flags = LoadBigEndian<std::uint16_t>(payload.data() + kFlagsAt);
  *body_size = LoadBigEndian<std::uint64_t>(payload.data() + kSizeAt);
  payload.remove_prefix(kFixedSize);
  FieldReader reader(payload);
  if (class_id != kBasicClass) {
    return ProtocolError(ReplyCode::kFrameError,
                         absl::StrCat("content header of class ", class_id));
  }
  if (weight != 0) {
    return ProtocolError(ReplyCode::kUnexpectedFrame,
                         absl::StrCat("content header of weight ", weight));
  }
  if (!AreKnown(flags, &reader)) {
    return ProtocolError(ReplyCode::kSyntaxError, "content header with unknown properties");
  }
  std::uint32_t flag = kFirstFlag;
  const auto read = [&](auto& field) {
    if ((flags & flag) != 0) reader.Read(field.emplace());
    flag >>= 1;
  };
  std::apply([&](auto&... fields) { (read(fields), ...); }, Fields(*properties));
  return reader.Finish("content header");
}

std::size_t ContentHeaderSize(const Properties& properties) {
  FieldSizer sizer;
  const auto add = [&sizer](const auto& field) {
    if (field) sizer.Add(*field);
  };
  std::apply([&](const auto&... fields) { (add(fields), ...); }, Fields(properties));
  return kFixedSize + sizer.size();
}

void WriteContentHeader(std::uint64_t body_size, const Properties& properties, char* out) {
  FieldWriter writer(out);
  writer.Write(kBasicClass);
  writer.Write(kWeight);
  writer.Write(body_size);
  writer.Write(std::uint16_t{0});  // the flags are stored when they are known
  std::uint32_t flags = 0;
  const auto add = [&]<std::size_t... i>(std::index_sequence<i...>, const auto& fields) {
    const auto write = [&](const auto& value, std::uint32_t flag) {
      flags |= flag;
      writer.Write(value);
    };
    ((std::get<i>(fields) ? write(*std::get<i>(fields), kFirstFlag >> i) : void()), ...);
  };
  add(std::make_index_sequence<kPropertyCount>(), Fields(properties));
  StoreBigEndian(static_cast<std::uint16_t>(flags), out + kFlagsAt);
}

void AppendContentHeader(std::uint64_t body_size, const Properties& properties, std::string* out) {
  WriteContentHeader(body_size, properties, Extend(ContentHeaderSize(properties), out));
}

void AppendContentHeaderFrame(std::uint16_t channel, std::uint64_t body_size,
                              const Properties& properties, std::string* out) {
  WriteContentHeader(
      body_size, properties,
      ExtendByFrame(FrameType::kHeader, channel, ContentHeaderSize(properties), out));
}

}  // namespace retryq::amqp
