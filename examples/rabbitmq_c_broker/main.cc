// The quickstart on another client: rabbitmq-c behind retryq::Broker, and retryq's Retrier around
// the callback.
//
//   rabbitmq_c_broker [QUEUE]      on the broker that RETRYQ_URL names
//
// retryq::Client takes such a broker too, and does what Worker does here; this is for a program
// that consumes by means of their own.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rabbitmq_c_broker.h"
#include "retryq/retryq.h"

namespace {

// Stands for your own work: here the bank answers on the third attempt.
retryq::Outcome Charge(const retryq::Delivery& order) {
  std::cout << order.body() << ": attempt " << order.attempt() + 1 << std::endl;
  if (order.attempt() < 2) return absl::UnavailableError("the bank does not answer");
  return absl::OkStatus();
}

// Brings consuming and retrying together, from the first connection to a graceful stop.
class Worker final : private retryq::SubscriptionListener, private retryq::Observer {
 public:
  Worker(retryq::EventLoop& loop, retryq::Broker& broker) : loop_(loop), broker_(broker) {}

  // The error is about the options.
  absl::Status Start(std::string queue) {
    auto shared = retryq::Retrier::Shared::Create(broker_, {.clock = &loop_.clock(),
                                                            .timers = &loop_,
                                                            .random = &loop_.random(),
                                                            .executor = loop_.executor(),
                                                            .observer = this});
    if (!shared.ok()) return shared.status();
    auto retrier = retryq::Retrier::Create(
        *std::move(shared),
        {.queue = queue, .retry = {.backoff = {.base = absl::Seconds(1)}, .max_attempts = 8}});
    if (!retrier.ok()) return retrier.status();
    queue_ = std::move(queue);
    retrier_ = *std::move(retrier);
    deliver_ = retrier_->Wrap([](const retryq::Delivery& delivery) { return Charge(delivery); });
    drain_ = loop_.OnDrain([this](retryq::EventLoop::DrainDone done) { Drain(std::move(done)); });
    return absl::OkStatus();
  }

 private:
  // Once there is a connection: what must be there is looked for, then consumed.
  void OnEvent(const retryq::Event& event) override {
    if (event.kind == retryq::EventKind::kConnected && subscription_ == nullptr) {
      retrier_->Prepare([this](const absl::Status& status) { OnPrepared(status); });
    }
    if (event.kind == retryq::EventKind::kDisconnected) std::cerr << event.error << '\n';
  }
  void OnPrepared(const absl::Status& status) {
    if (absl::IsUnavailable(status)) return;  // again with the next connection
    if (!status.ok()) return loop_.Fail(status);
    if (subscription_ == nullptr) subscription_ = broker_.Consume({.queue = queue_}, this);
  }

  void OnSubscribed() override { std::cout << "waiting for messages in " << queue_ << std::endl; }
  void OnDelivery(retryq::amqp::MessagePtr message) override { deliver_(std::move(message)); }
  // The broker requeues what was open.
  void OnInterrupted(const absl::Status& why) override {
    retrier_->Abandon();
    std::cerr << why << '\n';
  }

  // Takes nothing more, finishes what is open, and closes after the last ack.
  void Drain(retryq::EventLoop::DrainDone done) {
    if (subscription_ == nullptr) return done();
    subscription_->Cancel([this, done = std::move(done)] {
      retrier_->WhenIdle([this, done] { broker_.Close(done); });
    });
  }

  retryq::EventLoop& loop_;
  retryq::Broker& broker_;
  std::string queue_;
  std::unique_ptr<retryq::Retrier> retrier_;
  retryq::DeliveryHandler deliver_;
  std::unique_ptr<retryq::Subscription> subscription_;
  std::shared_ptr<void> drain_;
};

int Fail(const absl::Status& status) {
  std::cerr << "rabbitmq_c_broker: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  const char* url = std::getenv("RETRYQ_URL");
  retryq::EventLoop loop;
  const absl::StatusOr<std::unique_ptr<retryq::Broker>> broker = examples::MakeRabbitmqCBroker(
      loop.executor(), url != nullptr ? url : "amqp://guest:guest@localhost:5672/");
  if (!broker.ok()) return Fail(broker.status());

  Worker worker(loop, **broker);
  if (absl::Status status = worker.Start(argc > 1 ? argv[1] : "orders"); !status.ok()) {
    return Fail(status);
  }
  const absl::Status end = loop.RunUntilSignal();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
