#ifndef RETRYQ_TEST_SUPPORT_PRIVATE_BROKER_H_
#define RETRYQ_TEST_SUPPORT_PRIVATE_BROKER_H_

#include "support/broker_node.h"
#include "support/test.h"

namespace retryq::testing {

// A private RabbitMQ node of a test suite, for actions that would disturb the tests that share a
// broker. While it exists, RETRYQ_URL and RETRYQ_MANAGEMENT_URL name it; it takes some seconds to
// start. Throws std::runtime_error if a command fails.
class PrivateBroker {
 public:
  PrivateBroker();
  ~PrivateBroker();
  PrivateBroker(const PrivateBroker&) = delete;
  PrivateBroker& operator=(const PrivateBroker&) = delete;

  // Whether a private node can be started: not if the tests use an external broker, because the
  // machine may have no RabbitMQ.
  static bool Possible();

  // Kills the node, like a power failure, and starts it again with the same ports and data.
  void Kill() const { node_.Kill(); }
  // Ends it gracefully.
  void Shutdown() const { node_.Shutdown(); }
  void Restart() const { node_.Restart(); }

  const BrokerNode& node() const { return node_; }

  // A memory alarm, which blocks all publishers.
  void RaiseAlarm() const;
  void ClearAlarm() const;

  // Sets how long a delivery may stay unsettled, for channels that are opened from now on; also the
  // interval of the checks.
  void SetConsumerTimeout(absl::Duration timeout) const;

 private:
  const BrokerNode node_;
  std::map<std::string, std::string> former_;  // environment variables
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_PRIVATE_BROKER_H_
