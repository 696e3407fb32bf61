#ifndef RETRYQ_TESTING_SIMULATED_BROKER_H_
#define RETRYQ_TESTING_SIMULATED_BROKER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "retryq/broker/broker.h"
#include "retryq/duration.h"
#include "retryq/testing/simulated_rabbitmq.h"

namespace retryq::testing {

// One client's access to a SimulatedRabbitMq: two connections, one to publish and declare and one
// to consume, as amqp::MakeBroker uses them. Data sent on a connection arrives in order, after a
// latency; connections can be cut, and reconnect by themselves.
//
// For the broker, destroying this object looks like a killed process. Used on one thread.
class SimulatedBroker final : public Broker {
 public:
  // `rabbit` must outlive it. Connects at once.
  explicit SimulatedBroker(SimulatedRabbitMq& rabbit);
  ~SimulatedBroker() override;

  // Sets the latency of frames; the function is called for each frame. Default: a millisecond. A
  // slow frame delays later frames on the same connection.
  void SetLatency(std::function<absl::Duration()> latency);

  // Cuts a connection. Data on its way to the broker may still arrive, within `may_arrive`; data on
  // its way back is lost. The client notices after `client_notices`, the broker after
  // `broker_notices`; the broker then requeues unacked messages.
  struct CutParams {
    Duration may_arrive = absl::ZeroDuration();
    Duration client_notices = absl::ZeroDuration();
    Duration broker_notices = absl::ZeroDuration();
  };
  void CutPublishing(const CutParams& cut);
  void CutConsuming(const CutParams& cut);

  // While the broker is unreachable, no connection can be made; existing connections stay.
  void SetReachable(bool reachable);

  // The interface Broker.
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
