#ifndef RETRYQ_SRC_AMQP_RESOLVER_H_
#define RETRYQ_SRC_AMQP_RESOLVER_H_

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/executor.h"

namespace retryq::amqp {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

// One look-up of an endpoint's addresses, the way every program of the machine does it
// (getaddrinfo: hosts file, DNS, whatever nsswitch.conf says), on a thread of its own, as it
// may take seconds. Destroying it forgets the look-up.
class Resolver {
 public:
  // At least one address, in the order to try them. kUnavailable: no such host, ….
  using Done = std::function<void(absl::StatusOr<std::vector<SocketAddress>>)>;

  // Calls back on `executor`'s thread, where the resolver must be used too.
  Resolver(const Endpoint& endpoint, std::shared_ptr<Executor> executor, Done done);

 private:
  std::shared_ptr<Done> done_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_RESOLVER_H_
