// Charges orders from a queue. A charge that fails is retried after 1 s, 2 s, 4 s, …
//
//   quickstart [QUEUE]      RETRYQ_URL names the broker; QUEUE is "orders" by default
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/retryq.h"

namespace {

// Replace this by your own work. Here the bank responds on the third attempt.
retryq::Outcome Charge(const retryq::Delivery& order) {
  std::cout << order.body() << ": attempt " << order.attempt() + 1 << std::endl;
  if (order.attempt() < 2) return absl::UnavailableError("the bank does not respond");
  return absl::OkStatus();
}

int Fail(const absl::Status& status) {
  std::cerr << "quickstart: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  const char* url = std::getenv("RETRYQ_URL");
  const std::string queue = argc > 1 ? argv[1] : "orders";

  retryq::EventLoop loop;
  retryq::Client client(loop, {.url = url != nullptr ? url : "amqp://localhost"});
  absl::StatusOr<retryq::Consumer> orders = client.Consume(
      {.queue = queue,
       .retry = {.backoff = {.base = absl::Seconds(1), .factor = 2.0, .max = absl::Minutes(10)},
                 .max_attempts = 8}},
      [](const retryq::Delivery& delivery) { return Charge(delivery); });
  if (!orders.ok()) return Fail(orders.status());

  std::cout << "waiting for messages in " << queue << "; press ctrl-C to stop" << std::endl;
  const absl::Status end = loop.RunUntilSignal();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
