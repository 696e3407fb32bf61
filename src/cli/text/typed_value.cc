#include "cli/text/typed_value.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/name_size.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

absl::StatusOr<amqp::Value> ValueAtDepth(const nlohmann::json& json, int depth) {
  using Type = nlohmann::json::value_t;
  if (depth > amqp::kMaxTableDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("nests deeper than ", amqp::kMaxTableDepth, " levels"));
  }
  switch (json.type()) {
    case Type::boolean:
      return amqp::Value(json.get<bool>());
    case Type::number_unsigned:
      if (json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
        return absl::InvalidArgumentError(
            absl::StrCat("the number ", json.get<std::uint64_t>(), " is too large for 64 bits"));
      }
      return amqp::Value(json.get<std::int64_t>());
    case Type::number_integer:
      return amqp::Value(json.get<std::int64_t>());
    case Type::number_float:
      return amqp::Value(json.get<double>());
    case Type::string:
      return amqp::Value(json.get_ref<const std::string&>());
    case Type::array: {
      amqp::Array array;
      for (const nlohmann::json& element : json) {
        absl::StatusOr<amqp::Value> value = ValueAtDepth(element, depth + 1);
        if (!value.ok()) return value;
        array.push_back(*std::move(value));
      }
      return amqp::Value(std::move(array));
    }
    case Type::object: {
      amqp::Table table;
      for (const auto& [name, element] : json.items()) {
        if (name.size() > kMaxNameSize) {
          return absl::InvalidArgumentError(absl::StrCat(
              "a name has ", name.size(), " bytes; AMQP takes at most ", kMaxNameSize));
        }
        absl::StatusOr<amqp::Value> value = ValueAtDepth(element, depth + 1);
        if (!value.ok()) return value;
        table.Append(name, *std::move(value));
      }
      return amqp::Value(std::move(table));
    }
    default:
      return amqp::Value();
  }
}

}  // namespace

absl::StatusOr<amqp::Value> TypedValue(const nlohmann::json& json) { return ValueAtDepth(json, 1); }

amqp::Value ScalarOrText(const std::string& text) {
  const nlohmann::json json = ParseJson(text);
  if (json.is_discarded() || json.is_structured()) return text;
  return TypedValue(json).value_or(amqp::Value(text));
}

}  // namespace retryq::cli
