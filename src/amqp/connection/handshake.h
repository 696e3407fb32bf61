#ifndef RETRYQ_SRC_AMQP_CONNECTION_HANDSHAKE_H_
#define RETRYQ_SRC_AMQP_CONNECTION_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "amqp/codec/method_codec.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::amqp {

// Returns the largest frame that `options` request; never unlimited.
std::uint32_t FrameMax(const ConnectionOptions& options);

// The limits that both ends agreed on.
struct Tuning {
  std::uint16_t channel_max = 0;
  std::uint32_t frame_max = 0;
  absl::Duration heartbeat;
};

// The steps from the first packet to an open connection: start, tune, open. It does not use a
// socket: the caller passes the broker's methods, and it appends the replies.
class Handshake {
 public:
  // `options` and `endpoint` must outlive it.
  Handshake(const ConnectionOptions& options, const Endpoint& endpoint);

  void Begin(std::string* out);

  // Handles a method on channel 0. Returns true once the connection is open. Errors are for the
  // user: kUnauthenticated, kPermissionDenied, kNotFound, kInvalidArgument (see
  // ConnectionListener::OnLost), or kUnavailable. They name the user and the address, and the
  // remedy; never the password. An unexpected method is a ProtocolError.
  absl::StatusOr<bool> OnMethod(const ServerMethod& method, std::string* out);

  // Returns the error if the broker closes the connection at this step.
  absl::Status OnHungUp() const;

  // Returns whether the broker has sent its first method.
  bool has_begun() const { return step_ != Step::kStart; }
  const Tuning& tuning() const { return tuning_; }
  const std::string& server_version() const { return server_version_; }

 private:
  enum class Step { kStart, kTune, kOpen, kDone };

  absl::Status OnStart(const method::ConnectionStart& start, std::string* out);
  absl::Status OnTune(const method::ConnectionTune& tune, std::string* out);
  absl::Status OnClose(const method::ConnectionClose& close, std::string* out) const;
  // `size`: of the frame of start-ok.
  absl::Status CheckLoginSize(std::size_t size) const;
  static absl::Status Unexpected();
  absl::Status LoginRefused(std::string_view text) const;
  // Returns "user 'name'".
  std::string User() const;

  const ConnectionOptions& options_;
  const Endpoint& endpoint_;
  Step step_ = Step::kStart;
  Tuning tuning_;
  std::string server_version_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CONNECTION_HANDSHAKE_H_
