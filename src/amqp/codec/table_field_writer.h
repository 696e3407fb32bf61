#ifndef RETRYQ_AMQP_TABLE_FIELD_WRITER_H_
#define RETRYQ_AMQP_TABLE_FIELD_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "amqp/codec/wire.h"
#include "retryq/amqp/table.h"

namespace retryq::amqp {

// What a field takes whose value takes so much.
constexpr std::size_t FieldSize(std::string_view name, std::size_t value_size) {
  return sizeof(std::uint8_t) + name.size() + sizeof(char) + value_size;
}

// What the values of fields take.
inline constexpr std::size_t kInt64Size = sizeof(std::int64_t);
constexpr std::size_t StringSize(std::string_view text) {
  return sizeof(std::uint32_t) + text.size();
}

// TableWriter where there is room already. Inline: a field whose name the compiler knows is a few
// stores.
class TableFieldWriter {
 public:
  explicit TableFieldWriter(char* out) : wire_(out) {}

  void Copy(const FieldView& field) { wire_.Bytes(field.bytes); }
  // Names must be at most 255 bytes.
  void SetInt64(std::string_view name, std::int64_t value) {
    Begin(name, 'l');
    wire_.Integer(static_cast<std::uint64_t>(value));
  }
  void SetString(std::string_view name, std::string_view value) {
    Begin(name, 'S');
    wire_.LongString(value);
  }
  void SetBool(std::string_view name, bool value) {
    Begin(name, 't');
    wire_.Integer(static_cast<std::uint8_t>(value ? 1 : 0));
  }

  // Where the next one goes.
  char* end() const { return wire_.end(); }

 private:
  void Begin(std::string_view name, char type) {
    wire_.ShortString(name);
    wire_.Integer(static_cast<std::uint8_t>(type));
  }

  WireWriter wire_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_TABLE_FIELD_WRITER_H_
