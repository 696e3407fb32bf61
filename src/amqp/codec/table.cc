#include "retryq/amqp/table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "absl/container/inlined_vector.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "amqp/codec/wire.h"
#include "base/name_size.h"

namespace retryq::amqp {
namespace {

// ---- Steps through encoded tables and arrays by their lengths

// The size of the value of each wire type: a number of bytes, or a 4-byte length followed by this
// number of bytes. These are the types of RabbitMQ and librabbitmq.
constexpr std::uint8_t kLengthFirst = 0xfe;
constexpr std::uint8_t kUnknownType = 0xff;
constexpr auto kValueSizes = [] {
  std::array<std::uint8_t, 256> sizes{};
  sizes.fill(kUnknownType);
  const auto set = [&sizes](std::string_view types, std::uint8_t size) {
    for (const char type : types) sizes[static_cast<std::uint8_t>(type)] = size;
  };
  set("V", 0);
  set("tbB", 1);
  set("su", 2);
  set("Iif", 4);
  set("D", 5);
  set("lLdT", 8);
  set("SxAF", kLengthFirst);
  return sizes;
}();

bool TakeName(std::string_view* rest, std::string_view* name) {
  if (rest->empty()) return false;
  const std::size_t size = static_cast<std::uint8_t>(rest->front());
  if (rest->size() < 1 + size) return false;
  *name = rest->substr(1, size);
  rest->remove_prefix(1 + size);
  return true;
}

// Whether the type is a table or an array: 'F' and 'A'.
bool IsNested(char type) { return type == 'F' || type == 'A'; }

// Returns the part of a value of type S, x, A or F after its length.
std::string_view Content(std::string_view value) { return value.substr(sizeof(std::uint32_t)); }

// `TakeValue` and `TakeField` remove one item from the front of `rest`. They return false if it
// does not fit or its type is unknown; `rest` must not be used then.

bool TakeValue(std::string_view* rest, char* type, std::string_view* value) {
  if (rest->empty()) return false;
  *type = rest->front();
  rest->remove_prefix(1);
  std::size_t size = kValueSizes[static_cast<std::uint8_t>(*type)];
  if (size == kUnknownType) return false;
  if (size == kLengthFirst) {
    size = sizeof(std::uint32_t);
    if (rest->size() < size) return false;
    const auto length = LoadBigEndian<std::uint32_t>(rest->data());
    // Compare the difference, because the sum could exceed a size_t.
    if (rest->size() - size < length) return false;
    size += length;
  }
  if (rest->size() < size) return false;
  *value = rest->substr(0, size);
  rest->remove_prefix(size);
  return true;
}

bool TakeField(std::string_view* rest, FieldView* field) {
  const std::string_view start = *rest;
  if (!TakeName(rest, &field->name) || !TakeValue(rest, &field->type, &field->value)) return false;
  field->bytes = start.substr(0, start.size() - rest->size());
  return true;
}

// Whether all lengths in a table ('F') or array ('A') with this content are valid, at any depth.
// Nested tables and arrays are kept in a list instead of on the stack. Time is linear in the size
// at any depth. Memory is 8 bytes for each level after which its parent continues.
bool NestedLengthsHold(char type, std::string_view content) {
  struct Level {
    std::uint32_t end;
    bool named;
  };
  absl::InlinedVector<Level, 16> open = {{static_cast<std::uint32_t>(content.size()), type == 'F'}};
  std::uint32_t at = 0;
  while (!open.empty()) {
    const Level level = open.back();
    if (at == level.end) {
      open.pop_back();
      continue;
    }
    std::string_view rest = content.substr(at, level.end - at);
    std::string_view name;
    std::string_view value;
    if (level.named && !TakeName(&rest, &name)) return false;
    if (!TakeValue(&rest, &type, &value)) return false;
    at = level.end - static_cast<std::uint32_t>(rest.size());
    if (!IsNested(type)) continue;
    if (rest.empty()) open.pop_back();
    open.push_back({at, type == 'F'});
    at -= static_cast<std::uint32_t>(Content(value).size());
  }
  return true;
}

// Whether a value is not an infinite number or NaN; for a table or an array, whether that is true
// for all its values at any depth. The lengths must be valid.
bool IsFinite(char type, std::string_view value) {
  absl::InlinedVector<FieldView, 16> open = {{.name = {}, .type = type, .value = value}};
  while (!open.empty()) {
    const FieldView field = open.back();
    open.pop_back();
    if (field.type == 'd' &&
        !std::isfinite(std::bit_cast<double>(LoadBigEndian<std::uint64_t>(field.value.data())))) {
      return false;
    }
    if (field.type == 'f' &&
        !std::isfinite(std::bit_cast<float>(LoadBigEndian<std::uint32_t>(field.value.data())))) {
      return false;
    }
    if (!IsNested(field.type)) continue;
    FieldView inner;
    for (std::string_view rest = Content(field.value); !rest.empty(); open.push_back(inner)) {
      const bool taken = field.type == 'F' ? TakeField(&rest, &inner)
                                           : TakeValue(&rest, &inner.type, &inner.value);
      if (!taken) break;
    }
  }
  return true;
}

// Returns kInvalidArgument: `field "<name>" <what>`.
absl::Status FieldError(std::string_view name, std::string_view what) {
  constexpr std::size_t kShown = 64;
  const std::string shown(name.substr(0, kShown));
  return absl::InvalidArgumentError(
      absl::StrCat("field \"", absl::CHexEscape(shown), "\" ", std::string(what)));
}

std::string TooDeep() { return absl::StrCat("nests deeper than ", kMaxTableDepth, " levels"); }

// ---- Decoding of bytes whose lengths are valid. Returns false if tables and arrays are nested
// deeper than `levels`.

template <typename T>
T LoadNumber(std::string_view bytes) {
  return static_cast<T>(LoadBigEndian<std::make_unsigned_t<T>>(bytes.data()));
}

bool DecodeValue(char type, std::string_view bytes, int levels, Value* value);

bool DecodeArray(std::string_view rest, int levels, Array* array) {
  char type = 'V';
  std::string_view bytes;
  while (TakeValue(&rest, &type, &bytes)) {
    if (!DecodeValue(type, bytes, levels, &array->emplace_back())) return false;
  }
  return true;
}

bool DecodeTable(std::string_view rest, int levels, Table* table) {
  FieldView field;
  while (TakeField(&rest, &field)) {
    Value value;
    if (!DecodeValue(field.type, field.value, levels, &value)) return false;
    table->Append(field.name, std::move(value));
  }
  return true;
}

bool DecodeValue(char type, std::string_view bytes, int levels, Value* value) {
  switch (type) {
    case 't':
      *value = bytes.front() != '\0';
      break;
    case 'b':
      *value = LoadNumber<std::int8_t>(bytes);
      break;
    case 'B':
      *value = LoadNumber<std::uint8_t>(bytes);
      break;
    case 's':
      *value = LoadNumber<std::int16_t>(bytes);
      break;
    case 'u':
      *value = LoadNumber<std::uint16_t>(bytes);
      break;
    case 'I':
      *value = LoadNumber<std::int32_t>(bytes);
      break;
    case 'i':
      *value = LoadNumber<std::uint32_t>(bytes);
      break;
    case 'l':
      *value = LoadNumber<std::int64_t>(bytes);
      break;
    case 'L':
      *value = LoadNumber<std::uint64_t>(bytes);
      break;
    case 'f':
      *value = std::bit_cast<float>(LoadNumber<std::uint32_t>(bytes));
      break;
    case 'd':
      *value = std::bit_cast<double>(LoadNumber<std::uint64_t>(bytes));
      break;
    case 'D':
      *value = Decimal{.scale = LoadNumber<std::uint8_t>(bytes),
                       .unscaled = LoadNumber<std::int32_t>(bytes.substr(1))};
      break;
    case 'T':
      *value = Timestamp{LoadNumber<std::uint64_t>(bytes)};
      break;
    case 'S':
      *value = Content(bytes);
      break;
    case 'x':
      *value = Bytes{std::string(Content(bytes))};
      break;
    case 'A':
      return levels > 0 &&
             DecodeArray(Content(bytes), levels - 1, &value->variant.emplace<Array>());
    case 'F': {
      auto table = std::make_shared<Table>();
      if (levels == 0 || !DecodeTable(Content(bytes), levels - 1, table.get())) return false;
      *value = std::shared_ptr<const Table>(std::move(table));
      break;
    }
    default:
      *value = Void{};
  }
  return true;
}

// ---- Encoding

// Appends fields, and keeps the first error.
class TableEncoder {
 public:
  explicit TableEncoder(std::string* out) : out_(out) {}

