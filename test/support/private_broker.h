#ifndef RETRYQ_TEST_SUPPORT_PRIVATE_BROKER_H_
#define RETRYQ_TEST_SUPPORT_PRIVATE_BROKER_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "support/broker_node.h"

namespace retryq::testing {

// A RabbitMQ node of a test suite's own, for what would disturb the tests that share one. While it
// lives, RETRYQ_URL and RETRYQ_MANAGEMENT_URL name it; it takes some seconds to start. Throws
// std::runtime_error where it cannot be started or told something.
class PrivateBroker {
 public:
  PrivateBroker();
  ~PrivateBroker();
  PrivateBroker(const PrivateBroker&) = delete;
  PrivateBroker& operator=(const PrivateBroker&) = delete;

  // Whether one can be started here: not where the tests were given a broker from outside, which
  // may stand for a machine without RabbitMQ.
  static bool Possible();

  // Ends the node as a power cut would, and starts it again on the same ports and data.
  void Kill() const { node_.Kill(); }
  // Ends it gracefully.
  void Shutdown() const { node_.Shutdown(); }
  void Restart() const { node_.Restart(); }

  const BrokerNode& node() const { return node_; }

  // A memory alarm, which blocks all who publish.
  void RaiseAlarm() const;
  void ClearAlarm() const;

  // How long a delivery may stay unsettled, for channels opened from now on; looked at as often.
  void SetConsumerTimeout(absl::Duration timeout) const;

 private:
  const BrokerNode node_;
  std::map<std::string, std::string> former_;  // environment variables
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_PRIVATE_BROKER_H_
