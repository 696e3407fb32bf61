#include "cli/worker/event_log.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/utf8.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The trace id in the message's header `traceparent`; empty if there is none. The view is valid as
// long as a copy of the delivery exists.
std::string_view TraceIdOf(const Delivery& delivery) {
  return TraceIdIn(delivery.headers().FindString("traceparent").value_or(std::string_view()));
}

// Returns milliseconds, with microsecond precision.
double Milliseconds(absl::Duration duration) {
  return static_cast<double>(absl::ToInt64Microseconds(duration)) / 1000;
}

std::string WholeMilliseconds(absl::Duration duration) {
  return DurationText(absl::Ceil(duration, absl::Milliseconds(1)));
}

std::string Shortened(std::string_view text) {
  if (text.size() <= kLongestText) return std::string(text);
  return std::string(CutUtf8(text, kLongestText)) + "…";
}

bool IsPlain(char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '=' && c != '\\'; }

std::string QuotedIfNeeded(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsPlain)) return std::string(text);
  return JsonLine(OrderedJson(text));
}

std::string LineOf(EventLog::Format format, Severity severity, std::string_view name,
                   const Event& event, const LineExtras& extras) {
  return (format == EventLog::Format::kJson ? JsonLine(severity, name, event, extras)
                                            : TextLine(severity, name, event, extras)) +
         "\n";
}

constexpr std::string_view kConsuming = "consuming";
constexpr std::string_view kPaused = "paused";

// The event that reports a problem, and the event that reports its end.
struct EndOfTrouble {
  std::string_view trouble, end;
};
constexpr std::array kRecoveries = {
    EndOfTrouble{.trouble = "disconnected", .end = "connected"},
    EndOfTrouble{.trouble = "blocked", .end = "unblocked"},
    EndOfTrouble{.trouble = "interrupted", .end = kConsuming},
    EndOfTrouble{.trouble = kPaused, .end = "resumed"},
    EndOfTrouble{.trouble = "breaker_opened", .end = "breaker_closed"}};

// These events are never held back, because each is about another message.
constexpr std::array kFates =
    std::to_array<std::string_view>({"parked", "rejected", "discarded", "on_parked_failed"});

bool IsTrouble(Severity severity, std::string_view name) {
  return severity >= Severity::kWarning &&
         std::find(kFates.begin(), kFates.end(), name) == kFates.end();
}

}  // namespace

std::string_view TraceIdIn(std::string_view traceparent) {
  // Version, trace id, parent id, flags. Upper-case digits are malformed.
  constexpr std::string_view kForm = "vv-tttttttttttttttttttttttttttttttt-pppppppppppppppp-ff";
  const auto fits = [](char c, char form) {
    return form == '-' ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  };
  const auto is_zero = [](std::string_view id) {
    return id.find_first_not_of('0') == std::string_view::npos;
  };
  if (traceparent.size() < kForm.size() ||
      !std::equal(kForm.begin(), kForm.end(), traceparent.begin(),
                  [&](char form, char c) { return fits(c, form); })) {
    return {};
  }
  const std::string_view version = traceparent.substr(0, kForm.find('-'));
  const std::string_view trace_id = traceparent.substr(kForm.find('t'), 32);
  const std::string_view parent_id = traceparent.substr(kForm.find('p'), 16);
  if (version == "ff" || is_zero(trace_id) || is_zero(parent_id)) return {};
  // Later versions may have more fields after another dash.
  const std::string_view rest = traceparent.substr(kForm.size());
  if (!rest.empty() && (version == "00" || rest.front() != '-')) return {};
  return trace_id;
}

std::string JsonLine(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras) {
  OrderedJson json = {
      {"time", JsonTime(event.time)}, {"level", SeverityName(severity)}, {"event", name}};
  const auto add_text = [&json](const char* key, std::string_view text) {
    if (!text.empty()) json[key] = Shortened(text);
  };
  add_text("queue", event.queue);
  if (event.attempt) json["attempt"] = *event.attempt;
  if (event.delay) json["delay_ms"] = absl::ToInt64Milliseconds(*event.delay);
  add_text("delay_queue", event.delay_queue);
  add_text("id", event.id);
  add_text("trace_id", event.delivery == nullptr ? extras.trace_id : TraceIdOf(*event.delivery));
  add_text("error", event.error);
  add_text("cause", event.cause);
  if (event.lateness) json["late_ms"] = Milliseconds(*event.lateness);
  if (event.handling) json["took_ms"] = Milliseconds(*event.handling);
  if (event.confirmed_after) json["confirm_ms"] = Milliseconds(*event.confirmed_after);
  if (event.in_flight) json["in_flight"] = *event.in_flight;
  if (event.delay_queues) json["delay_queues"] = *event.delay_queues;
  if (extras.repeated > 0) json["repeated"] = extras.repeated;
  add_text("url", extras.url);
  return JsonLine(json);
}

