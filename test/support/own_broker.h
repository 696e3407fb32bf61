#ifndef RETRYQ_TEST_SUPPORT_OWN_BROKER_H_
#define RETRYQ_TEST_SUPPORT_OWN_BROKER_H_

#include <optional>

#include "support/private_broker.h"

namespace retryq::testing {

// Names a test's own broker before anything else looks for one: the first base of a fixture. There
// is none where none is possible.
class OwnBroker {
 protected:
  OwnBroker() {
    if (PrivateBroker::Possible()) broker_.emplace();
  }
  std::optional<PrivateBroker> broker_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_OWN_BROKER_H_
