#include "cli/messages/message_text.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/escaped_text.h"
#include "base/header_names.h"
#include "base/utf8.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"
#include "retryq/amqp/table.h"
#include "retryq/broker/copy_properties.h"
#include "retryq/delivery.h"

namespace retryq::cli {
namespace {

bool ContainsIgnoringCase(std::string_view text, std::string_view part) {
  const auto equal = [](char a, char b) {
    return absl::ascii_tolower(static_cast<unsigned char>(a)) ==
           absl::ascii_tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), equal) != text.end();
}

bool Has(const std::vector<std::string>& ids, std::optional<std::string_view> id) {
  return id && std::find(ids.begin(), ids.end(), *id) != ids.end();
}

bool Equals(const amqp::FieldView& field, std::string_view value) {
  if (const auto text = field.AsString()) return *text == value;
  if (const auto number = field.AsInt64()) return std::to_string(*number) == value;
  constexpr char kBool = 't';
  if (field.type == kBool && field.value.size() == 1) {
    return value == (field.value.front() == '\0' ? "false" : "true");
  }
  return false;
}

std::optional<amqp::FieldView> HeaderNamed(const amqp::Message& message, std::string_view name) {
  return message.properties.headers.value_or(amqp::TableView()).Find(name);
}

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostHeaders = std::size_t{1} << 20;  // bytes of JSON

std::string TextOrDash(std::optional<std::string_view> text) {
  return text && !text->empty() ? EscapedText(*text) : "-";
}

// As in `ls -l`: times that are near to now have no year, others no time of day.
std::string ShortTime(std::optional<absl::Time> time, absl::Time now) {
  constexpr absl::Duration kNear = absl::Hours(24 * 180);
  if (!time) return "-";
  const bool is_near = absl::AbsDuration(now - *time) < kNear;
  return absl::FormatTime(is_near ? "%m-%d %H:%M:%S" : "%Y-%m-%d", *time, absl::UTCTimeZone());
}

bool BeginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::size_t WidthOf(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

// The text in `width` columns, padded with spaces if `pad`.
std::string Cell(std::string_view text, std::size_t width, bool pad) {
  constexpr std::string_view kMore = "...";
  const std::size_t all = WidthOf(text);
  if (all <= width) return std::string(text).append(pad ? width - all : 0, ' ');
  std::size_t left = width - std::min(width, kMore.size());
  std::size_t end = 0;
  while (end < text.size() && (left > 0 || !BeginsCharacter(text[end]))) {
    if (BeginsCharacter(text[end++])) --left;
  }
  return std::string(text.substr(0, end)).append(kMore);
}

// "x-death", which the broker sets when it dead-letters a message, as JSON; empty without one. In a
// message that retryq has parked, the entries of its retries are missing.
std::string DeathsOf(const amqp::Message& message) {
  const std::optional<amqp::FieldView> deaths = HeaderNamed(message, kDeathHeader);
  return deaths ? HeaderJson(*deaths, kMostHeaders) : "";
}

std::string Line(std::string_view name, std::string_view value) {
  return absl::StrFormat("%-16s  %s\n", std::string(name), EscapedText(value));
}

std::string FactsText(const amqp::Message& message, const DelayQueue* queue) {
  const MessageHistory facts(message);
  std::string text = Line("id", facts.id.value_or("-"));
  const auto add_time = [&text](std::string_view name, std::optional<absl::Time> time) {
    if (time) text += Line(name, JsonTime(*time));
  };
  add_time("parked", facts.parked);
  add_time("edited", facts.edited);
  add_time("first failed", facts.first_failure);
  if (facts.attempt) text += Line("attempt", std::to_string(*facts.attempt));
  if (facts.error) text += Line("error", *facts.error);
  if (facts.queue) text += Line("failed in", absl::StrCat("queue ", std::string(*facts.queue)));
  if (facts.exchange && facts.routing_key) {
    const std::string exchange = facts.exchange->empty()
                                     ? "the default exchange"
                                     : "exchange " + std::string(*facts.exchange);
    text += Line("published to",
                 absl::StrCat(exchange, ", routing key ", std::string(*facts.routing_key)));
  }
  if (queue == nullptr) return text;
  add_time("due", facts.due);
  return text + Line("waits in", queue->name);
}

// Offset, bytes and their ASCII characters, 16 bytes per line.
std::string HexDump(std::string_view bytes) {
  constexpr std::size_t kPerLine = 16;
  std::string text;
  for (std::size_t offset = 0; offset < bytes.size(); offset += kPerLine) {
    std::string hex;
    std::string ascii;
    for (const char c : bytes.substr(offset, kPerLine)) {
      absl::StrAppendFormat(&hex, " %02x", static_cast<unsigned char>(c));
      ascii.push_back(c >= ' ' && c <= '~' ? c : '.');
    }
    absl::StrAppendFormat(&text, "%08x %-48s  %s\n", offset, hex, ascii);
  }
  return text;
}

struct ShownBody {
  std::string kind;
  std::string text;
  bool is_cut;
};

absl::StatusOr<ShownBody> ShowBody(std::string_view body, BodyFormat format, std::size_t max) {
  const bool is_json =
      format != BodyFormat::kHex && format != BodyFormat::kText && nlohmann::json::accept(body);
  if (format == BodyFormat::kJson && !is_json) {
    return absl::InvalidArgumentError(
        "--body json: the body is not JSON; use text, hex or raw, or omit --body");
  }
  if (is_json) {
    const std::string lines = LayOutJson(body);
    return ShownBody{"JSON", EscapedLines(CutUtf8(lines, max)), lines.size() > max};
  }
  const bool is_cut = body.size() > max;
  if (format == BodyFormat::kText || (format == BodyFormat::kAuto && IsPlainText(body))) {
    return ShownBody{"text", EscapedLines(CutUtf8(body, max)), is_cut};
  }
  return ShownBody{"hex", HexDump(body.substr(0, max)), is_cut};
}

void AddBody(std::string_view body, OrderedJson& json) {
  if (IsUtf8(body)) {
    json["body"] = body;
  } else {
    json["body_base64"] = absl::Base64Escape(absl::string_view(body.data(), body.size()));
  }
}

constexpr std::size_t kIndent = 2;
constexpr std::size_t kDeepest = 32;  // deeper levels are not indented further

// The index after the string that begins at `begin`.
std::size_t EndOfString(std::string_view json, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2U : 1U;
  return std::min(end + 1, json.size());
}

// The properties except the headers, by their AMQP names ("correlation-id") and in AMQP's order.
std::vector<std::pair<std::string, std::string>> PropertiesOf(const amqp::Properties& properties) {
  std::vector<std::pair<std::string, std::string>> found;
  const auto add = [&found](const char* name, std::optional<std::string_view> text) {
    if (text) found.emplace_back(name, *text);
  };
  const auto add_number = [&found](const char* name, const auto& number) {
    if (number) found.emplace_back(name, std::to_string(*number));
  };
  const amqp::Properties& p = properties;
  add("content-type", p.content_type);
  add("content-encoding", p.content_encoding);
  add_number("delivery-mode", p.delivery_mode);
  add_number("priority", p.priority);
  add("correlation-id", p.correlation_id);
  add("reply-to", p.reply_to);
  add("expiration", p.expiration);
  add("message-id", p.message_id);
  add_number("timestamp", p.timestamp);
  add("type", p.type);
  add("user-id", p.user_id);
  add("app-id", p.app_id);
  add("cluster-id", p.cluster_id);
  return found;
}

// Returns the property of this name, otherwise the header: a string unchanged, any other type as
// JSON. Returns nullopt if the message has neither.
std::optional<std::string> FieldNamed(const amqp::Message& message, const std::string& name) {
  constexpr std::size_t kLongest = std::size_t{64} << 10;  // bytes of JSON
  for (auto& [property, value] : PropertiesOf(message.properties)) {
    if (property == name) return std::move(value);
  }
  const std::optional<amqp::FieldView> header = HeaderNamed(message, name);
  if (!header) return std::nullopt;
  if (const auto text = header->AsString()) return std::string(*text);
  return HeaderJson(*header, kLongest);
}

}  // namespace

bool MessageFilter::Matches(const amqp::Message& message, absl::Time now) const {
  const MessageHistory facts(message);
  const auto& own_id = message.properties.message_id ? message.properties.message_id
                                                     : message.properties.correlation_id;
  if (!ids.empty() && !Has(ids, facts.id) && !Has(ids, own_id)) return false;
  if (error && !(facts.error && ContainsIgnoringCase(*facts.error, *error))) return false;
  if (older_than || newer_than) {
    const std::optional<absl::Time> since = facts.parked ? facts.parked : facts.first_failure;
    if (!since) return false;
    const absl::Duration age = now - *since;
    if (older_than && age <= *older_than) return false;
    if (newer_than && age >= *newer_than) return false;
  }
  return std::all_of(headers.begin(), headers.end(), [&message](const auto& header) {
    const std::optional<amqp::FieldView> field = HeaderNamed(message, header.first);
    return field && Equals(*field, header.second);
  });
}

std::string MessageTableHead(bool is_waiting, const Columns& columns) {
  std::string head = is_waiting ? "due (UTC)\tattempt\tdelay\tid\t" : "parked (UTC)\tattempt\tid\t";
  for (const std::string& name : columns) head.append(EscapedText(name)).push_back('\t');
  return head.append("error");
}

std::string MessageTableRow(const amqp::Message& message, const DelayQueue* queue,
                            const Columns& columns, absl::Time now) {
  const MessageHistory facts(message);
  std::vector<std::string> cells = {ShortTime(queue == nullptr ? facts.parked : facts.due, now),
                                    facts.attempt ? std::to_string(*facts.attempt) : "-"};
  if (queue != nullptr) cells.push_back(DurationText(queue->ttl));
  cells.push_back(TextOrDash(facts.id));
  for (const std::string& name : columns) cells.push_back(TextOrDash(FieldNamed(message, name)));
  cells.push_back(TextOrDash(facts.error));
  return absl::StrJoin(cells, "\t");
}

std::string MessageTable(const std::string& head, const std::vector<std::string>& rows,
                         std::size_t width) {
  constexpr std::string_view kGap = "  ";
  constexpr std::size_t kNarrow = 80;
  constexpr std::size_t kUuid = 36;
  constexpr std::size_t kLeastOfLast = 8;
  const std::size_t widest = kUuid + (width > kNarrow ? (width - kNarrow) / 2 : 0);
  std::vector<std::size_t> widths;
  const auto for_each_cell = [](const std::string& row, const auto& visit) {
    std::size_t column = 0;
    for (const absl::string_view cell : absl::StrSplit(row, '\t')) {
      visit(column++, std::string_view(cell.data(), cell.size()));
    }
  };
  const auto widen = [&](std::size_t column, std::string_view cell) {
    if (column == widths.size()) widths.push_back(0);
    widths[column] = std::max(widths[column], std::min(WidthOf(cell), widest));
  };
  for_each_cell(head, widen);
  for (const std::string& row : rows) for_each_cell(row, widen);
  std::size_t others = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) others += widths[i] + kGap.size();
  widths.back() = std::max(kLeastOfLast, width > others ? width - others : 0);
  std::string text;
  const auto add = [&](std::size_t column, std::string_view cell) {
    const bool is_last = column + 1 == widths.size();
    text.append(Cell(cell, widths[column], !is_last)).append(is_last ? "\n" : kGap);
  };
  for_each_cell(head, add);
  for (const std::string& row : rows) for_each_cell(row, add);
  return text;
}

