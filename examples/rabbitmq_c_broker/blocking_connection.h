#ifndef RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_BLOCKING_CONNECTION_H_
#define RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_BLOCKING_CONNECTION_H_

#include <amqp.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection_options.h"

namespace examples {

// A connection of rabbitmq-c, used on one thread. What waits for an answer of the broker blocks
// until it comes, for kAnswerTimeout at most.
class Connection {
 public:
  // Below the 30 s after which retryq takes a confirm for overdue, as confirms are not read
  // meanwhile.
  static constexpr absl::Duration kAnswerTimeout = absl::Seconds(15);

  // Connects and logs in. kUnauthenticated: wrong user or password. kPermissionDenied: no right to
  // the vhost. kNotFound: no such vhost. kUnavailable: everything else.
  static absl::StatusOr<Connection> Open(const retryq::amqp::ConnectionOptions& options,
                                         const std::string& name);

  // For calls of rabbitmq-c; look at `Answer` after each that waits for one.
  amqp_connection_state_t get() const { return state_.get(); }

  // Whether it is of use still. Once it is not, it never will be again.
  bool is_open() const { return open_; }

  // How the last call on this channel that waited for an answer ended. If the broker has closed the
  // channel over it the status says why (404 kNotFound, 406 kFailedPrecondition, …), and the
  // channel is to be opened anew; for all else that went wrong the connection is gone.
  absl::Status Answer(amqp_channel_t channel);
  // The same of a call that does not wait.
  absl::Status Written(int result);

  // Opens a channel: the first time, or after the broker has closed it.
  absl::Status OpenChannel(amqp_channel_t channel);
  // The broker has closed the channel: acknowledges that, and says why it did.
  absl::Status ChannelClosed(amqp_channel_t channel, const amqp_channel_close_t& close);

  // The next frame if there is one, without waiting. Sends heartbeats, and notices a peer that
  // sends none. The frame's memory is good until `Release`.
  absl::StatusOr<std::optional<amqp_frame_t>> ReadFrame();
  void Release(amqp_channel_t channel);
  // Waits until there may be a frame, `wake` can be read, or a heartbeat may be due.
  void Wait(int wake) const;

  // Says goodbye, and waits for the answer.
  void Close();

  // Largest payload of a content header frame.
  std::size_t max_header_size() const;
  std::string server_version() const;

 private:
  struct Destroy {
    void operator()(amqp_connection_state_t state) const { amqp_destroy_connection(state); }
  };

  Connection();
  absl::Status Login(const retryq::amqp::ConnectionOptions& options, const std::string& name);
  absl::Status Lost(absl::Status why);

  std::unique_ptr<amqp_connection_state_t_, Destroy> state_;
  bool open_ = true;
  absl::Duration longest_wait_ = absl::Seconds(1);
};

// What a channel.close means, with the code in front of the broker's text.
absl::Status ChannelCloseStatus(const amqp_channel_close_t& close);

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_BLOCKING_CONNECTION_H_
