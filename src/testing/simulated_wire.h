#ifndef RETRYQ_SRC_TESTING_SIMULATED_WIRE_H_
#define RETRYQ_SRC_TESTING_SIMULATED_WIRE_H_

#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "testing/node.h"

namespace retryq::testing {

// One connection. Data arrives at the other end in order after a latency, until the connection is
// cut. Each end notices the cut at its own time.
class Wire final : public NodeListener, public std::enable_shared_from_this<Wire> {
 public:
  struct Ends {
    std::function<absl::Duration()> latency;
    std::function<void()> client_lost;  // called when the client notices the cut
    std::function<void(bool)> alarm;    // for the client; empty if it does not publish here
  };

  static std::shared_ptr<Wire> Make(Node& node, Ends ends) {
    auto wire = std::make_shared<Wire>(node, std::move(ends));
    node.AddListener(wire.get());
    return wire;
  }
  Wire(Node& node, Ends ends) : node_(node), ends_(std::move(ends)) {}
  ~Wire() override { node_.RemoveListener(this); }

  // Adds work that the broker does when it notices the end.
  void AtBrokerEnd(std::function<void()> work) { at_broker_end_.push_back(std::move(work)); }

  // Run work at the other end.
  void ToBroker(std::function<void()> work);
  void ToClient(std::function<void()> work);

  // See SimulatedBroker::CutParams.
  void Cut(absl::Duration may_arrive, absl::Duration client_notices, absl::Duration broker_notices);

  // The client has closed the connection, and the broker has received the close.
  void CloseAtBroker();

  // The client's process has ended.
  void Kill();

 private:
  void OnNodeGone() override;
  void OnAlarm(bool alarm) override;

  void Arrive(std::function<void()> work);
  void EndAtClient(absl::Duration after);
  void EndAtBroker(absl::Duration after);

  Node& node_;
  Ends ends_;
  absl::Duration last_to_broker_;  // when the last data arrives, since boot
  absl::Duration last_to_client_;
  absl::Duration broker_reads_until_ = absl::InfiniteDuration();
  bool client_hears_ = true;
  bool client_ended_ = false;
  bool broker_ended_ = false;
  std::deque<std::function<void()>> unread_;  // during an alarm
  std::vector<std::function<void()>> at_broker_end_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_SRC_TESTING_SIMULATED_WIRE_H_
