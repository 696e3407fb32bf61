// Handlers that finish later, on your own threads: the loop's thread passes each message to a pool
// and continues, and the thread that handled the message settles it. Messages are numbers, which
// the program factorizes.
//
//   async_handlers [QUEUE]      RETRYQ_URL names the broker; QUEUE is "numbers" by default
//
// If your handlers block and your program has no pool, `.handler_threads = 4` is enough.
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
// The largest number of messages in the pool, which limits its memory.
constexpr std::uint16_t kPrefetch = 16;

std::string Factorize(std::uint64_t number) {
  std::string factors;
  for (std::uint64_t factor = 2; number > 1; ++factor) {
    if (factor > number / factor) factor = number;  // the rest is a prime
    for (; number % factor == 0; number /= factor) {
      if (!factors.empty()) factors += " · ";
      factors += std::to_string(factor);
    }
  }
  return factors;
}

// Replace this by your own work. It runs on all threads of the pool, for several messages at once.
// The first attempt of each multiple of three fails.
retryq::Outcome Handle(const retryq::Delivery& delivery) {
  const std::string_view text = delivery.body();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 2) {
    return absl::InvalidArgumentError("not a number above 1");  // parked: no retry can fix it
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
  // The pool is destroyed before the client and the loop. The opposite order works too: a
  // settlement that is used or destroyed after them does nothing, and the broker requeues the
  // message.
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

  std::cout << "waiting for numbers in " << queue << "; press ctrl-C to stop" << std::endl;
  // After a signal the consumer takes no more messages, and the pool finishes and settles its own.
  const absl::Status end = loop.RunUntilSignal();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
