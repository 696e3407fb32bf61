#include "cli/worker/repeated_events.h"

#include <algorithm>
#include <array>

#include "cli/worker/trace_id.h"

namespace retryq::cli {
namespace {

// The event that ends a problem, and the event of that problem.
struct EndOfTrouble {
  std::string_view event;
  std::string_view ends;
};
constexpr std::array kRecoveries = {
    EndOfTrouble{"connected", "disconnected"}, EndOfTrouble{"unblocked", "blocked"},
    EndOfTrouble{"consuming", "interrupted"}, EndOfTrouble{"resumed", "paused"},
    EndOfTrouble{"breaker_closed", "breaker_opened"}};

// Never held back, as each is about another message.
constexpr std::array<std::string_view, 4> kFates = {"parked", "rejected", "discarded",
                                                    "on_parked_failed"};

bool IsTrouble(Severity severity, std::string_view name) {
  return severity >= Severity::kWarning &&
         std::find(kFates.begin(), kFates.end(), name) == kFates.end();
}

}  // namespace

void RepeatedEvents::Trouble::Keep(Severity its_severity, const Event& event) {
  ++held_back;
  severity = its_severity;
  delay_queue = event.delay_queue;
  id = event.id;
  trace_id = event.delivery == nullptr ? std::string_view() : TraceIdOf(*event.delivery);
  error = event.error;
  cause = event.cause;
  last = event;
}

Event RepeatedEvents::Trouble::Last(const std::string& queue) const {
  Event event = last;
  event.queue = queue;
  event.delay_queue = delay_queue;
  event.id = id;
  event.error = error;
  event.cause = cause;
  event.delivery = nullptr;
  return event;
}

RepeatedEvents::~RepeatedEvents() {
  for (auto& [key, trouble] : troubles_) ReportHeldBack(key, trouble);
}

bool RepeatedEvents::Pass(Severity severity, std::string_view name, const Event& event) {
  // The worker consumes only to test whether the command can be run again.
  if (name == "consuming" && troubles_.contains(Key("paused", event.queue))) return false;
  for (const EndOfTrouble& recovery : kRecoveries) {
    if (recovery.event != name) continue;
    auto over = troubles_.extract(Key(recovery.ends, event.queue));
    if (!over.empty()) ReportHeldBack(over.key(), over.mapped());
  }
  if (!IsTrouble(severity, name)) return true;
  const auto [found, is_new] = troubles_.try_emplace(Key(name, event.queue));
  if (is_new) {
    Watch(found->first, found->second);
  } else {
    found->second.Keep(severity, event);
  }
  return is_new;
}

void RepeatedEvents::ReportHeldBack(const Key& key, Trouble& trouble) {
  const std::uint64_t count = std::exchange(trouble.held_back, 0);
  if (count == 0) return;
  report_(trouble.severity, key.first, trouble.Last(key.second),
          {.repeated = count, .trace_id = trouble.trace_id});
}

void RepeatedEvents::Watch(const Key& key, Trouble& trouble) {
  trouble.timer = timers_.After(kReportEvery, [this, &key, &trouble] {
    const std::unique_ptr<Timer> fired = std::move(trouble.timer);
    if (trouble.held_back == 0) {
      troubles_.erase(Key(key));
      return;
    }
    ReportHeldBack(key, trouble);
    Watch(key, trouble);
  });
}

}  // namespace retryq::cli
