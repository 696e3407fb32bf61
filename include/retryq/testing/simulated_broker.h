#ifndef RETRYQ_TESTING_SIMULATED_BROKER_H_
#define RETRYQ_TESTING_SIMULATED_BROKER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "retryq/broker.h"
#include "retryq/testing/simulated_rabbitmq.h"

namespace retryq::testing {

// One client's way to a SimulatedRabbitMq: two connections, one to publish and to declare by and
// one to consume by, as amqp::MakeBroker has them. What is sent on a connection arrives in order,
// after a latency; connections can be cut, and are made again by themselves.
//
// Destroying it is what a killed process looks like to the broker. Used on one thread.
class SimulatedBroker final : public Broker {
 public:
  // `rabbit` must outlive it. Connects at once.
  explicit SimulatedBroker(SimulatedRabbitMq& rabbit);
  ~SimulatedBroker() override;

  // How long each frame takes on its way, asked for each; a millisecond unless set. What is slow
  // holds up what comes after it on the same connection.
  void SetLatency(std::function<absl::Duration()> latency);

  // Cuts a connection. What is on its way to the broker may still arrive, within `may_arrive`;
  // what is on its way back is lost. The client notices after `client_notices`, the broker after
  // `broker_notices`, which then requeues what was unacked.
  struct CutParams {
    absl::Duration may_arrive = absl::ZeroDuration();
    absl::Duration client_notices = absl::ZeroDuration();
    absl::Duration broker_notices = absl::ZeroDuration();
  };
  void CutPublishing(const CutParams& cut);
  void CutConsuming(const CutParams& cut);

  // While the broker cannot be reached no connection is made; those there are stay.
  void SetReachable(bool reachable);

  // Broker.
  void SetListener(BrokerListener* listener) override;
  void Declare(DeclareParams params, DeclareCallback done) override;
  void CheckExchange(std::string name, std::function<void(absl::Status)> done) override;
  void Publish(const PublishParams& params, PublishCallback done) override;
  std::unique_ptr<Subscription> Consume(ConsumeParams params,
                                        SubscriptionListener* listener) override;
  void Ack(amqp::DeliveryTag tag) override;
  void Reject(amqp::DeliveryTag tag, bool requeue) override;
  void Reconnect(const absl::Status& why) override;
  void Close(std::function<void()> closed) override;
  std::size_t max_header_size() const override;
  std::string server_version() const override;

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TESTING_SIMULATED_BROKER_H_
