#include "amqp/table_walk.h"

#include <array>

#include "absl/container/inlined_vector.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "amqp/wire.h"

namespace retryq::amqp {
namespace {

// What stands behind a wire type: so many bytes, or as many as the 4-byte length says that comes
// first. These are the types that RabbitMQ or librabbitmq know.
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
    if (rest->size() < sizeof(std::uint32_t)) return false;
    size = sizeof(std::uint32_t) + LoadBigEndian<std::uint32_t>(rest->data());
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

// What is nested waits in a list instead of on the stack, and is stepped over where it lies in
// its parent: time is linear in the size, however deeply it nests.
bool NestedLengthsHold(char type, std::string_view content) {
  struct Level {
    bool named;
    std::string_view rest;
  };
  absl::InlinedVector<Level, 8> unseen = {{type == 'F', content}};
  while (!unseen.empty()) {
    Level level = unseen.back();
    unseen.pop_back();
    while (!level.rest.empty()) {
      std::string_view name;
      std::string_view value;
      if (level.named && !TakeName(&level.rest, &name)) return false;
      if (!TakeValue(&level.rest, &type, &value)) return false;
      if (IsNested(type)) unseen.push_back({type == 'F', Content(value)});
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
