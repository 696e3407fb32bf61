#ifndef RETRYQ_AMQP_TABLE_H_
#define RETRYQ_AMQP_TABLE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "retryq/export.h"

namespace retryq::amqp {

// AMQP 0-9-1 field tables ("headers", "arguments") in two forms.
//
// `TableView` is the form in which this library forwards tables: the encoded bytes as the broker
// sent them, walked by length and without recursion, so that a forwarded header keeps its bytes and
// its wire type, whatever its type and nesting.
//
// `Table` is the decoded form, for arguments that the library writes and for headers that the
// caller wants to read. Decoding more than `kMaxTableDepth` levels fails with a Status: RabbitMQ
// carries tables nested 900 deep.
//
// The wire types are those that RabbitMQ uses, which differ from the AMQP 0-9-1 document in places:
// 's' is a signed 16-bit integer, 'l' a signed 64-bit one. 'L' is unsigned in librabbitmq and this
// library and signed in RabbitMQ: do not write it.
// https://www.rabbitmq.com/amqp-0-9-1-errata#section_3

// Levels of tables and arrays that are decoded; deeper levels stay encoded.
inline constexpr int kMaxTableDepth = 32;

class Table;
struct Value;
RETRYQ_EXPORT bool operator==(const Value& a, const Value& b);
RETRYQ_EXPORT bool operator==(const Table& a, const Table& b);

namespace internal {

template <typename T, typename Variant>
inline constexpr bool kIsAlternative = false;
template <typename T, typename... Alternatives>
inline constexpr bool kIsAlternative<T, std::variant<Alternatives...>> =
    (std::same_as<T, Alternatives> || ...);
template <typename T, typename Variant>
concept IsAlternative = kIsAlternative<T, Variant>;

// Pointers except texts, enums, and integers that are none of the alternatives, such as char.
template <typename T>
concept IsNoValue = std::is_null_pointer_v<T> || std::is_enum_v<T> || std::is_integral_v<T> ||
    (std::is_pointer_v<T> && !std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, char>);

}  // namespace internal

// 'A'. Values of an array may differ in type.
using Array = std::vector<Value>;

// 'D': unscaled value and number of decimal digits, value = unscaled /
// 10^scale.
struct Decimal {
  std::uint8_t scale = 0;
  std::int32_t unscaled = 0;
  friend bool operator==(const Decimal&, const Decimal&) = default;
};

// 'T': seconds since the Unix epoch.
struct Timestamp {
  std::uint64_t seconds = 0;
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

// 'x': a byte array, distinct from a long string ('S').
struct Bytes {
  std::string data;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};

// 'V': no value.
struct Void {
  friend bool operator==(const Void&, const Void&) = default;
};

// One decoded field value. The alternative determines the wire type: V t b B s u I i l L f d D T S
// x A F, in this order. Converts implicitly from each of them: `Value(7)` is a 32-bit integer,
// `Value("text")` a long string, `Value(Table{…})` a nested table.
struct RETRYQ_EXPORT Value {
  using Variant =
      std::variant<Void, bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t, float, double, Decimal, Timestamp,
                   std::string, Bytes, Array, std::shared_ptr<const Table>>;

  // NOLINTBEGIN(google-explicit-constructor)
  Value() noexcept;
  template <internal::IsAlternative<Variant> T>
  Value(T value) : variant(std::move(value)) {}
  // The other integer types of 64 bits, such as long long.
  template <std::integral T>
  requires(!internal::IsAlternative<T, Variant> && sizeof(T) == sizeof(std::int64_t)) Value(T value)
      : variant(static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(
            value)) {}
  Value(const char* text);
  Value(std::string_view text);
  Value(Table table);
  // Explains what to write for another type.
  template <typename T>
  requires(internal::IsNoValue<T> && !internal::IsAlternative<T, Variant> &&
           !(std::is_integral_v<T> && sizeof(T) == sizeof(std::int64_t))) Value(T) {
    static_assert(!internal::IsNoValue<T>,
                  "a header is a bool, a number, a text, a table or an array: cast an enum to an "
                  "integer, and write std::string(1, c) for a char");
  }
  // NOLINTEND(google-explicit-constructor)

  // Defined in the library, so that not every including file compiles them for 18 alternatives.
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  // Nested tables are compared by their fields.
  friend bool operator==(const Value& a, const Value& b);

  Variant variant;
};

// A decoded table: fields in wire order, names may repeat (the first wins).
class RETRYQ_EXPORT Table {
 public:
  using Field = std::pair<std::string, Value>;

  Table() noexcept;
  Table(std::initializer_list<Field> fields);
  Table(const Table& other);
  Table(Table&& other) noexcept;
  Table& operator=(const Table& other);
  Table& operator=(Table&& other) noexcept;
  ~Table();

