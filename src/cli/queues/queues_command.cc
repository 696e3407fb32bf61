#include "cli/queues/queues_command.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/escaped_text.h"
#include "cli/text/duration.h"
#include "cli/text/json_line.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr absl::Duration kShortestInterval = absl::Milliseconds(100);

constexpr HelpText kQueuesHelp = {
    .description =
        "Shows the delay queues of a vhost: the messages that wait in them, when the next one is "
        "due, and how\nlong the queues live. Reads only the management API, and does not touch "
        "the queues.",
    .usage = "retryq queues [OPTIONS]",
    .footer =
        R"(ttl         how long a message waits
waiting     messages in the queue
overdue     messages that are due and still in the queue. The broker cannot deliver them if the
            queue that they return to is missing or full; classic queues drop them instead
next due    time until the next message leaves: ~ is an estimate from the broker's statistics, to
            within 5s; <= is an upper bound
lease left  time until the broker deletes the queue if no worker declares it again, at most. Workers
            keep a classic queue while it has messages; a quorum queue lives for a fixed time
in/s, out/s messages per second, over the last minute
serves      owner of the messages: the work queue, or the exchange that they were published to; many
            if all work queues share the queue. Then the exchange that messages return through

The broker updates its statistics every 5s.
Exit status: 64 wrong options; 69 no management API, or no such vhost; 77 refused.

Examples: all delay queues; the same, updated; the number of waiting messages for a script
  retryq queues
  retryq queues --watch
  retryq queues --json | jq .totals.waiting
)",
};

// Sums over delay queues. Unknown if one of the counts, or each of the rates, is unknown.
struct DelayQueueTotals {
  std::size_t queues = 0;
  std::optional<std::int64_t> waiting = 0;
  std::optional<std::int64_t> overdue = 0;
  std::optional<double> in_per_second;
  std::optional<double> out_per_second;
};

void AddCount(const std::optional<std::int64_t>& count, std::optional<std::int64_t>* total) {
  *total = count && *total ? std::optional(**total + *count) : std::nullopt;
}

void AddRate(const std::optional<double>& rate, std::optional<double>* total) {
  if (rate) *total = total->value_or(0) + *rate;
}

DelayQueueTotals TotalsOf(const DelayQueueList& list) {
  DelayQueueTotals totals{.queues = list.queues.size()};
  if (list.queues.empty()) totals.in_per_second = totals.out_per_second = 0;
  for (const DelayQueueStatus& queue : list.queues) {
    AddCount(queue.waiting, &totals.waiting);
    AddCount(queue.overdue, &totals.overdue);
    AddRate(queue.in_per_second, &totals.in_per_second);
    AddRate(queue.out_per_second, &totals.out_per_second);
  }
  return totals;
}

// The text of a value; "-" if it is unknown.
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
  Cells cells;
  cells[0] = absl::StrCat(totals.queues, totals.queues == 1 ? " queue" : " queues");
  cells[3] = CountText(totals.waiting);
  cells[4] = CountText(totals.overdue);
  cells[7] = RateText(totals.in_per_second);
  cells[8] = RateText(totals.out_per_second);
  return cells;
}