  void AppendFields(const Table& table) {
    for (const auto& [name, value] : table.fields()) {
      field_ = name;
      if (name.size() > kMaxNameSize) return Fail("has a name of over 255 bytes");
      AppendShortString(name, out_);
      Append(value);
    }
  }

  const absl::Status& status() const { return status_; }

 private:
  void Append(const Value& value) {
    std::visit([this](const auto& alternative) { Append(alternative); }, value.variant);
  }
  void Append(Void) { out_->push_back('V'); }
  void Append(bool flag) { AppendNumber<std::uint8_t>('t', flag ? 1 : 0); }
  void Append(std::int8_t number) { AppendNumber('b', number); }
  void Append(std::uint8_t number) { AppendNumber('B', number); }
  void Append(std::int16_t number) { AppendNumber('s', number); }
  void Append(std::uint16_t number) { AppendNumber('u', number); }
  void Append(std::int32_t number) { AppendNumber('I', number); }
  void Append(std::uint32_t number) { AppendNumber('i', number); }
  void Append(std::int64_t number) { AppendNumber('l', number); }
  void Append(std::uint64_t number) { AppendNumber('L', number); }
  void Append(float number) { AppendNumber('f', std::bit_cast<std::uint32_t>(number)); }
  void Append(double number) { AppendNumber('d', std::bit_cast<std::uint64_t>(number)); }
  void Append(Timestamp time) { AppendNumber('T', time.seconds); }
  void Append(Decimal decimal) {
    AppendNumber('D', decimal.scale);
    AppendInteger(static_cast<std::uint32_t>(decimal.unscaled), out_);
  }
  void Append(const std::string& text) { AppendText('S', text); }
  void Append(const Bytes& bytes) { AppendText('x', bytes.data); }
  void Append(const Array& array) {
    AppendNested('A', [&] {
      for (const Value& value : array) Append(value);
    });
  }
  void Append(const std::shared_ptr<const Table>& table) {
    AppendNested('F', [&] {
      if (table != nullptr) AppendFields(*table);
    });
  }

