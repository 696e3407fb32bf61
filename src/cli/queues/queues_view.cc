#include "cli/queues/queues_view.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/management/json_fields.h"
#include "cli/queues/queues_table.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

// The title, the heading, the totals and the footer.
constexpr std::size_t kFixedLines = 4;

// Cuts a text to a width, at a UTF-8 character. A character has at most as many columns as bytes.
std::string Cut(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  std::size_t end = width;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

LineStyle StyleOf(const DelayQueueStatus& queue) {
  if (!Oddities(queue).empty()) return LineStyle::kOdd;
  return queue.waiting.value_or(0) > 0 ? LineStyle::kWaiting : LineStyle::kIdle;
}

absl::Duration DueOf(const DelayQueueStatus& queue) {
  if (queue.next_due) return *queue.next_due;
  return queue.next_due_at_most.value_or(absl::InfiniteDuration());
}

}  // namespace

void QueuesView::Show(DelayQueueList list) {
  list_ = std::move(list);
  error_.clear();
  Sort();
}

void QueuesView::Press(Key key) {
  if (help_ && key != Key::kQuit) {
    help_ = false;
    return;
  }
  switch (key) {
    case Key::kUp:
      top_ -= std::min<std::size_t>(top_, 1);
      break;
    case Key::kDown:
      ++top_;
      break;
    case Key::kPageUp:
      top_ -= std::min(top_, page_);
      break;
    case Key::kPageDown:
      top_ += page_;
      break;
    case Key::kTop:
      top_ = 0;
      break;
    case Key::kBottom:
      top_ = list_.queues.size();
      break;
    case Key::kSort:
      order_ =
          order_ == Order::kRate ? Order::kTtl : static_cast<Order>(static_cast<int>(order_) + 1);
      Sort();
      break;
    case Key::kPause:
      paused_ = !paused_;
      break;
    case Key::kHelp:
      help_ = true;
      break;
    case Key::kQuit:
      quit_ = true;
      break;
  }
}

std::string QueuesView::NameOf(Order order) {
  switch (order) {
    case Order::kTtl:
      return "ttl";
    case Order::kWaiting:
      return "waiting";
    case Order::kNextDue:
      return "next due";
    case Order::kRate:
      break;
  }
  return "in/s";
}

double QueuesView::KeyOf(const DelayQueueStatus& queue) const {
  switch (order_) {
    case Order::kTtl:
      break;
    case Order::kWaiting:
      return static_cast<double>(-queue.waiting.value_or(-1));
    case Order::kNextDue:
      return absl::ToDoubleSeconds(DueOf(queue));
    case Order::kRate:
      return -queue.in_per_second.value_or(-1);
  }
  return 0;
}

void QueuesView::Sort() {
  std::sort(list_.queues.begin(), list_.queues.end(), [this](const auto& a, const auto& b) {
    const double key_of_a = KeyOf(a);
    const double key_of_b = KeyOf(b);
    return std::tie(key_of_a, a.parts.ttl, a.name) < std::tie(key_of_b, b.parts.ttl, b.name);
  });
}

std::vector<ViewLine> QueuesView::Help() const {
  std::vector<ViewLine> lines;
  for (const char* text :
       {"q          quit", "up, k      one line up", "down, j    one line down",
        "page up, page down, home, end", "s          sort by ttl, waiting, next due, in/s",
        "p, space   pause, and go on", "h, ?       this help; any of these ends it", "",
        "overdue    due, and still there: no queue takes it",
        "next due   ~ is worked out, give or take 5s; <= is the most it can be",
        "lease left until the broker drops the queue if no worker declares it again",
        "serves     whose messages wait there; many: all work queues share it"}) {
    lines.push_back({text, LineStyle::kIdle});
  }
  return lines;
}

std::vector<ViewLine> QueuesView::Render(std::size_t width, std::size_t height) {
  std::vector<ViewLine> lines;
  lines.push_back({absl::StrCat("retryq queues  ", Printable(options_.prefix, 100), ".*  vhost '",
                                Printable(options_.vhost, 100), "'  ",
                                absl::FormatTime("%H:%M:%S", list_.at, absl::LocalTimeZone()), "  ",
                                paused_ ? "paused" : "every " + DurationText(options_.interval)),
                   LineStyle::kTitle});
  const QueuesTable table = MakeTable(list_);
  std::vector<ViewLine> rows;
  if (help_) {
    rows = Help();
  } else if (list_.queues.empty()) {
    rows.push_back({"no delay queues: nothing has failed lately", LineStyle::kIdle});
  }
  if (rows.empty()) {
    lines.push_back({table.heading, LineStyle::kHeading});
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      rows.push_back({table.rows[i], StyleOf(list_.queues[i])});
    }
  } else {
    lines.push_back({"", LineStyle::kHeading});
  }

  page_ = height > kFixedLines ? height - kFixedLines : 1;
  top_ = std::min(top_, rows.size() - std::min(rows.size(), page_));
  const std::size_t end = std::min(top_ + page_, rows.size());
  const std::string more =
      rows.size() > page_ ? absl::StrCat("  ", top_ + 1, "-", end, " of ", rows.size()) : "";
  for (std::size_t i = help_ ? 0 : top_; i < end; ++i) lines.push_back(std::move(rows[i]));

  lines.push_back({table.totals, LineStyle::kTotals});
  lines.push_back({absl::StrCat("q quit  s sort: ", NameOf(order_), "  p ",
                                paused_ ? "go on" : "pause", "  h help", more),
                   LineStyle::kFooter});
  if (!error_.empty()) lines.back() = {Printable(error_), LineStyle::kError};
  if (lines.size() > height) lines.resize(height);
  for (ViewLine& line : lines) line.text = Cut(line.text, width);
  return lines;
}

}  // namespace retryq::cli
