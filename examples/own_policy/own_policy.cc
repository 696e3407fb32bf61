// Sets a policy for each kind of error, and computes the backoff by a function. The body of a
// message names the error of each attempt: "throttled", "deadlock", "timeout" or "malformed".
//
//   own_policy [QUEUE]      RETRYQ_URL names the broker; QUEUE is "tasks" by default
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "retryq/retryq.h"

namespace {

// Computes the delay from the number of failures: Fibonacci numbers from 100 ms on.
absl::Duration Fibonacci(const retryq::Failure& failure) {
  absl::Duration delay = absl::Milliseconds(100);
  absl::Duration next = delay;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(failure.failures, 40); ++i) {
    delay = std::exchange(next, delay + next);
  }
  return delay;
}

retryq::RetryOptions Policy() {
  retryq::RetryOptions policy{.backoff = {.max = absl::Seconds(1), .function = Fibonacci},
                              .max_attempts = 6};
  // The first rule that matches the error applies. Fields that it does not set are as above.
  policy.for_errors = {
      // If the service throttles, retry with a constant delay, and more often.
      {.codes = {absl::StatusCode::kResourceExhausted},
       .backoff = retryq::BackoffOptions{.base = absl::Milliseconds(300), .factor = 1},
       .max_attempts = 8},
      // A deadlock is gone after a moment. If it is not, give up early.
      {.matches =
           [](const absl::Status& error) { return absl::StrContains(error.message(), "deadlock"); },
       .backoff =
           retryq::BackoffOptions{.delays = {absl::Milliseconds(20), absl::Milliseconds(50)}},
       .max_attempts = 3,
       .on_limit = retryq::OnLimit::kDiscard},
  };
  return policy;
}

// Replace this by your own work.
absl::Status Handle(std::string_view message) {
  if (message == "throttled") return absl::ResourceExhaustedError("too many requests");
  if (message == "deadlock") return absl::AbortedError("deadlock found, transaction rolled back");
  if (message == "timeout") return absl::DeadlineExceededError("no response");
  return absl::InvalidArgumentError("malformed");  // permanent: parked at once by default
}

// Prints the delays of a message that always fails with the same error.
void PrintPlan(retryq::EventLoop& loop, const std::string& message) {
  std::cout << message << ':';
  const absl::Status error = Handle(message);
  absl::Duration age = absl::ZeroDuration();
  std::optional<absl::Duration> delay;
  for (std::uint64_t failures = 0;; ++failures) {
    delay = retryq::NextRetry(
        Policy(), {.failures = failures, .error = error, .previous_delay = delay, .age = age},
        loop.random());
    if (!delay) break;
    std::cout << ' ' << absl::FormatDuration(*delay);
    age += *delay;
  }
  std::cout << ", given up" << std::endl;
}

class Printer final : public retryq::Observer {
 public:
  void OnEvent(const retryq::Event& event) override {
    if (event.delivery == nullptr) return;
    switch (event.kind) {
      case retryq::EventKind::kRetried:
      case retryq::EventKind::kParked:
      case retryq::EventKind::kDiscarded:
        std::cout << event.delivery->body() << ' ' << EventName(event.kind);
        if (event.delay) std::cout << ' ' << absl::FormatDuration(*event.delay);
        std::cout << std::endl;
        break;
      default:
        break;
    }
  }
};

int Fail(const absl::Status& status) {
  std::cerr << "own_policy: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  const char* url = std::getenv("RETRYQ_URL");
  const std::string queue = argc > 1 ? argv[1] : "tasks";

  Printer printer;
  retryq::EventLoop loop;
  for (const char* message : {"throttled", "deadlock", "timeout", "malformed"}) {
    PrintPlan(loop, message);
  }

  retryq::Client client(loop,
                        {.url = url != nullptr ? url : "amqp://localhost", .observer = &printer});
  const absl::StatusOr<retryq::Consumer> tasks =
      client.Consume({.queue = queue, .retry = Policy()},
                     [](const retryq::Delivery& delivery) { return Handle(delivery.body()); });
  if (!tasks.ok()) return Fail(tasks.status());

  std::cout << "waiting for messages in " << queue << "; press ctrl-C to stop" << std::endl;
  const absl::Status end = loop.RunUntilSignal();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