  template <std::integral T>
  void AppendNumber(char type, T number) {
    out_->push_back(type);
    AppendInteger(static_cast<std::make_unsigned_t<T>>(number), out_);
  }

  void AppendText(char type, std::string_view text) {
    out_->push_back(type);
    AppendLongString(text, out_);
  }

  template <typename AppendContent>
  void AppendNested(char type, const AppendContent& append_content) {
    if (levels_ == 0) return Fail(TooDeep());
    --levels_;
    out_->push_back(type);
    const std::size_t length_at = out_->size();
    AppendInteger(std::uint32_t{0}, out_);
    append_content();
    const std::size_t size = out_->size() - length_at - sizeof(std::uint32_t);
    StoreBigEndian(static_cast<std::uint32_t>(size), out_->data() + length_at);
    ++levels_;
  }

  void Fail(std::string_view why) {
    if (status_.ok()) status_ = FieldError(field_, why);
  }

  std::string* out_;
  std::string_view field_;           // the innermost field being written
  int levels_ = kMaxTableDepth - 1;  // levels of tables and arrays that are still allowed
  absl::Status status_;
};

// Makes space for a field with a value of this size, and writes everything before the value.
WireWriter BeginField(std::string_view name, char type, std::size_t value_size, std::string* out) {
  const std::size_t head = sizeof(std::uint8_t) + name.size() + sizeof(type);
  WireWriter writer(Extend(head + value_size, out));
  writer.ShortString(name);
  writer.Integer(static_cast<std::uint8_t>(type));
  return writer;
}

template <typename Fields>
auto FindField(Fields& fields, std::string_view name) {
  return std::find_if(fields.begin(), fields.end(),
                      [name](const Table::Field& field) { return field.first == name; });
}

}  // namespace

Value::Value() noexcept = default;
Value::Value(const char* text) : variant(std::string(text)) {}
Value::Value(std::string_view text) : variant(std::string(text)) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value::Value(Table table) : variant(std::make_shared<const Table>(std::move(table))) {}

bool operator==(const Value& a, const Value& b) {
  const auto* table_a = std::get_if<std::shared_ptr<const Table>>(&a.variant);
  const auto* table_b = std::get_if<std::shared_ptr<const Table>>(&b.variant);
  if (table_a && table_b && *table_a && *table_b) return **table_a == **table_b;
  return a.variant == b.variant;
}

Table::Table() noexcept = default;
Table::Table(std::initializer_list<Field> fields) : fields_(fields) {}
Table::Table(const Table& other) = default;
Table::Table(Table&& other) noexcept = default;
Table& Table::operator=(const Table& other) = default;
Table& Table::operator=(Table&& other) noexcept = default;
Table::~Table() = default;

bool operator==(const Table& a, const Table& b) { return a.fields_ == b.fields_; }

void Table::Append(std::string_view name, Value value) {
  fields_.emplace_back(name, std::move(value));
}

void Table::Set(std::string_view name, Value value) {
  const auto field = FindField(fields_, name);
  if (field == fields_.end()) {
    Append(name, std::move(value));
  } else {
    field->second = std::move(value);
  }
}

const Value* Table::Find(std::string_view name) const {
  const auto field = FindField(fields_, name);
  return field == fields_.end() ? nullptr : &field->second;
}

absl::StatusOr<std::string> Table::Encode() const {
  std::string bytes;
  TableEncoder encoder(&bytes);
  encoder.AppendFields(*this);
  if (!encoder.status().ok()) return encoder.status();
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
    return absl::InvalidArgumentError("table longer than 4 GiB");
  }
  return bytes;
}

