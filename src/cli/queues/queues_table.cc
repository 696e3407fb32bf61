#include "cli/queues/queues_table.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "cli/management/json_fields.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr char kUnknown[] = "-";

// Rounds up to a readable precision.
std::string RoundedText(absl::Duration duration) {
  const absl::Duration unit = duration >= absl::Hours(1)      ? absl::Minutes(1)
                              : duration >= absl::Seconds(10) ? absl::Seconds(1)
                                                              : absl::Milliseconds(100);
  return DurationText(absl::Ceil(duration, unit));
}

std::string NextDue(const DelayQueueStatus& queue) {
  if (queue.next_due) return "~" + RoundedText(*queue.next_due);
  if (queue.next_due_at_most) return "<=" + RoundedText(*queue.next_due_at_most);
  return kUnknown;
}

std::string LeaseLeft(const DelayQueueStatus& queue) {
  if (!queue.lease) return "no end";
  if (!queue.lease_left_at_most) return kUnknown;
  const std::string at_most = RoundedText(*queue.lease_left_at_most);
  if (!queue.lease_left_at_least) return "<=" + at_most;
  const std::string at_least = RoundedText(*queue.lease_left_at_least);
  return at_least == at_most ? at_least : absl::StrCat(at_least, "..", at_most);
}

std::string RateText(const std::optional<double>& rate) {
  return rate ? absl::StrFormat("%.1f", *rate) : kUnknown;
}

std::string CountText(const std::optional<std::int64_t>& number) {
  return number ? absl::StrCat(*number) : kUnknown;
}

// The cells of a line; the first and the last are left-aligned.
constexpr std::size_t kColumns = 10;
using Cells = std::array<std::string, kColumns>;

const Cells kHeading = {"queue",    "ttl",        "type", "waiting", "overdue",
                        "next due", "lease left", "in/s", "out/s",   "serves"};

Cells CellsOf(const DelayQueueStatus& queue) {
  return {Printable(queue.name),
          queue.ttl ? DurationText(*queue.ttl) : "none",
          Printable(queue.type, 10),
          CountText(queue.waiting),
          CountText(queue.overdue),
          NextDue(queue),
          LeaseLeft(queue),
          RateText(queue.in_per_second),
          RateText(queue.out_per_second),
          Serves(queue)};
}

Cells CellsOf(const DelayQueueTotals& totals) {
  return {absl::StrCat(totals.queues, totals.queues == 1 ? " queue" : " queues"),
          "",
          "",
          absl::StrCat(totals.waiting),
          absl::StrCat(totals.overdue),
          "",
          "",
          RateText(totals.in_per_second),
          RateText(totals.out_per_second),
          ""};
}

