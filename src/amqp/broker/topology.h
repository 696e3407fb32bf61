#ifndef RETRYQ_SRC_AMQP_BROKER_TOPOLOGY_H_
#define RETRYQ_SRC_AMQP_BROKER_TOPOLOGY_H_

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "retryq/amqp/connection.h"
#include "retryq/broker/broker.h"

namespace retryq::amqp {

// Declares queues and exchanges. Each declare has a channel to itself: if it hangs, it does not
// delay others, and if it is refused, only its channel is closed. Channels are reused.
class Topology {
 public:
  // `connection` must outlive this object.
  explicit Topology(Connection& connection);
  ~Topology();

  void Declare(const DeclareParams& params, Broker::DeclareCallback done);
  void CheckExchange(const std::string& name, std::function<void(absl::Status)> done);

  // Drops all callbacks.
  void Forget();

 private:
  // A channel that is idle or has one declare under way.
  class Lane;
  using Lanes = std::list<Lane>;

  // Returns an idle lane, which is busy from then on.
  Lanes::iterator Take();
  void Release(Lanes::iterator lane);

  void DeclareExchange(Lanes::iterator lane, const DeclareParams& params, DeclareOk ok,
                       Broker::DeclareCallback done);

  Connection& connection_;
  Lanes idle_;
  Lanes busy_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_BROKER_TOPOLOGY_H_
