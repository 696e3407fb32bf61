// The time from the start of retryq to its first delivery.
//
//   bench_first_delivery_worker URL QUEUE

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_format.h"
#include "bench/baselines/workload.h"
#include "retryq/retryq.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bench_first_delivery_worker URL QUEUE\n";
    return retryq::ExitCode(absl::InvalidArgumentError(""));
  }
  const auto begin = std::chrono::steady_clock::now();
  retryq::EventLoop loop;
  retryq::Client client(loop, {.url = argv[1]});
  const absl::StatusOr<retryq::Consumer> consumer = client.Consume(
      {.queue = argv[2], .prefetch = kPrefetch}, [&](const retryq::Delivery&) -> retryq::Outcome {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        std::cout << absl::StrFormat("{\"seconds\":%.6f}\n", seconds.count());
        loop.Stop();
        return retryq::Outcome::Requeue();
      });
  if (!consumer.ok()) return retryq::ExitCode(consumer.status());
  return retryq::ExitCode(loop.Run());
}
