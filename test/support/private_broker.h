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
  PrivateBroker() {
    for (const auto& [name, value] : node_.settings()) {
      if (name == kDirectory) continue;
      if (const char* former = std::getenv(name.c_str())) former_[name] = former;
      ::setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
    }
  }
  ~PrivateBroker() {
    for (const auto& [name, value] : former_)
      ::setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
  }
  PrivateBroker(const PrivateBroker&) = delete;
  PrivateBroker& operator=(const PrivateBroker&) = delete;

  // Whether a private node can be started: not if the tests use an external broker, because the
  // machine may have no RabbitMQ.
  static bool Possible() { return std::getenv(kDirectory) != nullptr; }

  // Kills the node, like a power failure, and starts it again with the same ports and data.
  void Kill() const { node_.Kill(); }
  // Ends it gracefully.
  void Shutdown() const { node_.Shutdown(); }
  void Restart() const { node_.Restart(); }

  const BrokerNode& node() const { return node_; }

  // A memory alarm, which blocks all publishers.
  void RaiseAlarm() const {
    node_.Control({"eval", "rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []})."});
  }
  void ClearAlarm() const {
    node_.Control({"eval", "rabbit_alarm:clear_alarm({resource_limit, memory, node()})."});
  }

  // Sets how long a delivery may stay unsettled, for channels that are opened from now on; also the
  // interval of the checks.
  void SetConsumerTimeout(absl::Duration timeout) const {
    const std::string milliseconds = std::to_string(absl::ToInt64Milliseconds(timeout));
    for (const std::string name : {"consumer_timeout", "channel_tick_interval"}) {
      node_.Control({"eval", "application:set_env(rabbit, " + name + ", " + milliseconds + ")."});
    }
  }

 private:
  // The broker of the whole suite, which the private node of a test does not replace.
  static constexpr const char* kDirectory = "RETRYQ_BROKER";

  const BrokerNode node_;
  std::map<std::string, std::string> former_;  // environment variables
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_PRIVATE_BROKER_H_