absl::StatusOr<Value> FieldView::Decode() const {
  if (IsNested(type) && !NestedLengthsHold(type, Content(value))) {
    return FieldError(name, "holds a value of an unknown type or of a wrong length");
  }
  Value decoded;
  if (!DecodeValue(type, value, kMaxTableDepth, &decoded)) return FieldError(name, TooDeep());
  return decoded;
}

absl::StatusOr<Table> TableView::Decode() const {
  if (absl::Status status = Validate(); !status.ok()) return status;
  Table table;
  for (const FieldView& field : *this) {
    Value value;
    if (!DecodeValue(field.type, field.value, kMaxTableDepth - 1, &value)) {
      return FieldError(field.name, TooDeep());
    }
    table.Append(field.name, std::move(value));
  }
  return table;
}

// ---- Views

std::optional<std::int64_t> FieldView::AsInt64() const {
  switch (type) {
    case 'b':
      return LoadNumber<std::int8_t>(value);
    case 'B':
      return LoadNumber<std::uint8_t>(value);
    case 's':
      return LoadNumber<std::int16_t>(value);
    case 'u':
      return LoadNumber<std::uint16_t>(value);
    case 'I':
      return LoadNumber<std::int32_t>(value);
    case 'i':
      return LoadNumber<std::uint32_t>(value);
    case 'l':
      return LoadNumber<std::int64_t>(value);
    case 'L': {
      const auto number = LoadNumber<std::uint64_t>(value);
      if (number > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
      return static_cast<std::int64_t>(number);
    }
    default:
      return std::nullopt;
  }
}

std::optional<std::string_view> FieldView::AsString() const {
  if (type != 'S' && type != 'x') return std::nullopt;
  return Content(value);
}

std::optional<TableView> FieldView::AsTable() const {
  if (type != 'F') return std::nullopt;
  return TableView(Content(value));
}

void TableView::Iterator::Advance() {
  if (!TakeField(&rest_, &field_)) *this = Iterator();
}

absl::Status TableView::Validate() const {
  std::string_view rest = bytes_;
  while (!rest.empty()) {
    FieldView field;
    if (!TakeField(&rest, &field)) {
      return FieldError(field.name, "is of an unknown type or longer than the table");
    }
    if (IsNested(field.type) && !NestedLengthsHold(field.type, Content(field.value))) {
      return FieldError(field.name, "holds a value of an unknown type or of a wrong length");
    }
  }
  return absl::OkStatus();
}

absl::Status TableView::CheckFinite() const {
  for (const FieldView& field : *this) {
    if (!IsFinite(field.type, field.value)) return FieldError(field.name, "is not a finite number");
  }
  return absl::OkStatus();
}

std::optional<FieldView> TableView::Find(std::string_view name) const {
  for (const FieldView& field : *this) {
    if (field.name == name) return field;
  }
  return std::nullopt;
}

std::optional<std::int64_t> TableView::FindInt64(std::string_view name) const {
  const std::optional<FieldView> field = Find(name);
  return field ? field->AsInt64() : std::nullopt;
}

std::optional<std::string_view> TableView::FindString(std::string_view name) const {
  const std::optional<FieldView> field = Find(name);
  return field ? field->AsString() : std::nullopt;
}

void TableWriter::SetInt64(std::string_view name, std::int64_t value) {
  BeginField(name, 'l', sizeof(value), out_).Integer(static_cast<std::uint64_t>(value));
}

void TableWriter::ReplaceInt64(std::int64_t value, char* value_at) {
  StoreBigEndian(static_cast<std::uint64_t>(value), value_at);
}

void TableWriter::SetString(std::string_view name, std::string_view value) {
  const std::size_t size = sizeof(std::uint32_t) + value.size();
  BeginField(name, 'S', size, out_).LongString(value);
}

void TableWriter::SetBool(std::string_view name, bool value) {
  BeginField(name, 't', sizeof(std::uint8_t), out_)
      .Integer(static_cast<std::uint8_t>(value ? 1 : 0));
}

}  // namespace retryq::amqp
