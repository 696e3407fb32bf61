#ifndef RETRYQ_CLI_WORKER_RIGHTS_CHECK_H_
#define RETRYQ_CLI_WORKER_RIGHTS_CHECK_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "cli/doctor/doctor_command.h"
#include "retryq/amqp/channel.h"
#include "retryq/amqp/connection.h"
#include "retryq/broker.h"
#include "retryq/event_loop.h"
#include "retryq/timers.h"

namespace retryq::cli {

// Checks whether a worker has the permissions that its first failed message needs: to declare a
// delay queue, to publish to it, and to publish to the default exchange, which parking needs. The
// check uses a temporary queue and its own connection, and runs at the start, as a missing
// permission would otherwise show only when a message fails, maybe days later. If all is permitted,
// it leaves nothing on the broker, not even a line in its log. The parked queue is left to the
// client, which needs it from the start.
class RightsCheck final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  // `loop` must outlive it. `done` is called once, after three seconds at the latest, and may
  // destroy this object. It receives kPermissionDenied, with the missing permission and the command
  // that grants it, or ok if nothing is refused or the check cannot be completed.
  RightsCheck(EventLoop& loop, DoctorOptions worker, std::function<void(absl::Status)> done);

 private:
  void OnOpen() override;
  void OnLost(const absl::Status& why) override;
  void OnBlocked(bool blocked, std::string_view reason) override;
  void OnChannelClosed(const amqp::ChannelError& why) override;

  void TryToDeclare();
  void CleanUp();
  void Finish();

  const DoctorOptions worker_;
  const DeclareParams probe_;
  std::function<void(absl::Status)> done_;
  absl::Status refusal_;
  bool is_cleaning_up_ = false;
  std::unique_ptr<Timer> deadline_;
  amqp::Connection connection_;
  std::unique_ptr<amqp::Channel> channel_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_RIGHTS_CHECK_H_
