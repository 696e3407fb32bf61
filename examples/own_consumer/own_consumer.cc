// The quickstart without a Client: the program consumes by itself and wraps its callback with a
// Retrier. Replace MakeBroker by your implementation of retryq::Broker to keep another AMQP client.
//
//   own_consumer [QUEUE]      RETRYQ_URL names the broker; QUEUE is "orders" by default
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/amqp/make_broker.h"
#include "retryq/retryq.h"

namespace {

// Replace this by your own work. Here the bank responds on the third attempt.
retryq::Outcome Charge(const retryq::Delivery& order) {
  std::cout << order.body() << ": attempt " << order.attempt() + 1 << std::endl;
  if (order.attempt() < 2) return absl::UnavailableError("the bank does not respond");
  return absl::OkStatus();
}

// Consumes a queue and retries its messages, from the first connection to a graceful stop.
class Worker final : private retryq::SubscriptionListener, private retryq::Observer {
 public:
  Worker(retryq::EventLoop& loop, retryq::Broker& broker, std::string queue)
      : loop_(loop), broker_(broker), queue_(std::move(queue)) {}

  // Returns an error if the options are invalid.
  absl::Status Start() {
    auto shared = retryq::Retrier::Shared::Create(broker_, {.clock = &loop_.clock(),
                                                            .timers = &loop_,
                                                            .random = &loop_.random(),
                                                            .executor = loop_.executor(),
                                                            .observer = this});
    if (!shared.ok()) return shared.status();
    auto retrier = retryq::Retrier::Create(
        *std::move(shared),
        {.queue = queue_, .retry = {.backoff = {.base = absl::Seconds(1)}, .max_attempts = 8}});
    if (!retrier.ok()) return retrier.status();
    retrier_ = *std::move(retrier);
    deliver_ = retrier_->Wrap([](const retryq::Delivery& delivery) { return Charge(delivery); });
    drain_ = loop_.OnDrain([this](retryq::EventLoop::DrainDone done) { Drain(std::move(done)); });
    return absl::OkStatus();
  }

 private:
  // Checks the queues as soon as there is a connection, and then consumes.
  void OnEvent(const retryq::Event& event) override {
    if (event.kind == retryq::EventKind::kConnected && subscription_ == nullptr) {
      retrier_->Prepare([this](const absl::Status& status) { OnPrepared(status); });
    }
    if (event.kind == retryq::EventKind::kDisconnected) std::cerr << event.error << '\n';
  }
  void OnPrepared(const absl::Status& status) {
    if (absl::IsUnavailable(status)) return;  // the next connection tries again
    if (!status.ok()) return loop_.Fail(status);
    if (subscription_ == nullptr) subscription_ = broker_.Consume({.queue = queue_}, this);
  }

  void OnSubscribed() override { std::cout << "waiting for messages in " << queue_ << std::endl; }
  void OnDelivery(retryq::amqp::MessagePtr message) override { deliver_(std::move(message)); }
  // The broker has requeued all open messages.
  void OnInterrupted(const absl::Status& why) override {
    retrier_->Abandon(why);
    std::cerr << why << '\n';
  }

  // Stops consuming, finishes the open messages, and closes the connection after the last ack.
  void Drain(retryq::EventLoop::DrainDone done) {
    if (subscription_ == nullptr) return done();
    subscription_->Cancel([this, done = std::move(done)] {
      retrier_->WhenIdle([this, done] { broker_.Close(done); });
    });
  }

  retryq::EventLoop& loop_;
  retryq::Broker& broker_;
  const std::string queue_;
  std::unique_ptr<retryq::Retrier> retrier_;
  retryq::DeliveryHandler deliver_;
  std::unique_ptr<retryq::Subscription> subscription_;
  std::shared_ptr<void> drain_;
};

int Fail(const absl::Status& status) {
  std::cerr << "own_consumer: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  const char* url = std::getenv("RETRYQ_URL");
  const absl::StatusOr<retryq::amqp::ConnectionOptions> connection =
      retryq::amqp::ParseUri(url != nullptr ? url : "amqp://localhost");
  if (!connection.ok()) return Fail(connection.status());

  retryq::EventLoop loop;
  const std::unique_ptr<retryq::Broker> broker = retryq::amqp::MakeBroker(loop, *connection);
  Worker worker(loop, *broker, argc > 1 ? argv[1] : "orders");
  if (absl::Status status = worker.Start(); !status.ok()) return Fail(status);
  const absl::Status end = loop.RunUntilSignal();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