OrderedJson MessageJsonRow(const amqp::Message& message, const DelayQueue* queue,
                           const Columns& columns) {
  const MessageHistory facts(message);
  OrderedJson json = OrderedJson::object();
  const auto add_text = [&json](const char* key, std::optional<std::string_view> text) {
    if (text) json[key] = *text;
  };
  const auto add_time = [&json](const char* key, std::optional<absl::Time> time) {
    if (time) json[key] = JsonTime(*time);
  };
  add_text("id", facts.id);
  add_time("parked", facts.parked);
  add_time("edited", facts.edited);
  add_time("first_failure", facts.first_failure);
  if (facts.attempt) json["attempt"] = *facts.attempt;
  add_text("error", facts.error);
  add_text("queue", facts.queue);
  add_text("exchange", facts.exchange);
  add_text("routing_key", facts.routing_key);
  json["bytes"] = message.body.size();
  for (const std::string& name : columns) {
    if (auto value = FieldNamed(message, name)) json["columns"][name] = *std::move(value);
  }
  if (queue == nullptr) return json;
  add_time("due", facts.due);
  json["delay_ms"] = absl::ToInt64Milliseconds(queue->ttl);
  json["delay_queue"] = queue->name;
  return json;
}

std::string CountsText(const std::map<std::string, std::uint64_t>& counts, const std::string& name,
                       bool json) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  if (!json && !sorted.empty()) text = "   count  " + name + "\n";
  for (const auto& [value, count] : sorted) {
    if (json) {
      OrderedJson line = {{"count", count}};
      if (!value.empty()) line[name] = value;
      if (name == "attempt" && !value.empty()) line[name] = std::stoull(value);
      text.append(JsonLine(line)).push_back('\n');
    } else {
      absl::StrAppendFormat(&text, "%8d  %s\n", count, TextOrDash(value));
    }
  }
  return text;
}

