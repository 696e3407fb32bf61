// The bookkeeping of confirms, with so many publishes outstanding all the time.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>

#include "amqp/channel/publish_confirms.h"

namespace retryq::amqp {
namespace {

// Publishes so many, and goes on by one for each that is confirmed.
class Outstanding {
 public:
  explicit Outstanding(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) Publish();
  }
  void Publish() {
    confirms_.Add({.exact = ++published_, .stable = published_},
                  [this](const PublishResult&) { ++confirmed_; });
  }
  bool Confirm(std::uint64_t tag, bool multiple) {
    return confirms_.Settle(tag, multiple, PublishOutcome::kConfirmed);
  }
  std::uint64_t confirmed() const { return confirmed_; }

 private:
  PublishConfirms confirms_;
  std::uint64_t published_ = 0;
  std::uint64_t confirmed_ = 0;
};

void ConfirmOldest(benchmark::State& state) {
  Outstanding outstanding(state.range(0));
  std::uint64_t tag = 0;
  for (auto _ : state) {
    if (!outstanding.Confirm(++tag, /*multiple=*/false)) state.SkipWithError("unknown number");
    outstanding.Publish();
  }
  if (outstanding.confirmed() != tag) state.SkipWithError("not all were told");
}
BENCHMARK(ConfirmOldest)->Arg(1)->Arg(1000)->Arg(100'000);

// In pairs the wrong way round, as a broker confirms that writes to several queues.
void ConfirmOutOfOrder(benchmark::State& state) {
  Outstanding outstanding(state.range(0));
  std::uint64_t tag = 0;
  for (auto _ : state) {
    const std::uint64_t next = tag % 2 == 0 ? tag + 2 : tag;
    ++tag;
    if (!outstanding.Confirm(next, /*multiple=*/false)) state.SkipWithError("unknown number");
    outstanding.Publish();
  }
}
BENCHMARK(ConfirmOutOfOrder)->Arg(1000)->Arg(100'000);

// A hundred at a time: the time is for all of them.
void ConfirmHundred(benchmark::State& state) {
  Outstanding outstanding(state.range(0));
  std::uint64_t tag = 0;
  for (auto _ : state) {
    tag += 100;
    if (!outstanding.Confirm(tag, /*multiple=*/true)) state.SkipWithError("unknown number");
    for (int i = 0; i < 100; ++i) outstanding.Publish();
  }
}
BENCHMARK(ConfirmHundred)->Arg(1000)->Arg(100'000);

}  // namespace
}  // namespace retryq::amqp
