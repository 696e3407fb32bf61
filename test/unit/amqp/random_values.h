#ifndef RETRYQ_TEST_UNIT_AMQP_RANDOM_VALUES_H_
#define RETRYQ_TEST_UNIT_AMQP_RANDOM_VALUES_H_

#include <bit>
#include <random>

#include "amqp/codec/fields.h"
#include "amqp/codec/wire.h"
#include "base/name_size.h"
#include "retryq/amqp/table.h"
#include "support/test.h"

namespace retryq::amqp {

// Random values of everything that has a place on the wire. One seed, one sequence. Views point
// into the object.
class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : engine_(seed) {}

  // Uniform in [0, limit).
  std::size_t Below(std::size_t limit) { return engine_() % limit; }

  // Often empty, sometimes as long as can be, otherwise short; any bytes.
  std::string Text(std::size_t longest) {
    const std::size_t kind = Below(8);
    std::string text(kind == 0 ? 0 : kind == 1 ? longest : Below(20), '\0');
    for (char& c : text) c = static_cast<char>(engine_());
    return text;
  }

  // A table that nests `levels` at most.
  Table MakeTable(int levels) {
    Table table;
    for (std::size_t count = Below(6); count > 0; --count) {
      table.Append(Text(kMaxNameSize), MakeValue(levels - 1));
    }
    return table;
  }

  // Of any kind, but tables and arrays only while there are levels left.
  Value MakeValue(int levels) {
    static_assert(std::variant_size_v<Value::Variant> == 18);
    switch (Below(levels > 0 ? 18 : 16)) {
      case 0:
        return Value();
      case 1:
        return Value(Below(2) == 0);
      case 2:
        return Value(Integer<std::int8_t>());
      case 3:
        return Value(Integer<std::uint8_t>());
      case 4:
        return Value(Integer<std::int16_t>());
      case 5:
        return Value(Integer<std::uint16_t>());
      case 6:
        return Value(Integer<std::int32_t>());
      case 7:
        return Value(Integer<std::uint32_t>());
      case 8:
        return Value(Integer<std::int64_t>());
      case 9:
        return Value(Integer<std::uint64_t>());
      case 10:
        return Value(std::bit_cast<float>(Integer<std::uint32_t>()));
      case 11:
        return Value(std::bit_cast<double>(Integer<std::uint64_t>()));
      case 12:
        return Value(Decimal{Integer<std::uint8_t>(), Integer<std::int32_t>()});
      case 13:
        return Value(Timestamp{Integer<std::uint64_t>()});
      case 14:
        return Value(Text(1000));
      case 15:
        return Value(Bytes{Text(1000)});
      case 16:
        return Value(MakeTable(levels));
      default: {
        Array array;
        for (std::size_t count = Below(5); count > 0; --count) {
          array.push_back(MakeValue(levels - 1));
        }
        return Value(std::move(array));
      }
    }
  }

  // The fields of methods and properties.
  void Set(bool& flag) { flag = Below(2) == 0; }
  void Set(FieldInteger auto& number) {
    number = Integer<std::remove_reference_t<decltype(number)>>();
  }
  void Set(std::string_view& text) { text = Keep(Text(kMaxNameSize)); }
  void Set(LongString& text) { text.bytes = Keep(Text(2000)); }
  template <typename T>
  void Set(const Reserved<T>&) {}
  void Set(TableView& table) { table = TableView(Keep(MakeTable(3).Encode().value())); }

  // `bytes` with a few of them changed, or some missing at the end.
  std::string Damage(std::string bytes) {
    if (bytes.empty()) return bytes;
    if (Below(4) == 0) bytes.resize(Below(bytes.size()));
    for (std::size_t count = bytes.empty() ? 0 : 1 + Below(3); count > 0; --count) {
      char& byte = bytes[Below(bytes.size())];
      byte = Below(2) == 0 ? static_cast<char>(engine_()) : static_cast<char>(byte + 1);
    }
    return bytes;
  }

 private:
  template <typename T>
  T Integer() {
    return static_cast<T>(engine_());
  }

  std::string_view Keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  std::mt19937_64 engine_;
  std::deque<std::string> kept_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_UNIT_AMQP_RANDOM_VALUES_H_
