#include "amqp/codec/table_walk.h"

#include <array>
#include <bit>
#include <cmath>

#include "absl/container/inlined_vector.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "amqp/codec/wire.h"

namespace retryq::amqp {
namespace {

// The size of the value of each wire type: a number of bytes, or a 4-byte length followed by so
// many bytes. These are the types of RabbitMQ and librabbitmq.
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

}  // namespace

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

absl::Status FieldError(std::string_view name, std::string_view what) {
  constexpr std::size_t kShown = 64;
  const std::string shown(name.substr(0, kShown));
  return absl::InvalidArgumentError(
      absl::StrCat("field \"", absl::CHexEscape(shown), "\" ", std::string(what)));
}

}  // namespace retryq::amqp
