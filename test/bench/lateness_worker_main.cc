// Measures how late retryq calls the handler for retries, and how much its memory grows meanwhile.
// All messages fail each time, with the same delay.
//
//   bench_lateness_worker URL QUEUE WARMUP MESSAGES SECONDS TTL    as baselines/lateness.c

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "bench/baselines/workload.h"
#include "retryq/retryq.h"
#include "support/standard.h"

namespace retryq::bench {
namespace {

constexpr int kUsage = 64;

struct Arguments {
  std::string url;
  std::string queue;
  absl::Duration warmup;
  std::size_t messages;
  absl::Duration counted;
  absl::Duration ttl;
};

// Returns the resident memory of this process, in MiB.
double Memory() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return static_cast<double>(resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) / 1048576;
}

// When messages were due and how late they were. Allocates all its memory at the start, so that the
// growth is retryq's.
class Lateness {
 public:
  explicit Lateness(const Arguments& arguments)
      : arguments_(arguments),
        due_(arguments.messages, absl::InfinitePast()),
        late_(
            static_cast<std::size_t>(static_cast<double>(arguments.messages) *
                                     (absl::FDivDuration(arguments.counted, arguments.ttl) + 2))) {}

  // Records a failure. Returns whether the measurement is over.
  bool Failed(std::string_view id) {
    const absl::Time now = absl::Now();
    if (begin_ == absl::InfiniteFuture()) begin_ = now + arguments_.warmup;
    id.remove_prefix(std::min(id.size(), std::string_view(kIdPrefix).size()));
    std::size_t index = due_.size();
    std::from_chars(id.data(), id.data() + id.size(), index);
    absl::Time& due = due_.at(index);
    if (now >= begin_ && due != absl::InfinitePast()) {
      if (count_ == 0) memory_ = Memory();
      if (count_ < late_.size()) late_[count_++] = absl::ToDoubleMilliseconds(now - due);
    }
    due = now + arguments_.ttl;
    return now >= begin_ + arguments_.counted;
  }

  absl::Status Print() {
    if (count_ == 0) return absl::NotFoundError("nothing came back");
    const double memory = Memory();
    late_.resize(count_);
    std::sort(late_.begin(), late_.end());
    std::cout << absl::StrFormat(
        "{\"messages\":%d,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,\"memory_mib\":%.3f,"
        "\"grown_mib\":%.3f}\n",
        count_, Quantile(0.5), Quantile(0.99), Quantile(1), memory, memory - memory_);
    return absl::OkStatus();
  }

 private:
  double Quantile(double part) const {
    return late_[static_cast<std::size_t>(part * static_cast<double>(count_ - 1))];
  }

  const Arguments& arguments_;
  std::vector<absl::Time> due_;  // by message
  std::vector<double> late_;     // ms
  std::size_t count_ = 0;
  absl::Time begin_ = absl::InfiniteFuture();
  double memory_ = 0;  // at the first message that counts
};

absl::Status Work(const Arguments& arguments) {
  EventLoop loop;
  Client client(loop, {.url = arguments.url});
  Lateness lateness(arguments);
  const absl::Status error = absl::UnavailableError(RETRYQ_BENCH_ERROR);
  bool is_over = false;
  absl::StatusOr<Consumer> consumer = client.Consume(
      {.queue = arguments.queue,
       .retry = {.backoff = {.delays = {arguments.ttl}}, .max_attempts = 0},
       .prefetch = kPrefetch},
      [&](const Delivery& delivery) -> Outcome {
        if (!is_over && lateness.Failed(delivery.properties().message_id.value_or(""))) {
          is_over = true;
          loop.Stop();
        }
        return error;
      });
  if (!consumer.ok()) return consumer.status();
  if (const absl::Status ended = loop.Run(); !ended.ok()) return ended;
  return lateness.Print();
}

int Main(const std::vector<std::string>& words) {
  std::int64_t warmup = 0;
  std::size_t messages = 0;
  std::int64_t counted = 0;
  std::int64_t ttl = 0;
  if (words.size() != 6 || !absl::SimpleAtoi(words[2], &warmup) ||
      !absl::SimpleAtoi(words[3], &messages) || !absl::SimpleAtoi(words[4], &counted) ||
      !absl::SimpleAtoi(words[5], &ttl) || ttl <= 0) {
    std::cerr << "usage: bench_lateness_worker URL QUEUE WARMUP MESSAGES SECONDS TTL\n";
    return kUsage;
  }
  const absl::Status status = Work({.url = words[0],
                                    .queue = words[1],
                                    .warmup = absl::Seconds(warmup),
                                    .messages = messages,
                                    .counted = absl::Seconds(counted),
                                    .ttl = absl::Milliseconds(ttl)});
  if (!status.ok()) std::cerr << "bench_lateness_worker: " << status << '\n';
  return ExitCode(status);
}

}  // namespace
}  // namespace retryq::bench

int main(int argc, char** argv) { return retryq::bench::Main({argv + 1, argv + argc}); }
