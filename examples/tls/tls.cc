// A worker that connects by TLS, and only to a broker that it trusts. The URL contains all TLS
// options.
//
//   tls URL [QUEUE]
//   tls 'amqps://user:password@rabbit.example/?cacertfile=/etc/worker/ca.pem' orders
//
// examples/tls/run creates certificates, starts a broker with them, and runs this program.
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "retryq/retryq.h"

namespace {

// Prints why a certificate is refused, with the remedy. The worker continues to reconnect, because
// the certificate may be fixed on either side.
class Printer final : public retryq::Observer {
 public:
  void OnEvent(const retryq::Event& event) override {
    if (event.kind == retryq::EventKind::kConnected) std::cout << "connected by TLS" << std::endl;
    if (event.kind == retryq::EventKind::kDisconnected) std::cout << event.error << std::endl;
  }
};

int Fail(const absl::Status& status) {
  std::cerr << "tls: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || !absl::StartsWith(argv[1], "amqps://")) {
    return Fail(absl::InvalidArgumentError(
        "usage: tls 'amqps://user:password@host/?cacertfile=FILE' [QUEUE]"));
  }
  Printer printer;
  retryq::EventLoop loop;
  retryq::Client client(loop, {.url = argv[1], .observer = &printer});
  const absl::StatusOr<retryq::Consumer> orders = client.Consume(
      {.queue = argc > 2 ? argv[2] : "orders",
       .retry = {.backoff = {.base = absl::Milliseconds(200)}, .max_attempts = 5}},
      [](const retryq::Delivery& delivery) -> retryq::Outcome {
        std::cout << delivery.body() << ": attempt " << delivery.attempt() + 1 << std::endl;
        if (delivery.attempt() == 0) return absl::UnavailableError("the bank does not respond");
        return absl::OkStatus();
      });
  if (!orders.ok()) return Fail(orders.status());  // also if a certificate file cannot be read

  const absl::Status end = loop.RunUntilSignal();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