std::string TextLine(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras) {
  std::string line = JsonTime(event.time);
  line.append(" ").append(SeverityName(severity)).append(" ").append(name);
  const auto add = [&line](std::string_view key, std::string_view value) {
    line.append(" ").append(key).append("=").append(QuotedIfNeeded(value));
  };
  const auto add_text = [&add](std::string_view key, std::string_view text) {
    if (!text.empty()) add(key, Shortened(text));
  };
  add_text("queue", event.queue);
  if (event.attempt) add("attempt", std::to_string(*event.attempt));
  if (event.delay) add("delay", DurationText(*event.delay));
  add_text("delay_queue", event.delay_queue);
  add_text("id", event.id);
  add_text("error", event.error);
  if (event.lateness) add("late", WholeMilliseconds(*event.lateness));
  if (event.handling) add("took", WholeMilliseconds(*event.handling));
  if (extras.repeated > 0) add("repeated", std::to_string(extras.repeated));
  add_text("url", extras.url);
  return line;
}

EventLog::~EventLog() {
  for (auto& [key, trouble] : troubles_) LogHeldBack(key, trouble);
}

void EventLog::OnEvent(const Event& event) {
  Log(SeverityOf(event.kind), EventName(event.kind), event, {});
}

void EventLog::Say(Severity severity, std::string_view name, Event event,
                   const LineExtras& extras) {
  event.time = absl::Now();
  Log(severity, name, event, extras);
}

void EventLog::Log(Severity severity, std::string_view name, const Event& event,
                   const LineExtras& extras) {
  if (!IsHeldBack(severity, name, event)) Write(severity, name, event, extras);
}

void EventLog::Write(Severity severity, std::string_view name, const Event& event,
                     const LineExtras& extras) {
  if (severity >= options_.from) {
    outlet_.Write(LineOf(options_.format, severity, name, event, extras));
  }
}

std::string EventLog::DroppedLine(Format format, std::uint64_t lines) {
  const std::string error =
      absl::StrCat(lines, " lines of this log could not be written and were dropped");
  return LineOf(format, Severity::kWarning, "log_dropped",
                {.kind = {}, .time = absl::Now(), .error = error}, {});
}

bool EventLog::IsHeldBack(Severity severity, std::string_view name, const Event& event) {
  // The worker consumes only to test whether the command can be run again.
  if (name == kConsuming && troubles_.contains(Key(kPaused, event.queue))) return true;
  for (const auto& [trouble, end] : kRecoveries) {
    if (end != name) continue;
    auto over = troubles_.extract(Key(trouble, event.queue));
    if (!over.empty()) LogHeldBack(over.key(), over.mapped());
  }
  if (!IsTrouble(severity, name)) return false;
  const auto [found, is_new] = troubles_.try_emplace(Key(name, event.queue));
  if (is_new) {
    Watch(found->first, found->second);
  } else {
    found->second.Keep(severity, event);
  }
  return !is_new;
}

void EventLog::Trouble::Keep(Severity its_severity, const Event& event) {
  ++held_back;
  severity = its_severity;
  delay_queue = event.delay_queue;
  id = event.id;
  trace_id = event.delivery == nullptr ? std::string_view() : TraceIdOf(*event.delivery);
  error = event.error;
  cause = event.cause;
  last = event;
}

void EventLog::LogHeldBack(const Key& key, Trouble& trouble) {
  const std::uint64_t count = std::exchange(trouble.held_back, 0);
  if (count == 0) return;
  Event event = trouble.last;
  event.time = absl::Now();
  event.queue = key.second;
  event.delay_queue = trouble.delay_queue;
  event.id = trouble.id;
  event.error = trouble.error;
  event.cause = trouble.cause;
  event.delivery = nullptr;
  Write(trouble.severity, key.first, event, {.repeated = count, .trace_id = trouble.trace_id});
}

void EventLog::Watch(const Key& key, Trouble& trouble) {
  trouble.timer = timers_.After(kReportEvery, [this, &key, &trouble] {
    const std::unique_ptr<Timer> fired = std::move(trouble.timer);
    if (trouble.held_back == 0) {
      troubles_.erase(Key(key));
      return;
    }
    LogHeldBack(key, trouble);
    Watch(key, trouble);
  });
}

}  // namespace retryq::cli
