#include "cli/management/json_fields.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace retryq::cli {

using Json = nlohmann::json;

const Json& FieldOf(const Json& json, const char* name) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto field = json.find(name);
  return field == json.end() ? kNull : *field;
}

std::optional<std::string> TextOf(const Json& json, const char* name) {
  const Json& field = FieldOf(json, name);
  if (!field.is_string()) return std::nullopt;
  return field.get_ref<const std::string&>();
}

std::optional<std::int64_t> IntegerOf(const Json& json, const char* name) {
  const Json& field = FieldOf(json, name);
  if (!field.is_number_integer()) return std::nullopt;
  if (field.is_number_unsigned() &&
      field.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return std::nullopt;
  }
  return field.get<std::int64_t>();
}

std::optional<double> NumberOf(const Json& json, const char* name) {
  const Json& field = FieldOf(json, name);
  if (!field.is_number()) return std::nullopt;
  return field.get<double>();
}

std::optional<bool> BoolOf(const Json& json, const char* name) {
  const Json& field = FieldOf(json, name);
  if (!field.is_boolean()) return std::nullopt;
  return field.get<bool>();
}

}  // namespace retryq::cli
