#include "cli/outage/queue_lifetimes.h"

#include <algorithm>
#include <iterator>

#include "retryq/delay_grid.h"

namespace retryq::cli {
namespace {

// Returns how many of these ascending times are not later than `time`.
std::uint64_t CountUntil(const std::vector<std::int64_t>& times, std::int64_t time) {
  return static_cast<std::uint64_t>(
      std::distance(times.begin(), std::upper_bound(times.begin(), times.end(), time)));
}

}  // namespace

QueueLifetimes::QueueLifetimes(const std::vector<absl::Duration>& ttls,
                               const DelayQueueOptions& options)
    : always_(!options.declare) {
  for (const absl::Duration ttl : ttls) {
    const bool rotates = options.queue_type == QueueType::kQuorum;
    queues_.push_back({.ttl = absl::ToInt64Milliseconds(ttl),
                       .lifetime = absl::ToInt64Milliseconds(QueueLifetime(ttl, options)),
                       .epoch = rotates ? absl::ToInt64Milliseconds(EpochLength(ttl, options)) : 0,
                       .spans = {}});
  }
}

void QueueLifetimes::Use(absl::Duration time, absl::Duration delay) {
  std::int64_t at = absl::ToInt64Milliseconds(time);
  std::int64_t left = absl::ToInt64Milliseconds(delay);
  // The consumer waits for a rest that is shorter than the shortest hop, unless it is the whole
  // delay.
  const std::int64_t shortest = absl::ToInt64Milliseconds(DelayGrid::kShortestHop);
  for (bool first = true; first ? left > 0 : left >= shortest; first = false) {
    const auto above =
        std::upper_bound(queues_.begin(), queues_.end(), left,
                         [](std::int64_t rest, const Queue& queue) { return rest < queue.ttl; });
    if (above == queues_.begin()) return;
    Queue& queue = *std::prev(above);
    if (queue.epoch > 0) {
      UseInEpoch(queue, at);
    } else {
      Extend(queue.spans, at, at + queue.lifetime);
    }
    at += queue.ttl;
    left -= queue.ttl;
  }
}

void QueueLifetimes::Extend(Spans& spans, std::int64_t begin, std::int64_t end) {
  auto next = spans.upper_bound(begin);
  if (next != spans.begin() && std::prev(next)->second >= begin) {
    const auto current = std::prev(next);
    if (current->second >= end) return;
    current->second = end;
    begin = current->first;
  } else {
    next = std::next(spans.emplace_hint(next, begin, end));
  }
  for (; next != spans.end() && next->first <= end; next = spans.erase(next)) {
    spans[begin] = std::max(end, next->second);
  }
}

void QueueLifetimes::UseInEpoch(Queue& queue, std::int64_t time) {
  const std::int64_t epoch = time / queue.epoch * queue.epoch;
  const auto first = queue.spans.lower_bound(epoch);
  if (first != queue.spans.end() && first->first < epoch + queue.epoch) {
    if (first->first <= time) return;
    queue.spans.erase(first);
  }
  queue.spans.emplace(time, time + queue.lifetime);
}

std::vector<std::uint64_t> QueueLifetimes::Count(const std::vector<absl::Duration>& times) const {
  const auto used = static_cast<std::uint64_t>(std::count_if(
      queues_.begin(), queues_.end(), [](const Queue& queue) { return !queue.spans.empty(); }));
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  for (const Queue& queue : queues_) {
    for (const auto& [begin, end] : queue.spans) {
      begins.push_back(begin);
      ends.push_back(end);
    }
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::vector<std::uint64_t> counts;
  counts.reserve(times.size());
  for (const absl::Duration time : times) {
    const std::int64_t at = absl::ToInt64Milliseconds(time);
    counts.push_back(always_ ? used : CountUntil(begins, at) - CountUntil(ends, at));
  }
  return counts;
}

}  // namespace retryq::cli