std::string TableLine(const Cells& cells, const std::array<std::size_t, kColumns>& widths) {
  std::string line;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::string padding(widths[i] - cells[i].size(), ' ');
    const bool to_the_left = i == 0 || i + 1 == kColumns;
    absl::StrAppend(&line, i == 0 ? "" : "  ", to_the_left ? "" : padding, cells[i],
                    to_the_left ? padding : "");
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

OrderedJson OrNull(const std::optional<absl::Duration>& duration) {
  return duration ? OrderedJson(absl::ToInt64Milliseconds(*duration)) : OrderedJson(nullptr);
}

template <typename T>
OrderedJson OrNull(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson QueueJson(const DelayQueueStatus& queue) {
  const auto name = [](const std::string& text, const std::string& owner) {
    return owner.empty() ? OrderedJson(nullptr) : OrderedJson(text);
  };
  const DelayQueueName& parts = queue.parts;
  return {{"name", queue.name},
          {"ttl_ms", OrNull(queue.ttl)},
          {"type", queue.type},
          {"work_queue", name(parts.work_queue, parts.work_queue)},
          {"exchange", name(parts.exchange, parts.exchange)},
          {"routing_key", name(parts.routing_key, parts.exchange)},
          {"state", queue.state},
          {"waiting", OrNull(queue.waiting)},
          {"overdue", OrNull(queue.overdue)},
          {"undelivered", OrNull(queue.undelivered)},
          {"next_due_ms", OrNull(queue.next_due)},
          {"next_due_at_most_ms", OrNull(queue.next_due_at_most)},
          {"expires_ms", OrNull(queue.lease)},
          {"lease_left_at_least_ms", OrNull(queue.lease_left_at_least)},
          {"lease_left_at_most_ms", OrNull(queue.lease_left_at_most)},
          {"in_per_second", OrNull(queue.in_per_second)},
          {"out_per_second", OrNull(queue.out_per_second)},
          {"dead_letter_exchange", queue.dead_letter_exchange},
          {"oddities", Oddities(queue)}};
}

void AddOutputFlags(FlagParser& parser, QueuesOptions* options) {
  parser.Group("Output");
  parser.Add("--json", &options->json,
             "Print one JSON object: {\"time\",\"queues\":[{\"name\",\"ttl_ms\",...},...], "
             "\"totals\":{...}}. Unknown values are null");
  parser.Add("--watch", &options->watch,
             "Update the output until q, SIGINT or SIGTERM: full-screen on a terminal (h shows the "
             "keys), otherwise the table, with --json one object per line");
  parser.Add("--interval", "DURATION", &options->interval,
             "With --watch: update at this interval. Default: 2s. Range: from 100ms");
  parser.Check([options](FlagReader& reader) {
    reader.RequireFor("--interval", options->watch, "--watch");
    if (options->interval >= kShortestInterval) return;
    reader.Complain("--interval must be at least 100ms; the broker's statistics change every 5s");
  });
}

}  // namespace

Parsed<QueuesOptions> ParseQueues(const Arguments& arguments) {
  QueuesOptions options;
  FlagParser parser(kQueuesHelp);
  AddPlaceFlags(parser, /*waits=*/false, &options.place);
  AddPrefixFlag(parser, &options.prefix);
  AddOutputFlags(parser, &options);
  return parser.ParseInto(arguments, options);
}

absl::StatusOr<std::string> Queues(const QueuesOptions& options) {
  if (options.watch) {
    if (absl::Status status = WatchQueues(options); !status.ok()) return status;
    return "";
  }
  EventLoop loop;
  ManagementApi api(loop, options.place.management);
  const auto list = FetchDelayQueues(api, options);
  if (!list.ok()) return list.status();
  return options.json ? JsonText(*list) : TableText(*list, options);
}

absl::StatusOr<DelayQueueList> FetchDelayQueues(ManagementApi& api, const QueuesOptions& options) {
  DelayQueueList list;
  const absl::Status status = VisitQueues(
      api, options.place.connection.vhost, options.prefix + ".",
      [&](const nlohmann::json& json, absl::Time at) {
        if (std::optional<DelayQueueStatus> queue = ReadDelayQueue(json, options.prefix, at)) {
          list.queues.push_back(*std::move(queue));
        }
      });
  if (!status.ok()) return status;
  std::sort(list.queues.begin(), list.queues.end(), [](const auto& a, const auto& b) {
    return std::tie(a.parts.ttl, a.name) < std::tie(b.parts.ttl, b.name);
  });
  list.at = absl::Now();
  return list;
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

std::string TableText(const DelayQueueList& list, const QueuesOptions& options) {
  if (list.queues.empty()) {
    return absl::StrCat("no delay queues '", Printable(options.prefix), ".*' in vhost '",
                        Printable(options.place.connection.vhost),
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
                             {"waiting", OrNull(totals.waiting)},
                             {"overdue", OrNull(totals.overdue)},
                             {"in_per_second", OrNull(totals.in_per_second)},
                             {"out_per_second", OrNull(totals.out_per_second)}}}};
  return JsonLine(all).append("\n");
}

}  // namespace retryq::cli
