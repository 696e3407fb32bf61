#ifndef RETRYQ_TEST_UNIT_AMQP_LIBRABBITMQ_H_
#define RETRYQ_TEST_UNIT_AMQP_LIBRABBITMQ_H_

#include <amqp.h>
#include <amqp_framing.h>

#include "retryq/amqp/table.h"
#include "support/test.h"

// librabbitmq's codec as an oracle: our values as its own, and back. It recurses into nested
// tables: keep them shallow.
namespace retryq::amqp::librabbitmq {

// Owns what is decoded, or made ready to be encoded.
class Pool {
 public:
  Pool() { init_amqp_pool(&pool_, 4096); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { empty_amqp_pool(&pool_); }

  amqp_pool_t* get() { return &pool_; }

  template <typename T>
  T* Make(std::size_t count) {
    return static_cast<T*>(amqp_pool_alloc(&pool_, count * sizeof(T)));
  }

 private:
  amqp_pool_t pool_;
};

// Only to be read through, although librabbitmq's type does not say so.
inline amqp_bytes_t ToTheirs(std::string_view text) {
  amqp_bytes_t bytes;
  bytes.len = text.size();
  bytes.bytes = const_cast<char*>(text.data());
  return bytes;
}
inline std::string_view ToOurs(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

amqp_table_t ToTheirs(const Table& table, Pool* pool);
Table ToOurs(const amqp_table_t& table);

// Makes one of their values of one of ours. It refers to ours.
struct FieldValue {
  Pool* pool;
  amqp_field_value_t their{};

  void operator()(Void) { their.kind = AMQP_FIELD_KIND_VOID; }
  void operator()(bool flag) { Set(AMQP_FIELD_KIND_BOOLEAN, their.value.boolean) = flag; }
  void operator()(std::int8_t n) { Set(AMQP_FIELD_KIND_I8, their.value.i8) = n; }
  void operator()(std::uint8_t n) { Set(AMQP_FIELD_KIND_U8, their.value.u8) = n; }
  void operator()(std::int16_t n) { Set(AMQP_FIELD_KIND_I16, their.value.i16) = n; }
  void operator()(std::uint16_t n) { Set(AMQP_FIELD_KIND_U16, their.value.u16) = n; }
  void operator()(std::int32_t n) { Set(AMQP_FIELD_KIND_I32, their.value.i32) = n; }
  void operator()(std::uint32_t n) { Set(AMQP_FIELD_KIND_U32, their.value.u32) = n; }
  void operator()(std::int64_t n) { Set(AMQP_FIELD_KIND_I64, their.value.i64) = n; }
  void operator()(std::uint64_t n) { Set(AMQP_FIELD_KIND_U64, their.value.u64) = n; }
  void operator()(float n) { Set(AMQP_FIELD_KIND_F32, their.value.f32) = n; }
  void operator()(double n) { Set(AMQP_FIELD_KIND_F64, their.value.f64) = n; }
  void operator()(Timestamp t) { Set(AMQP_FIELD_KIND_TIMESTAMP, their.value.u64) = t.seconds; }
  void operator()(Decimal n) {
    Set(AMQP_FIELD_KIND_DECIMAL, their.value.decimal) = {n.scale,
                                                         static_cast<std::uint32_t>(n.unscaled)};
  }
  void operator()(const std::string& text) {
    Set(AMQP_FIELD_KIND_UTF8, their.value.bytes) = ToTheirs(text);
  }
  void operator()(const Bytes& bytes) {
    Set(AMQP_FIELD_KIND_BYTES, their.value.bytes) = ToTheirs(bytes.data);
  }
  void operator()(const Array& array) {
    amqp_array_t& target = Set(AMQP_FIELD_KIND_ARRAY, their.value.array);
    target = {static_cast<int>(array.size()), pool->Make<amqp_field_value_t>(array.size())};
    for (std::size_t i = 0; i < array.size(); ++i) {
      FieldValue element{pool};
      std::visit(element, array[i].variant);
      target.entries[i] = element.their;
    }
  }
  void operator()(const std::shared_ptr<const Table>& table) {
    Set(AMQP_FIELD_KIND_TABLE, their.value.table) = ToTheirs(*table, pool);
  }

 private:
  template <typename T>
  T& Set(amqp_field_value_kind_t kind, T& value) {
    their.kind = static_cast<std::uint8_t>(kind);
    return value;
  }
};

inline amqp_table_t ToTheirs(const Table& table, Pool* pool) {
  const auto& fields = table.fields();
  amqp_table_t their{static_cast<int>(fields.size()),
                     pool->Make<amqp_table_entry_t>(fields.size())};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    FieldValue value{pool};
    std::visit(value, fields[i].second.variant);
    their.entries[i] = {ToTheirs(fields[i].first), value.their};
  }
  return their;
}

inline Value ToOurs(const amqp_field_value_t& their) {
  switch (their.kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
      return Value(their.value.boolean != 0);
    case AMQP_FIELD_KIND_I8:
      return Value(their.value.i8);
    case AMQP_FIELD_KIND_U8:
      return Value(their.value.u8);
    case AMQP_FIELD_KIND_I16:
      return Value(their.value.i16);
    case AMQP_FIELD_KIND_U16:
      return Value(their.value.u16);
    case AMQP_FIELD_KIND_I32:
      return Value(their.value.i32);
    case AMQP_FIELD_KIND_U32:
      return Value(their.value.u32);
    case AMQP_FIELD_KIND_I64:
      return Value(their.value.i64);
    case AMQP_FIELD_KIND_U64:
      return Value(their.value.u64);
    case AMQP_FIELD_KIND_F32:
      return Value(their.value.f32);
    case AMQP_FIELD_KIND_F64:
      return Value(their.value.f64);
    case AMQP_FIELD_KIND_TIMESTAMP:
      return Value(Timestamp{their.value.u64});
    case AMQP_FIELD_KIND_DECIMAL:
      return Value(Decimal{their.value.decimal.decimals,
                           static_cast<std::int32_t>(their.value.decimal.value)});
    case AMQP_FIELD_KIND_UTF8:
      return Value(ToOurs(their.value.bytes));
    case AMQP_FIELD_KIND_BYTES:
      return Value(Bytes{std::string(ToOurs(their.value.bytes))});
    case AMQP_FIELD_KIND_ARRAY: {
      Array array;
      for (int i = 0; i < their.value.array.num_entries; ++i) {
        array.push_back(ToOurs(their.value.array.entries[i]));
      }
      return Value(std::move(array));
    }
    case AMQP_FIELD_KIND_TABLE:
      return Value(ToOurs(their.value.table));
    default:
      return Value();
  }
}

inline Table ToOurs(const amqp_table_t& their) {
  Table table;
  for (int i = 0; i < their.num_entries; ++i) {
    table.Append(ToOurs(their.entries[i].key), ToOurs(their.entries[i].value));
  }
  return table;
}

}  // namespace retryq::amqp::librabbitmq

#endif  // RETRYQ_TEST_UNIT_AMQP_LIBRABBITMQ_H_
