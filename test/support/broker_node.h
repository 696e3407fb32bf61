#ifndef RETRYQ_TEST_SUPPORT_BROKER_NODE_H_
#define RETRYQ_TEST_SUPPORT_BROKER_NODE_H_

#include "support/standard.h"

namespace retryq::testing {

// The path of third_party/rabbitmq/broker.
std::string BrokerScript();

// A private RabbitMQ node, run by third_party/rabbitmq/broker. It takes some seconds to start, and
// ends with this process at the latest. Throws std::runtime_error if a command fails. Thread-safe,
// except construction and destruction.
class BrokerNode {
 public:
  struct Options {
    std::vector<std::string> arguments = {};  // of `broker start`
    std::string parent = {};  // the parent of its directory; empty: that for temporary files
    std::string log = {};     // the file to which its output is appended; empty: stderr
  };

  BrokerNode() : BrokerNode(Options()) {}
  explicit BrokerNode(Options options);
  ~BrokerNode();
  BrokerNode(const BrokerNode&) = delete;
  BrokerNode& operator=(const BrokerNode&) = delete;

  // The variables that `broker start` printed, such as RETRYQ_URL.
  const std::map<std::string, std::string>& settings() const { return settings_; }
  const std::string& url() const { return settings_.at("RETRYQ_URL"); }
  const std::string& management_url() const { return settings_.at("RETRYQ_MANAGEMENT_URL"); }
  const std::string& directory() const { return settings_.at("RETRYQ_BROKER"); }

  // Kills the node, like a power failure.
  void Kill() const;
  // Freezes and thaws it.
  void Freeze() const;
  void Thaw() const;
  // Stops it gracefully.
  void Shutdown() const;
  // Starts it with the same ports and data; if it runs, stops it gracefully first.
  void Restart() const;
  // The same, with the RabbitMQ of another release, as for `broker start --version`.
  void RestartAs(const std::string& version) const;

  // Runs rabbitmqctl and returns its output.
  std::string Control(const std::vector<std::string>& arguments) const;

 private:
  // Runs third_party/rabbitmq/broker and returns its output.
  std::string Run(std::vector<std::string> arguments) const;
  std::string RunHere(std::vector<std::string> arguments) const;

  const Options options_;
  std::map<std::string, std::string> settings_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_BROKER_NODE_H_
