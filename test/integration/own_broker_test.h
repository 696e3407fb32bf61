#ifndef RETRYQ_TEST_INTEGRATION_OWN_BROKER_TEST_H_
#define RETRYQ_TEST_INTEGRATION_OWN_BROKER_TEST_H_

#include "support/own_broker.h"
#include "support/retry_test.h"
#include "support/test.h"

namespace retryq::testing {

// A test of retrying on a private broker, for actions that affect all users of a broker.
class OwnBrokerTest : private OwnBroker, public RetryTest {
 protected:
  void SetUp() override {
    if (!broker_) GTEST_SKIP() << "needs a broker of its own, and RETRYQ_URL names one";
    peer_.DeclareQueue("orders");
  }

  PrivateBroker& broker() { return *broker_; }
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_INTEGRATION_OWN_BROKER_TEST_H_
