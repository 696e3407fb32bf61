#ifndef RETRYQ_SRC_AMQP_TRANSPORT_RESOLVER_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_RESOLVER_H_

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/broker/executor.h"
#include "retryq/broker/timers.h"

namespace retryq::amqp {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

// At least one address, in the order to try them. kUnavailable if there is no such host, ….
using SocketAddresses = absl::StatusOr<std::vector<SocketAddress>>;

// Looks up an endpoint like other programs of the machine: by getaddrinfo, with the hosts file, DNS
// and all sources of nsswitch.conf. May take minutes, and cannot be interrupted.
SocketAddresses LookUpBySystem(const Endpoint& endpoint);

// Looks up endpoints, one after the other, on separate threads and for a limited time. A look-up
// that takes longer continues in the background. Until it ends, no other thread is started for that
// endpoint, and its result is used for the next `Resolve`. So a name server that does not answer
// costs one thread per endpoint, and results of a slow one are used late.
class Resolver {
 public:
  using LookUp = std::function<SocketAddresses(const Endpoint&)>;  // called on any thread
  using Done = std::function<void(SocketAddresses)>;

  // `timers` must outlive it. All calls, and those of `Done`, must be on the thread of `executor`.
  Resolver(Timers& timers, std::shared_ptr<Executor> executor, LookUp look_up = LookUpBySystem);
  ~Resolver();

  // Cancels the previous look-up if it has not called back. Never calls back inside this call.
  void Resolve(const Endpoint& endpoint, absl::Duration timeout, Done done);

  // Cancels the look-up, and drops late results.
  void Forget();

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_RESOLVER_H_
