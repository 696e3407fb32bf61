#ifndef RETRYQ_SRC_AMQP_TRANSPORT_RESOLVER_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_RESOLVER_H_

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/executor.h"
#include "retryq/timers.h"

namespace retryq::amqp {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

// At least one, in the order to try them. kUnavailable: no such host, ….
using SocketAddresses = absl::StatusOr<std::vector<SocketAddress>>;

// The way every program of the machine does it: getaddrinfo, with the hosts file, DNS, whatever
// nsswitch.conf names. May take minutes, and cannot be interrupted.
SocketAddresses LookUpBySystem(const Endpoint& endpoint);

// Looks up endpoints, one after the other, on threads of their own and for a limited time. A
// look-up that takes longer runs on where nobody waits for it: until it is over no other thread is
// made for that endpoint, and what it finds serves the next `Resolve`. So a name server that does
// not answer costs one thread an endpoint, and one that is slow is only late.
class Resolver {
 public:
  using LookUp = std::function<SocketAddresses(const Endpoint&)>;  // on any thread
  using Done = std::function<void(SocketAddresses)>;

  // `timers` must outlive it. All calls, and those of `Done`, are on the thread of `executor`.
  Resolver(Timers& timers, std::shared_ptr<Executor> executor, LookUp look_up = LookUpBySystem);
  ~Resolver();

  // In place of the one before, if that has not called back. Never calls back from inside.
  void Resolve(const Endpoint& endpoint, absl::Duration timeout, Done done);

  // Nobody waits any more, and what has been found late is of no use.
  void Forget();

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_RESOLVER_H_