std::string TableLine(const Cells& cells, const std::array<std::size_t, kColumns>& widths) {
  std::string line;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::string padding(widths[i] - std::min(widths[i], cells[i].size()), ' ');
    const bool to_the_left = i == 0 || i + 1 == kColumns;
    absl::StrAppend(&line, i == 0 ? "" : "  ", to_the_left ? "" : padding, cells[i],
                    to_the_left ? padding : "");
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

OrderedJson MillisecondsOrNull(const std::optional<absl::Duration>& duration) {
  return duration ? OrderedJson(absl::ToInt64Milliseconds(*duration)) : OrderedJson(nullptr);
}

template <typename T>
OrderedJson OrNull(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson QueueJson(const DelayQueueStatus& queue) {
  return {{"name", queue.name},
          {"ttl_ms", MillisecondsOrNull(queue.ttl)},
          {"type", queue.type},
          {"work_queue", queue.parts.work_queue.empty() ? OrderedJson(nullptr)
                                                        : OrderedJson(queue.parts.work_queue)},
          {"exchange",
           queue.parts.exchange.empty() ? OrderedJson(nullptr) : OrderedJson(queue.parts.exchange)},
          {"routing_key", queue.parts.exchange.empty() ? OrderedJson(nullptr)
                                                       : OrderedJson(queue.parts.routing_key)},
          {"state", queue.state},
          {"waiting", OrNull(queue.waiting)},
          {"overdue", OrNull(queue.overdue)},
          {"undelivered", OrNull(queue.undelivered)},
          {"next_due_ms", MillisecondsOrNull(queue.next_due)},
          {"next_due_at_most_ms", MillisecondsOrNull(queue.next_due_at_most)},
          {"expires_ms", MillisecondsOrNull(queue.lease)},
          {"lease_left_at_least_ms", MillisecondsOrNull(queue.lease_left_at_least)},
          {"lease_left_at_most_ms", MillisecondsOrNull(queue.lease_left_at_most)},
          {"in_per_second", OrNull(queue.in_per_second)},
          {"out_per_second", OrNull(queue.out_per_second)},
          {"dead_letter_exchange", queue.dead_letter_exchange},
          {"oddities", Oddities(queue)}};
}

}  // namespace

DelayQueueTotals TotalsOf(const DelayQueueList& list) {
  DelayQueueTotals totals{.queues = list.queues.size()};
  for (const DelayQueueStatus& queue : list.queues) {
    totals.waiting += queue.waiting.value_or(0);
    totals.overdue += queue.overdue.value_or(0);
    totals.in_per_second += queue.in_per_second.value_or(0);
    totals.out_per_second += queue.out_per_second.value_or(0);
  }
  return totals;
}

QueuesTable MakeTable(const DelayQueueList& list) {
  std::vector<Cells> all = {kHeading};
  for (const DelayQueueStatus& queue : list.queues) all.push_back(CellsOf(queue));
  all.push_back(CellsOf(TotalsOf(list)));
  std::array<std::size_t, kColumns> widths = {};
  for (const Cells& cells : all) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  QueuesTable table{.heading = TableLine(all.front(), widths),
                    .totals = TableLine(all.back(), widths)};
  for (std::size_t i = 1; i + 1 < all.size(); ++i) table.rows.push_back(TableLine(all[i], widths));
  return table;
}

std::string TableText(const DelayQueueList& list, const std::string& prefix,
                      const std::string& vhost) {
  if (list.queues.empty()) {
    return absl::StrCat("no delay queues '", Printable(prefix), ".*' in vhost '", Printable(vhost),
                        "': nothing has failed lately, or another --prefix or vhost is in use\n");
  }
  const QueuesTable table = MakeTable(list);
  std::string text = table.heading + "\n";
  for (const std::string& row : table.rows) absl::StrAppend(&text, row, "\n");
  absl::StrAppend(&text, table.totals, "\n");
  for (const DelayQueueStatus& queue : list.queues) {
    for (const std::string& oddity : Oddities(queue)) {
      absl::StrAppend(&text, Printable(queue.name), ": ", oddity, "\n");
    }
  }
  return text;
}

std::string JsonText(const DelayQueueList& list) {
  OrderedJson queues = OrderedJson::array();
  for (const DelayQueueStatus& queue : list.queues) queues.push_back(QueueJson(queue));
  const DelayQueueTotals totals = TotalsOf(list);
  const OrderedJson all = {{"time", JsonTime(list.at)},
                           {"queues", std::move(queues)},
                           {"totals",
                            {{"queues", totals.queues},
                             {"waiting", totals.waiting},
                             {"overdue", totals.overdue},
                             {"in_per_second", totals.in_per_second},
                             {"out_per_second", totals.out_per_second}}}};
  return JsonLine(all).append("\n");
}

std::string LinesText(const DelayQueueList& list) {
  const std::string time = JsonTime(list.at);
  std::string text;
  for (const DelayQueueStatus& queue : list.queues) {
    const Cells cells = CellsOf(queue);
    absl::StrAppend(&text, time, " queue=", cells[0], " ttl=", cells[1], " type=", cells[2],
                    " waiting=", cells[3], " overdue=", cells[4]);
    absl::StrAppend(&text, " next_due=", cells[5], " lease_left=", queue.lease ? cells[6] : "none",
                    " in=", cells[7], " out=", cells[8]);
    absl::StrAppend(&text, " serves=", absl::StrReplaceAll(cells[9], {{" ", ":"}}), "\n");
  }
  const Cells totals = CellsOf(TotalsOf(list));
  absl::StrAppend(&text, time, " queues=", list.queues.size(), " waiting=", totals[3],
                  " overdue=", totals[4]);
  absl::StrAppend(&text, " in=", totals[7], " out=", totals[8], "\n");
  return text;
}

}  // namespace retryq::cli
