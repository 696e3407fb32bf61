#ifndef RETRYQ_TEST_MOCKS_MOCK_BROKER_H_
#define RETRYQ_TEST_MOCKS_MOCK_BROKER_H_

#include <gmock/gmock.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "retryq/broker/broker.h"

namespace retryq {

// Callbacks are the test's to keep and to call, but never from inside the
// call that brought them: the real broker does not do that either.
class MockBroker : public Broker {
 public:
  MOCK_METHOD(void, SetListener, (BrokerListener * listener), (override));
  MOCK_METHOD(void, Declare, (DeclareParams params, DeclareCallback done), (override));
  MOCK_METHOD(void, CheckExchange, (std::string name, std::function<void(absl::Status)> done),
              (override));
  MOCK_METHOD(void, Publish, (const PublishParams& params, PublishCallback done), (override));
  MOCK_METHOD(std::unique_ptr<Subscription>, Consume,
              (ConsumeParams params, SubscriptionListener* listener), (override));
  MOCK_METHOD(void, Ack, (amqp::DeliveryTag tag), (override));
  MOCK_METHOD(void, Reject, (amqp::DeliveryTag tag, bool requeue), (override));
  MOCK_METHOD(void, Close, (std::function<void()> closed), (override));
  MOCK_METHOD(std::size_t, unsent_bytes, (), (const, override));
  MOCK_METHOD(std::size_t, max_header_size, (), (const, override));
  MOCK_METHOD(std::string, server_version, (), (const, override));
};

}  // namespace retryq

#endif  // RETRYQ_TEST_MOCKS_MOCK_BROKER_H_
