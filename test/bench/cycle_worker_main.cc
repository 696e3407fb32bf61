// The workload of the baselines, with retryq: consumes the messages of one or more queues, and
// prints the time and CPU that it took as a line of JSON.
//
//   bench_cycle_worker retry|success URL QUEUES WARMUP MESSAGES TTLS [PREFETCH [QUEUE_TYPE]]
//
// QUEUES are separated by commas; each has a consumer. WARMUP and MESSAGES are totals of all
// queues. QUEUE_TYPE is the type of the delay queues: classic or quorum.
//
// With more than one TTL the handler chooses each delay. An observer counts events, as a program
// with metrics does.

#include <sys/resource.h>

#include <chrono>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "bench/baselines/workload.h"
#include "retryq/retryq.h"
#include "support/standard.h"

namespace retryq::bench {
namespace {

constexpr int kUsage = 64;
// Enough for 256 TTLs besides the 64 steps of the grid.
constexpr std::size_t kDelayQueues = 512;

struct Arguments {
  bool fails;
  std::string url;
  std::vector<std::string> queues;
  std::uint64_t warmup;
  std::uint64_t messages;
  std::uint64_t ttls;
  std::uint32_t prefetch;
  QueueType queue_type;
};

struct Usage {
  std::chrono::steady_clock::time_point time;
  rusage used;

  static Usage Now() {
    Usage usage{.time = std::chrono::steady_clock::now(), .used = {}};
    getrusage(RUSAGE_SELF, &usage.used);
    return usage;
  }
};

double Seconds(const timeval& from, const timeval& to) {
  return static_cast<double>(to.tv_sec - from.tv_sec) +
         static_cast<double>(to.tv_usec - from.tv_usec) / 1e6;
}

// Ends the measurement after the turn of the loop that sends the last acks, then drains the loop.
class Counter final : public Observer {
 public:
  Counter(EventLoop& loop, const Arguments& arguments)
      : loop_(loop),
        counted_(arguments.fails ? EventKind::kRetried : EventKind::kHandled),
        warmup_(arguments.warmup),
        last_(arguments.warmup + arguments.messages) {}

  void OnEvent(const Event& event) override {
    if (event.kind != counted_) return;
    ++done_;
    if (done_ == warmup_) begin_ = Usage::Now();
    if (done_ != last_) return;
    loop_.executor()->Post([this] {
      end_ = Usage::Now();
      loop_.Drain();
    });
  }
  const Usage& begin() const { return begin_; }
  const std::optional<Usage>& end() const { return end_; }

 private:
  EventLoop& loop_;
  const EventKind counted_;
  const std::uint64_t warmup_;
  const std::uint64_t last_;
  std::uint64_t done_ = 0;
  Usage begin_ = Usage::Now();
  std::optional<Usage> end_;
};

absl::Status Work(const Arguments& arguments) {
  EventLoop loop;
  Counter counter(loop, arguments);
  Client client(loop, {.url = arguments.url,
                       .observer = &counter,
                       .delay_queues = {.max_delay_queues = kDelayQueues,
                                        .queue_type = arguments.queue_type}});
  std::vector<Duration> delays;
  for (std::uint64_t i = 0; i < arguments.ttls; ++i) {
    delays.push_back(absl::Milliseconds(kFirstTtl + i * kTtlStep));
  }
  const absl::Status error = absl::UnavailableError(RETRYQ_BENCH_ERROR);
  std::uint64_t handled = 0;
  std::vector<Consumer> consumers;
  for (const std::string& queue : arguments.queues) {
    absl::StatusOr<Consumer> consumer =
        client.Consume({.queue = queue,
                        .retry = {.backoff = {.delays = delays}, .max_attempts = 0},
                        .prefetch = static_cast<std::uint16_t>(arguments.prefetch)},
                       [&](const Delivery&) -> Outcome {
                         if (!arguments.fails) return Outcome::Ok();
                         if (delays.size() == 1) return error;
                         return Outcome::RetryAfter(delays[handled++ % delays.size()], error);
                       });
    if (!consumer.ok()) return consumer.status();
    consumers.push_back(*std::move(consumer));
  }
  if (const absl::Status ended = loop.Run(); !ended.ok()) return ended;
  if (!counter.end()) return absl::CancelledError("ended before the last message");

  const Usage& begin = counter.begin();
  const Usage& end = *counter.end();
  std::cout << absl::StrFormat(
      "{\"messages\":%d,\"seconds\":%.6f,\"user_seconds\":%.6f,\"system_seconds\":%.6f}\n",
      arguments.messages, std::chrono::duration<double>(end.time - begin.time).count(),
      Seconds(begin.used.ru_utime, end.used.ru_utime),
      Seconds(begin.used.ru_stime, end.used.ru_stime));
  return absl::OkStatus();
}

int Main(const std::vector<std::string>& words) {
  Arguments arguments{};
  arguments.prefetch = kPrefetch;
  if (words.size() < 6 || words.size() > 8 || (words[0] != "retry" && words[0] != "success") ||
      !absl::SimpleAtoi(words[3], &arguments.warmup) ||
      !absl::SimpleAtoi(words[4], &arguments.messages) ||
      !absl::SimpleAtoi(words[5], &arguments.ttls) || arguments.ttls == 0 ||
      (words.size() > 6 && !absl::SimpleAtoi(words[6], &arguments.prefetch))) {
    std::cerr << "usage: bench_cycle_worker retry|success URL QUEUES WARMUP MESSAGES TTLS "
                 "[PREFETCH [QUEUE_TYPE]]\n";
    return kUsage;
  }
  arguments.fails = words[0] == "retry";
  arguments.url = words[1];
  arguments.queues = absl::StrSplit(words[2], ',');
  arguments.queue_type =
      words.size() > 7 && words[7] == "quorum" ? QueueType::kQuorum : QueueType::kClassic;
  const absl::Status status = Work(arguments);
  if (!status.ok()) std::cerr << "bench_cycle_worker: " << status << '\n';
  return ExitCode(status);
}

}  // namespace
}  // namespace retryq::bench

int main(int argc, char** argv) { return retryq::bench::Main({argv + 1, argv + argc}); }
