#ifndef RETRYQ_TEST_MOCKS_MOCK_SUBSCRIPTION_LISTENER_H_
#define RETRYQ_TEST_MOCKS_MOCK_SUBSCRIPTION_LISTENER_H_

#include <gmock/gmock.h>

#include "retryq/broker/broker.h"

namespace retryq {

class MockSubscriptionListener : public SubscriptionListener {
 public:
  MOCK_METHOD(void, OnSubscribed, (), (override));
  MOCK_METHOD(void, OnDelivery, (amqp::MessagePtr message), (override));
  MOCK_METHOD(void, OnInterrupted, (const absl::Status& why), (override));
};

}  // namespace retryq

#endif  // RETRYQ_TEST_MOCKS_MOCK_SUBSCRIPTION_LISTENER_H_
