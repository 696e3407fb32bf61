#ifndef RETRYQ_TEST_EXAMPLES_RABBITMQ_C_TEST_H_
#define RETRYQ_TEST_EXAMPLES_RABBITMQ_C_TEST_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rabbitmq_c_broker.h"
#include "support/retry_test.h"

namespace retryq::testing {

// A test of the example's Broker on rabbitmq-c, with a work queue.
class RabbitmqCTest : public RetryTest {
 protected:
  void SetUp() override { peer_.DeclareQueue("orders"); }

  std::unique_ptr<Broker> MakeBroker(const std::string& url) {
    return examples::MakeRabbitmqCBroker(loop_.executor(), url, std::string(kClientName)).value();
  }

  std::unique_ptr<Broker> broker_ = MakeBroker(vhost_.Url());
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_EXAMPLES_RABBITMQ_C_TEST_H_