absl::StatusOr<std::string> MessageText(const amqp::Message& message, const DelayQueue* queue,
                                        BodyFormat format, std::size_t max_body) {
  if (format == BodyFormat::kRaw) return std::string(message.body);
  const absl::StatusOr<ShownBody> shown = ShowBody(message.body, format, max_body);
  if (!shown.ok()) return shown.status();
  std::string text = FactsText(message, queue);
  for (const auto& [name, value] : PropertiesOf(message.properties)) text += Line(name, value);
  const std::string headers = VisibleHeaders(message);
  if (headers != "{}") text += Line("headers", headers);
  const std::string deaths = DeathsOf(message);
  if (!deaths.empty()) text += Line("x-death", deaths);
  if (message.body.empty()) return text + Line("body", "empty");
  text += Line("body", absl::StrCat(message.body.size(), " bytes, ", shown->kind));
  text.append("\n").append(shown->text);
  if (text.back() != '\n') text.push_back('\n');
  if (shown->is_cut) {
    absl::StrAppend(&text, "\nThe body is cut after ", max_body, " bytes; --full shows all.\n");
  }
  return text;
}

std::string MessageJson(const amqp::Message& message, const DelayQueue* queue) {
  OrderedJson json = MessageJsonRow(message, queue, {});
  json["properties"] = OrderedJson::object();
  for (const auto& [name, value] : PropertiesOf(message.properties)) {
    json["properties"][name] = value;
  }
  json["headers"] = ParseOrderedJson(VisibleHeaders(message));
  const std::string deaths = DeathsOf(message);
  if (!deaths.empty()) json["x_death"] = ParseOrderedJson(deaths);
  AddBody(message.body, json);
  return JsonLine(json) + "\n";
}

