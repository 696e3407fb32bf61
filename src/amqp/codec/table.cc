#include "retryq/amqp/table.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "amqp/codec/table_walk.h"
#include "amqp/codec/wire.h"
#include "base/name_size.h"

namespace retryq::amqp {
namespace {

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
  int levels_ = kMaxTableDepth - 1;  // tables and arrays that may still be nested
  absl::Status status_;
};

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

}  // namespace retryq::amqp
