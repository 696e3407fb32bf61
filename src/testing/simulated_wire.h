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

// One connection: what is sent arrives at the other end after a latency and in order, until the
// connection is cut. Each end notices that in its own time.
class Wire final : public NodeListener, public std::enable_shared_from_this<Wire> {
 public:
  struct Ends {
    std::function<absl::Duration()> latency;
    std::function<void()> client_lost;  // the client has noticed that it is cut
    std::function<void(bool)> alarm;    // tells the client; empty where that publishes nothing
  };

  static std::shared_ptr<Wire> Make(Node& node, Ends ends) {
    auto wire = std::make_shared<Wire>(node, std::move(ends));
    node.AddListener(wire.get());
    return wire;
  }
  Wire(Node& node, Ends ends) : node_(node), ends_(std::move(ends)) {}
  ~Wire() override { node_.RemoveListener(this); }

  // What the broker does when it has noticed the end.
  void AtBrokerEnd(std::function<void()> work) { at_broker_end_.push_back(std::move(work)); }

  // Work at the other end.
  void ToBroker(std::function<void()> work);
  void ToClient(std::function<void()> work);

  // As SimulatedBroker::CutParams has it.
  void Cut(absl::Duration may_arrive, absl::Duration client_notices, absl::Duration broker_notices);

  // The client has said goodbye, and the broker heard it.
  void CloseAtBroker();

  // The client's process is gone.
  void Kill();

 private:
  void OnNodeGone() override;
  void OnAlarm(bool alarm) override;

  void Arrive(std::function<void()> work);
  void EndAtClient(absl::Duration after);
  void EndAtBroker(absl::Duration after);

  Node& node_;
  Ends ends_;
  absl::Duration last_to_broker_;  // arrival of what was sent last, since boot
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
