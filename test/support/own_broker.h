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

// A fixture on a private broker, for actions that affect all users of a broker.
template <typename Fixture>
class OnOwnBroker : private OwnBroker, public Fixture {
 protected:
  void SetUp() override {
    if (!broker_) GTEST_SKIP() << "needs a broker of its own, and RETRYQ_URL names one";
    Fixture::SetUp();
  }

  PrivateBroker& broker() { return *broker_; }
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_OWN_BROKER_H_