std::optional<std::string> SendLine(const amqp::Message& message, const std::string& queue) {
  constexpr std::uint64_t kLatest = std::numeric_limits<std::int64_t>::max();
  // The contents of a copy to the same queue.
  std::string headers;
  amqp::Properties properties = CopyProperties(message.properties, CopyPath::kReturn, &headers);
  properties.user_id = message.properties.user_id;
  if (properties.timestamp && *properties.timestamp > kLatest) return std::nullopt;
  OrderedJson json = OrderedJson::object();
  if (const auto id = MessageHistory(message).id) json["id"] = *id;
  json["queue"] = queue;
  for (const auto& [name, value] : PropertiesOf(properties)) {
    if (!IsUtf8(value)) return std::nullopt;
    if (value.empty() || name == "cluster-id" || name == "delivery-mode") continue;
    json[absl::StrReplaceAll(name, {{"-", "_"}})] = value;
  }
  if (properties.priority) json["priority"] = *properties.priority;
  if (properties.timestamp) json["timestamp"] = *properties.timestamp;
  if (properties.delivery_mode != 2) json["transient"] = true;
  for (const amqp::FieldView& field : amqp::TableView(headers)) {
    const std::string name(field.name);
    // A JSON object has each name once.
    if (json["headers"].contains(name) || !FitsHeaderJson(field, kMostHeaders)) {
      return std::nullopt;
    }
    json["headers"][name] = ParseOrderedJson(HeaderJson(field, kMostHeaders));
  }
  AddBody(message.body, json);
  return JsonLine(json) + "\n";
}

std::string VisibleHeaders(const amqp::Message& message) {
  return HeadersJson(Headers(message.properties.headers.value_or(amqp::TableView())), kMostHeaders);
}

std::string LayOutJson(std::string_view json) {
  std::string lines;
  std::size_t depth = 0;
  const auto new_line = [&] {
    lines.append("\n").append(kIndent * std::min(depth, kDeepest), ' ');
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) continue;
    if (c == '"') {
      const std::size_t end = EndOfString(json, i);
      lines.append(json.substr(i, end - i));
      i = end - 1;
    } else if (c == '{' || c == '[') {
      lines.push_back(c);
      const std::size_t next = json.find_first_not_of(" \t\n\r", i + 1);
      if (next != std::string_view::npos && json[next] == (c == '{' ? '}' : ']')) {
        lines.push_back(json[next]);
        i = next;
      } else {
        ++depth;
        new_line();
      }
    } else if (c == '}' || c == ']') {
      depth -= depth > 0 ? 1 : 0;
      new_line();
      lines.push_back(c);
    } else if (c == ',') {
      lines.push_back(c);
      new_line();
    } else if (c == ':') {
      lines.append(": ");
    } else {
      lines.push_back(c);
    }
  }
  return lines;
}

}  // namespace retryq::cli
