#ifndef RETRYQ_TEST_MOCKS_MOCK_OBSERVER_H_
#define RETRYQ_TEST_MOCKS_MOCK_OBSERVER_H_

#include <gmock/gmock.h>

#include "retryq/observer.h"

namespace retryq {

// An event's views end with the call: match them there, or copy what is needed.
//
//   EXPECT_CALL(observer, OnEvent(AllOf(Field(&Event::kind, EventKind::kRenamed),
//                                       Field(&Event::delay_queue, "retry.1000.0a1b2c3d"))));
class MockObserver : public Observer {
 public:
  MOCK_METHOD(void, OnEvent, (const Event& event), (override));
};

}  // namespace retryq

#endif  // RETRYQ_TEST_MOCKS_MOCK_OBSERVER_H_
