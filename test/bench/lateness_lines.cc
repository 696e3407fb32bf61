// How late the handler is called for messages that are due, and a worker's memory.

#include <exception>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/fill.h"
#include "bench/line.h"
#include "bench/program.h"
#include "support/peer.h"
#include "support/standard.h"
#include "support/test_vhost.h"

namespace retryq::bench {
namespace {

constexpr char kQueue[] = "work";
constexpr std::size_t kBodySize = 256;
constexpr absl::Duration kTtl = absl::Seconds(1);

// `rate` messages, each of which comes back once a second, evenly spread over that second.
struct Steady {
  std::size_t rate;
  int warmup;   // seconds that do not count
  int seconds;  // that count
};

nlohmann::json RunSteady(const Steady& steady, const std::string& program) {
  const testing::TestVhost vhost;
  testing::Peer peer(vhost.Url());
  peer.DeclareQueue(kQueue);
  std::exception_ptr failure;
  std::thread feeder([&] {
    try {
      Fill(peer, kQueue, steady.rate, kBodySize, kTtl);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  nlohmann::json printed;
  try {
    printed = RunProgram(
        program, {vhost.Url(), kQueue, std::to_string(steady.warmup), std::to_string(steady.rate),
                  std::to_string(steady.seconds), std::to_string(absl::ToInt64Milliseconds(kTtl))});
  } catch (...) {
    feeder.join();
    throw;
  }
  feeder.join();
  if (failure) std::rethrow_exception(failure);
  return printed;
}

std::string LatenessProgram(Side side, const Setup& setup) {
  return setup.programs + (side == Side::kRetryq ? "bench_lateness_worker" : "lateness");
}

Line LatenessLine(std::size_t rate) {
  return {.name = absl::StrCat("lateness-", rate),
          .title = absl::StrCat("lateness at ", rate, " retries/s"),
          .metrics = {{.name = "p50", .unit = "ms", .comparison = Comparison::kAdded},
                      {.name = "p99", .unit = "ms", .comparison = Comparison::kAdded},
                      {.name = "max", .unit = "ms", .comparison = Comparison::kAdded}},
          .measure = [rate](Side side, const Setup& setup) -> std::vector<double> {
            const nlohmann::json late =
                RunSteady({.rate = rate, .warmup = 3, .seconds = 6}, LatenessProgram(side, setup));
            return {late.at("p50_ms"), late.at("p99_ms"), late.at("max_ms")};
          }};
}

std::vector<double> MeasureMemory(Side side, const Setup& setup) {
  const nlohmann::json printed =
      RunSteady({.rate = 1'000, .warmup = 60, .seconds = 60}, LatenessProgram(side, setup));
  return {printed.at("memory_mib"), printed.at("grown_mib")};
}

}  // namespace

std::vector<Line> LatenessLines() {
  std::vector<Line> lines;
  for (const std::size_t rate : {1U, 100U, 1'000U, 5'000U}) lines.push_back(LatenessLine(rate));
  lines.push_back({.name = "memory",
                   .title = "a worker's memory at 1000 retries/s",
                   .metrics = {{.name = "resident", .unit = "MiB", .comparison = Comparison::kNone},
                               {.name = "grown after the first minute",
                                .unit = "MiB",
                                .comparison = Comparison::kNone}},
                   .measure = MeasureMemory,
                   .is_extra = true});
  return lines;
}

}  // namespace retryq::bench
