#ifndef RETRYQ_TEST_MOCKS_MOCK_CLOCK_H_
#define RETRYQ_TEST_MOCKS_MOCK_CLOCK_H_

#include <gmock/gmock.h>

#include "retryq/broker/clock.h"

namespace retryq {

// For a clock that is asked once or twice; test/retryq/testing/simulated_time.h has one that runs.
class MockClock : public Clock {
 public:
  MOCK_METHOD(absl::Time, Now, (), (const, override));
  MOCK_METHOD(absl::Duration, SinceBoot, (), (const, override));
};

}  // namespace retryq

#endif  // RETRYQ_TEST_MOCKS_MOCK_CLOCK_H_
