#include "cli/text/json_line.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/iso_time.h"
#include "base/name_size.h"
#include "base/utf8.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

// Writing, copying and destroying a value recurse per level. The depth is exact up to the first
// error in `text`; the parser stops there.
bool IsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

template <typename AnyJson>
AnyJson ParseBounded(std::string_view text) {
  if (IsTooDeep(text)) return AnyJson(AnyJson::value_t::discarded);
  return AnyJson::parse(text, nullptr, /*allow_exceptions=*/false);
}

template <typename AnyJson>
std::string Dumped(const AnyJson& json) {
  return EscapedJson(json.dump(-1, ' ', false, AnyJson::error_handler_t::replace));
}

Json Omitted(std::string why) { return {{"retryq-omitted", std::move(why)}}; }

// -5 with scale 2 is "-0.05".
std::string DecimalText(const amqp::Decimal& decimal) {
  std::string digits = std::to_string(std::abs(std::int64_t{decimal.unscaled}));
  if (digits.size() <= decimal.scale) digits.insert(0, decimal.scale + 1 - digits.size(), '0');
  if (decimal.scale > 0) digits.insert(digits.size() - decimal.scale, ".");
  return (decimal.unscaled < 0 ? "-" : "") + digits;
}

// The recursion is limited: decoded values nest at most amqp::kMaxTableDepth levels.
struct ValueToJson {
  Json operator()(const amqp::Value& value) const { return std::visit(*this, value.variant); }

  Json operator()(const amqp::Void&) const { return nullptr; }
  Json operator()(const amqp::Decimal& decimal) const { return DecimalText(decimal); }
  Json operator()(const amqp::Timestamp& timestamp) const { return timestamp.seconds; }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(const amqp::Bytes& bytes) const { return absl::Base64Escape(bytes.data); }

  Json operator()(const amqp::Array& array) const {
    Json json = Json::array();
    for (const amqp::Value& element : array) json.push_back((*this)(element));
    return json;
  }

  Json operator()(const std::shared_ptr<const amqp::Table>& table) const {
    Json json = Json::object();
    for (const auto& [name, value] : table->fields()) json.emplace(name, (*this)(value));
    return json;
  }

  template <typename Number>
  requires std::is_arithmetic_v<Number> Json operator()(Number number) const {
    if constexpr (std::is_floating_point_v<Number>) {
      if (std::isnan(number)) return "NaN";
      if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
    }
    return number;
  }
};

// Whether JSON can contain the value: texts are UTF-8, and no table has a name twice. The recursion
// is limited like that of ValueToJson.
bool FitsJson(const amqp::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.variant)) return IsUtf8(*text);
  if (const auto* array = std::get_if<amqp::Array>(&value.variant)) {
    return std::all_of(array->begin(), array->end(), FitsJson);
  }
  const auto* table = std::get_if<std::shared_ptr<const amqp::Table>>(&value.variant);
  if (table == nullptr) return true;
  const auto& fields = (*table)->fields();
  std::set<std::string_view> names;
  return std::all_of(fields.begin(), fields.end(), [&names](const auto& field) {
    return names.insert(field.first).second && IsUtf8(field.first) && FitsJson(field.second);
  });
}

Json ValueJson(const amqp::FieldView& field) {
  const absl::StatusOr<amqp::Value> value = field.Decode();
  return value.ok() ? ValueToJson()(*value) : Omitted(std::string(value.status().message()));
}

std::string TooLong(std::size_t max_size) {
  return JsonLine(Omitted("longer than " + std::to_string(max_size) + " bytes"));
}

absl::StatusOr<amqp::Value> ValueAtDepth(const Json& json, int depth) {
  using Type = Json::value_t;
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
      for (const Json& element : json) {
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
              "a name has ", name.size(), " bytes; AMQP allows at most ", kMaxNameSize));
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

Json ParseJson(std::string_view text) { return ParseBounded<Json>(text); }

nlohmann::ordered_json ParseOrderedJson(std::string_view text) {
  return ParseBounded<nlohmann::ordered_json>(text);
}

std::string WhyNotJson(std::string_view text) {
  if (IsTooDeep(text))
    return absl::StrCat("JSON that nests deeper than ", kMaxJsonDepth, " levels");
  std::string why = "not JSON";
  try {
    [[maybe_unused]] const Json json = Json::parse(text);
  } catch (const Json::exception& error) {  // also for a number such as 1e999
    const std::string_view what = error.what();
    if (what.find("surrogate") != std::string_view::npos) {
      why.append(
          ": it has a lone surrogate, \\uD800 to \\uDFFF, which is not a character; replace it "
          "with "
          "\\uFFFD");
    } else if (what.find("UTF-8") != std::string_view::npos) {
      why.append(": it is not UTF-8");
    }
  }
  return why;
}

std::string JsonLine(const Json& json) { return Dumped(json); }
std::string JsonLine(const nlohmann::ordered_json& json) { return Dumped(json); }

std::string JsonTime(absl::Time time) { return IsoTime(time); }

std::string HeadersJson(const Headers& headers, std::size_t max_size) {
  Json json = Json::object();
  // JSON is rarely shorter than the encoded headers, so far too long headers are not converted.
  if (headers.all().bytes().size() <= 4 * max_size) {
    for (const amqp::FieldView& field : headers.all()) {
      if (headers.IsHidden(field.name)) continue;
      json.emplace(std::string(field.name), ValueJson(field));
    }
    std::string line = JsonLine(json);
    if (line.size() <= max_size) return line;
  }
  return TooLong(max_size);
}

std::string HeaderJson(const amqp::FieldView& field, std::size_t max_size) {
  if (field.value.size() > 4 * max_size) return TooLong(max_size);
  std::string text = JsonLine(ValueJson(field));
  return text.size() <= max_size ? text : TooLong(max_size);
}

bool FitsHeaderJson(const amqp::FieldView& field, std::size_t max_size) {
  const absl::StatusOr<amqp::Value> value = field.Decode();
  if (!value.ok() || !IsUtf8(field.name) || !FitsJson(*value)) return false;
  return field.value.size() <= 4 * max_size && JsonLine(ValueJson(field)).size() <= max_size;
}

absl::StatusOr<amqp::Value> TypedValue(const Json& json) { return ValueAtDepth(json, 1); }

std::optional<absl::Duration> DurationIn(const Json& json) {
  constexpr double kLongest = 100.0 * 365 * 24 * 3600;
  if (json.is_string()) return ParseDuration(json.get_ref<const std::string&>());
  if (json.is_number() && json >= 0 && json <= kLongest) return absl::Seconds(json.get<double>());
  return std::nullopt;
}

amqp::Value ScalarOrText(const std::string& text) {
  const Json json = ParseJson(text);
  if (json.is_discarded() || json.is_structured()) return text;
  return TypedValue(json).value_or(amqp::Value(text));
}

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

std::optional<bool> BoolOf(const Json& json, const char* name) {
  const Json& field = FieldOf(json, name);
  return field.is_boolean() ? std::optional(field.get<bool>()) : std::nullopt;
}

}  // namespace retryq::cli
