#ifndef RETRYQ_TEST_MOCKS_MOCK_BROKER_LISTENER_H_
#define RETRYQ_TEST_MOCKS_MOCK_BROKER_LISTENER_H_

#include <gmock/gmock.h>

#include <string_view>

#include "retryq/broker/broker.h"

namespace retryq {

class MockBrokerListener : public BrokerListener {
 public:
  MOCK_METHOD(void, OnReady, (), (override));
  MOCK_METHOD(void, OnLost, (const absl::Status& why), (override));
  MOCK_METHOD(void, OnBlocked, (bool blocked, std::string_view reason), (override));
};

}  // namespace retryq

#endif  // RETRYQ_TEST_MOCKS_MOCK_BROKER_LISTENER_H_
