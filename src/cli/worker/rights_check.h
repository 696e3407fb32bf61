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

// Whether a worker may do what its first failed message takes: declare a delay queue, publish to
// it, and publish to the default exchange, which parking needs. Tried out at once with a throw-away
// queue, over a connection that lasts as long as this: else a missing right would show only when a
// message fails, maybe days later. Where all is granted it leaves nothing on the broker, not even a
// line in its log. The parked queue is the client's business, which needs it from the start.
class RightsCheck final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  // `loop` must outlive it. `done` is called once, at the latest after three seconds, and may
  // destroy this: with kPermissionDenied, what is refused and the command that grants it; else,
  // also where it cannot be told, with ok.
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
