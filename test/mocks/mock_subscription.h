#ifndef RETRYQ_TEST_MOCKS_MOCK_SUBSCRIPTION_H_
#define RETRYQ_TEST_MOCKS_MOCK_SUBSCRIPTION_H_

#include <gmock/gmock.h>

#include <cstdint>
#include <functional>

#include "retryq/broker/broker.h"

namespace retryq {

class MockSubscription : public Subscription {
 public:
  MOCK_METHOD(void, Cancel, (std::function<void()> cancelled), (override));
  MOCK_METHOD(void, Resume, (std::uint16_t prefetch), (override));
  MOCK_METHOD(void, Close, (std::function<void()> closed), (override));
};

}  // namespace retryq

#endif  // RETRYQ_TEST_MOCKS_MOCK_SUBSCRIPTION_H_
