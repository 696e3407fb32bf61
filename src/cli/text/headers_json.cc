#include "cli/text/headers_json.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "cli/text/json_line.h"
#include "retryq/amqp/table.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

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

Json ValueJson(const amqp::FieldView& field) {
  const absl::StatusOr<amqp::Value> value = field.Decode();
  return value.ok() ? ValueToJson()(*value) : Omitted(std::string(value.status().message()));
}

std::string TooLong(std::size_t max_size) {
  return JsonLine(Omitted("longer than " + std::to_string(max_size) + " bytes"));
}

}  // namespace

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

}  // namespace retryq::cli