  // Sets `name`, replacing its first occurrence.
  void Set(std::string_view name, Value value);
  // Appends without checking for an earlier field of that name.
  void Append(std::string_view name, Value value);

  // Returns the first field of that name; nullptr if there is none.
  const Value* Find(std::string_view name) const;

  const std::vector<Field>& fields() const { return fields_; }
  bool empty() const { return fields_.empty(); }

  // The wire form, without the 4-byte length in front. `kInvalidArgument`, with
  // the field's name, if a name is longer than 255 bytes or a value nests
  // deeper than kMaxTableDepth.
  absl::StatusOr<std::string> Encode() const;

  friend bool operator==(const Table& a, const Table& b);

 private:
  std::vector<Field> fields_;
};

class TableView;

// One field of an encoded table: views into the table's bytes.
struct RETRYQ_EXPORT FieldView {
  std::string_view name;
  char type = 'V';         // the wire type, e.g. 'S' for a long string
  std::string_view value;  // the bytes behind the type, lengths included
  std::string_view bytes;  // the whole field: name's length, name, type, value

  // The value of any integer type, widened; nullopt if it is not an integer or exceeds int64.
  std::optional<std::int64_t> AsInt64() const;
  // The text of 'S' or 'x'; otherwise nullopt.
  std::optional<std::string_view> AsString() const;
  // The nested table of 'F'; otherwise nullopt.
  std::optional<TableView> AsTable() const;
  // `kInvalidArgument` if it nests deeper than kMaxTableDepth.
  absl::StatusOr<Value> Decode() const;
};

// An encoded table in memory that it does not own. Cheap to copy. Iteration never recurses, never
// allocates and never reads outside the bytes.
class RETRYQ_EXPORT TableView {
 public:
  TableView() = default;
  // The bytes of the fields, without the 4-byte length. They need not be valid: see `Validate`;
  // iteration over invalid bytes ends before the first bad field.
  explicit TableView(std::string_view bytes) : bytes_(bytes) {}

  // Checks that all lengths of the top level and of nested tables and arrays are within bounds
  // (without recursion). `kInvalidArgument` names the field.
  absl::Status Validate() const;

  // Checks that all numbers in a valid table are finite, at any depth: RabbitMQ closes the
  // connection of a client that sends NaN or an infinity. `kInvalidArgument` names the field.
  absl::Status CheckFinite() const;

  std::optional<FieldView> Find(std::string_view name) const;
  std::optional<std::int64_t> FindInt64(std::string_view name) const;
  std::optional<std::string_view> FindString(std::string_view name) const;

  // `kInvalidArgument` for bad lengths and for more than kMaxTableDepth levels.
  absl::StatusOr<Table> Decode() const;

  std::string_view bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = FieldView;
    using difference_type = std::ptrdiff_t;
    using pointer = const FieldView*;
    using reference = const FieldView&;

    Iterator() = default;
    explicit Iterator(std::string_view rest) : rest_(rest) { Advance(); }
    const FieldView& operator*() const { return field_; }
    const FieldView* operator->() const { return &field_; }
    Iterator& operator++() {
      Advance();
      return *this;
    }
    void operator++(int) { Advance(); }
    friend bool operator==(const Iterator& a, const Iterator& b) {
      return a.field_.bytes.data() == b.field_.bytes.data();
    }

   private:
    void Advance();

    std::string_view rest_;
    FieldView field_;  // its bytes are null at the end
  };
  Iterator begin() const { return Iterator(bytes_); }
  Iterator end() const { return {}; }

 private:
  std::string_view bytes_;
};

// Writes an encoded table field by field, to patch headers at their top level: copy the fields that
// stay, set those that change. Appends to a string that can be reused, so that repeated use
// allocates nothing.
//
//   std::string out;
//   TableWriter writer(&out);
//   for (const FieldView& field : view) if (Keep(field)) writer.Copy(field);
//   writer.SetInt64("x-retry-count", 3);
class RETRYQ_EXPORT TableWriter {
 public:
  // `out` must outlive the writer; it is appended to.
  explicit TableWriter(std::string* out) : out_(out) {}

  void Copy(const FieldView& field) { out_->append(field.bytes); }
  // Names must be at most 255 bytes.
  void SetInt64(std::string_view name, std::int64_t value);
  // Replaces the value that SetInt64 wrote, the last eight bytes of the field.
  static void ReplaceInt64(std::int64_t value, char* value_at);
  void SetString(std::string_view name,
                 std::string_view value);  // wire type 'S'
  void SetBool(std::string_view name, bool value);

 private:
  std::string* out_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_TABLE_H_
