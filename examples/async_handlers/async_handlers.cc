// Handlers that finish later, on threads of your own: the loop's thread hands each message to a
// pool and goes on, and whichever thread is done says what became of it. Messages are numbers,
// which are factorized.
//
//   async_handlers [QUEUE]      on the broker that RETRYQ_URL names
//
// Where handlers merely block and no pool is there yet, `.handler_threads = 4` does all this.
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <syncstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/retryq.h"
#include "thread_pool.h"

namespace {

constexpr int kThreads = 4;
// As many messages are with the pool at a time, which bounds its memory.
constexpr std::uint16_t kPrefetch = 16;

std::string Factorize(std::uint64_t number) {
  std::string factors;
  for (std::uint64_t factor = 2; number > 1; ++factor) {
    if (factor > number / factor) factor = number;  // what is left is a prime
    for (; number % factor == 0; number /= factor) {
      if (!factors.empty()) factors += " · ";
      factors += std::to_string(factor);
    }
  }
  return factors;
}

// Stands for your own work. Runs on any of the pool's threads, for several messages at once. Those
// that three divides find something busy at first.
retryq::Outcome Handle(const retryq::Delivery& delivery) {
  const std::string_view text = delivery.body();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 2) {
    return absl::InvalidArgumentError("no number from 2 on");  // retrying cannot fix it: parked
  }
  if (number % 3 == 0 && delivery.attempt() == 0) return absl::UnavailableError("busy");
  std::osyncstream(std::cout) << number << " = " << Factorize(number) << std::endl;
  return absl::OkStatus();
}

int Fail(const absl::Status& status) {
  std::cerr << "async_handlers: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  const char* url = std::getenv("RETRYQ_URL");
  const std::string queue = argc > 1 ? argv[1] : "numbers";

  retryq::EventLoop loop;
  retryq::Client client(loop, {.url = url != nullptr ? url : "amqp://localhost"});
  // Goes before the client and the loop. They could go first as well: a settlement that is used or
  // dropped after them does nothing, and the broker gives the message to another consumer.
  examples::ThreadPool pool(kThreads);

  const absl::StatusOr<retryq::Consumer> numbers = client.Consume(
      {.queue = queue,
       .retry = {.backoff = {.base = absl::Milliseconds(200)}, .max_attempts = 5},
       .prefetch = kPrefetch},
      [&pool](retryq::Delivery delivery, retryq::Settlement settlement) {
        pool.Run([delivery = std::move(delivery), settlement = std::move(settlement)]() mutable {
          std::move(settlement).Settle(Handle(delivery));
        });
      });
  if (!numbers.ok()) return Fail(numbers.status());

  std::cout << "waiting for numbers in " << queue << "; ctrl-C ends it" << std::endl;
  // After a signal nothing more is taken, and what the pool has is finished and settled.
  const absl::Status end = loop.RunUntilSignal();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
