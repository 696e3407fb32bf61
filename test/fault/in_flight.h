#ifndef RETRYQ_TEST_FAULT_IN_FLIGHT_H_
#define RETRYQ_TEST_FAULT_IN_FLIGHT_H_

#include "support/proxy.h"
#include "support/standard.h"

namespace retryq::fault {

// Counts the publishes that are on their way to one destination, from the frames that pass a proxy:
// those that the broker has neither confirmed nor refused. Used on the proxy's loop.
class InFlight final : public testing::ProxyListener {
 public:
  // Starts counting publishes to this exchange, or with the default exchange ("") to this queue:
  // those that are open, and those that follow.
  void Begin(std::string destination);
  // All counted publishes until now.
  std::uint64_t End() const { return met_; }

  // Publishes that the broker has answered so far, and deliveries that workers have settled.
  std::uint64_t confirms() const { return confirms_; }
  std::uint64_t acks() const { return acks_; }

  void OnFrame(int connection, Way way, const amqp::FrameView& frame) override;
  void OnClosed(int connection) override;

 private:
  struct Channel {
    std::uint64_t published = 0;
    std::map<std::uint64_t, std::string> open;  // by number: the destination
  };

  void OnPublish(Channel& channel, std::string destination);
  void OnAnswer(Channel& channel, std::uint64_t number, bool multiple);

  std::map<std::pair<int, std::uint16_t>, Channel> channels_;
  std::string destination_;
  std::uint64_t met_ = 0;
  std::uint64_t confirms_ = 0;
  std::uint64_t acks_ = 0;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_IN_FLIGHT_H_
