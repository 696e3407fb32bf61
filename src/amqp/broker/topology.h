#ifndef RETRYQ_SRC_AMQP_BROKER_TOPOLOGY_H_
#define RETRYQ_SRC_AMQP_BROKER_TOPOLOGY_H_

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "retryq/amqp/connection.h"
#include "retryq/broker.h"

namespace retryq::amqp {

// Declares, each on a channel that no other uses meanwhile: one that hangs holds up nobody,
// and one that is refused closes its own channel only. Channels are used again.
class Topology {
 public:
  // `connection` must outlive it.
  explicit Topology(Connection& connection);
  ~Topology();

  void Declare(const DeclareParams& params, Broker::DeclareCallback done);
  void CheckExchange(const std::string& name, std::function<void(absl::Status)> done);

  // Drops all open callbacks, uncalled.
  void Forget();

 private:
  // A channel, idle or with one declare on it.
  class Lane;
  using Lanes = std::list<Lane>;

  // An idle lane, which is busy now.
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
