#include <algorithm>
#include <array>
#include <cassert>
#include <concepts>
#include <limits>

#include "amqp/codec/table_walk.h"
#include "amqp/codec/wire.h"
#include "retryq/amqp/table.h"

namespace retryq::amqp {
namespace {

template <std::signed_integral T>
std::int64_t LoadSigned(std::string_view value) {
  return static_cast<T>(LoadBigEndian<std::make_unsigned_t<T>>(value.data()));
}

template <std::unsigned_integral T>
std::int64_t LoadUnsigned(std::string_view value) {
  return LoadBigEndian<T>(value.data());
}

// Makes space for a field with a value of this size, and writes everything before the value.
WireWriter BeginField(std::string_view name, char type, std::size_t value_size, std::string* out) {
  const std::size_t head = sizeof(std::uint8_t) + name.size() + sizeof(type);
  WireWriter writer(Extend(head + value_size, out));
  writer.ShortString(name);
  writer.Integer(static_cast<std::uint8_t>(type));
  return writer;
}

}  // namespace

std::optional<std::int64_t> FieldView::AsInt64() const {
  switch (type) {
    case 'b':
      return LoadSigned<std::int8_t>(value);
    case 'B':
      return LoadUnsigned<std::uint8_t>(value);
    case 's':
      return LoadSigned<std::int16_t>(value);
    case 'u':
      return LoadUnsigned<std::uint16_t>(value);
    case 'I':
      return LoadSigned<std::int32_t>(value);
    case 'i':
      return LoadUnsigned<std::uint32_t>(value);
    case 'l':
      return LoadSigned<std::int64_t>(value);
    case 'L': {
      const auto number = LoadBigEndian<std::uint64_t>(value.data());
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
