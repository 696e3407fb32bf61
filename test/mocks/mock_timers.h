#ifndef RETRYQ_TEST_MOCKS_MOCK_TIMERS_H_
#define RETRYQ_TEST_MOCKS_MOCK_TIMERS_H_

#include <gmock/gmock.h>

#include <memory>

#include "retryq/broker/timers.h"

namespace retryq {

// For asserting which delays are asked for; test/retryq/testing/simulated_time.h has timers that
// fire.
class MockTimers : public Timers {
 public:
  MOCK_METHOD(std::unique_ptr<Timer>, After, (absl::Duration delay, Callback callback), (override));
};

}  // namespace retryq

#endif  // RETRYQ_TEST_MOCKS_MOCK_TIMERS_H_
