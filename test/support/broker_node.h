#ifndef RETRYQ_TEST_SUPPORT_BROKER_NODE_H_
#define RETRYQ_TEST_SUPPORT_BROKER_NODE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retryq::testing {

// Where third_party/rabbitmq/broker is.
std::string BrokerScript();

// A RabbitMQ node of one's own, by third_party/rabbitmq/broker. It takes some seconds to start, and
// dies with this process at the latest. Throws std::runtime_error where it cannot be started or
// told something. Thread-safe but for making and destroying it.
class BrokerNode {
 public:
  struct Options {
    std::vector<std::string> arguments = {};  // of `broker start`
    std::string parent = {};  // the directory that its own lies in; empty: that for temporary files
    std::string log = {};     // the file that what it says is appended to; empty: stderr
  };

  BrokerNode() : BrokerNode(Options()) {}
  explicit BrokerNode(Options options);
  ~BrokerNode();
  BrokerNode(const BrokerNode&) = delete;
  BrokerNode& operator=(const BrokerNode&) = delete;

  // What `broker start` printed, such as RETRYQ_URL.
  const std::map<std::string, std::string>& settings() const { return settings_; }
  const std::string& url() const { return settings_.at("RETRYQ_URL"); }
  const std::string& management_url() const { return settings_.at("RETRYQ_MANAGEMENT_URL"); }
  const std::string& directory() const { return settings_.at("RETRYQ_BROKER"); }

  // Ends the node as a power cut would.
  void Kill() const;
  // Freezes and thaws it.
  void Freeze() const;
  void Thaw() const;
  // Ends it gracefully.
  void Shutdown() const;
  // Starts it on the same ports and data, gracefully ended before where it runs.
  void Restart() const;
  // The same as RabbitMQ of another release, which `broker start --version` knows.
  void RestartAs(const std::string& version) const;

  // rabbitmqctl; answers what it prints.
  std::string Control(const std::vector<std::string>& arguments) const;

 private:
  // third_party/rabbitmq/broker; answers what it prints.
  std::string Run(std::vector<std::string> arguments) const;
  std::string RunHere(std::vector<std::string> arguments) const;

  const Options options_;
  std::map<std::string, std::string> settings_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_BROKER_NODE_H_
