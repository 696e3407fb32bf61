#ifndef RETRYQ_TEST_SUPPORT_OWN_BROKER_H_
#define RETRYQ_TEST_SUPPORT_OWN_BROKER_H_

#include <optional>

#include "support/private_broker.h"

namespace retryq::testing {

// Starts a test's own broker before other members use the environment: it must be the first base of
// a fixture. Without RabbitMQ on the machine it starts none.
class OwnBroker {
 protected:
  OwnBroker() {
    if (PrivateBroker::Possible()) broker_.emplace();
  }
  std::optional<PrivateBroker> broker_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_OWN_BROKER_H_
