#include "blocking_connection.h"

#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bytes.h"

namespace examples {
namespace {

absl::string_view Text(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

amqp_table_entry_t Entry(const char* key, const char* text) {
  amqp_table_entry_t entry{.key = amqp_cstring_bytes(key), .value = {}};
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = amqp_cstring_bytes(text);
  return entry;
}

amqp_table_entry_t Entry(const char* key, amqp_table_t table) {
  amqp_table_entry_t entry{.key = amqp_cstring_bytes(key), .value = {}};
  entry.value.kind = AMQP_FIELD_KIND_TABLE;
  entry.value.value.table = table;
  return entry;
}

amqp_table_entry_t Capability(const char* key) {
  amqp_table_entry_t entry{.key = amqp_cstring_bytes(key), .value = {}};
  entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  entry.value.value.boolean = 1;
  return entry;
}

template <std::size_t kSize>
amqp_table_t Table(std::array<amqp_table_entry_t, kSize>& entries) {
  return {.num_entries = static_cast<int>(kSize), .entries = entries.data()};
}

// Of an answer to the login or to the opening of the vhost.
absl::Status LoginStatus(const retryq::amqp::ConnectionOptions& options,
                         const amqp_connection_close_t& close) {
  const std::string why =
      absl::StrCat(Describe(options), ": ", close.reply_code, " ", Text(close.reply_text));
  if (close.reply_code == AMQP_ACCESS_REFUSED) return absl::UnauthenticatedError(why);
  if (close.reply_code == AMQP_NOT_ALLOWED) {
    if (absl::StrContains(why, "not found")) return absl::NotFoundError(why);
    if (absl::StrContains(why, "refused")) return absl::PermissionDeniedError(why);
  }
  return absl::UnavailableError(why);
}

}  // namespace

absl::Status ChannelCloseStatus(const amqp_channel_close_t& close) {
  const auto code = [&close] {
    switch (close.reply_code) {
      case AMQP_ACCESS_REFUSED:
        return absl::StatusCode::kPermissionDenied;
      case AMQP_NOT_FOUND:
        return absl::StatusCode::kNotFound;
      case AMQP_RESOURCE_LOCKED:
        return absl::StatusCode::kAborted;
      case AMQP_PRECONDITION_FAILED:
        return absl::StatusCode::kFailedPrecondition;
      default:
        return absl::StatusCode::kUnavailable;
    }
  };
  return absl::Status(code(), absl::StrCat(close.reply_code, " ", Text(close.reply_text)));
}

Connection::Connection() : state_(amqp_new_connection()) {}

absl::StatusOr<Connection> Connection::Open(const retryq::amqp::ConnectionOptions& options,
                                            const std::string& name) {
  Connection connection;
  const retryq::amqp::Endpoint& endpoint = options.endpoints.front();
  const timeval connect_timeout = absl::ToTimeval(options.connection_timeout);
  const timeval handshake_timeout = absl::ToTimeval(options.handshake_timeout);
  const timeval answer_timeout = absl::ToTimeval(kAnswerTimeout);
  amqp_socket_t* socket = amqp_tcp_socket_new(connection.get());
  amqp_set_handshake_timeout(connection.get(), &handshake_timeout);
  amqp_set_rpc_timeout(connection.get(), &answer_timeout);
  const int result =
      amqp_socket_open_noblock(socket, endpoint.host.c_str(), endpoint.port, &connect_timeout);
  if (result != AMQP_STATUS_OK) {
    return absl::UnavailableError(
        absl::StrCat(Describe(endpoint), ": ", amqp_error_string2(result)));
  }
  if (absl::Status status = connection.Login(options, name); !status.ok()) return status;
  const int heartbeat = amqp_get_heartbeat(connection.get());
  if (heartbeat > 0) {
    connection.longest_wait_ = std::min(connection.longest_wait_, absl::Seconds(heartbeat) / 4);
  }
  return connection;
}

absl::Status Connection::Login(const retryq::amqp::ConnectionOptions& options,
                               const std::string& name) {
  // Without these the broker says neither that it cancels a consumer nor that it has an alarm.
  std::array capabilities = {Capability("basic.nack"), Capability("connection.blocked"),
                             Capability("consumer_cancel_notify"),
                             Capability("publisher_confirms")};
  std::array properties = {Entry("connection_name", name.c_str()),
                           Entry("capabilities", Table(capabilities))};
  const amqp_table_t table = Table(properties);
  const amqp_rpc_reply_t reply = amqp_login_with_properties(
      get(), options.vhost.c_str(), options.channel_max, static_cast<int>(options.frame_max),
      static_cast<int>(absl::ToInt64Seconds(options.heartbeat)), &table, AMQP_SASL_METHOD_PLAIN,
      options.user.c_str(), options.password.c_str());
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION &&
      reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
    return LoginStatus(options, *static_cast<amqp_connection_close_t*>(reply.reply.decoded));
  }
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) {
    return absl::UnavailableError(absl::StrCat("logging in to ", Describe(options), ": ",
                                               amqp_error_string2(reply.library_error)));
  }
  return absl::OkStatus();
}

absl::Status Connection::Lost(absl::Status why) {
  open_ = false;
  return why;
}

absl::Status Connection::Answer(amqp_channel_t channel) {
  const amqp_rpc_reply_t reply = amqp_get_rpc_reply(get());
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return absl::OkStatus();
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) return Written(reply.library_error);
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION &&
      reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
    return ChannelClosed(channel, *static_cast<amqp_channel_close_t*>(reply.reply.decoded));
  }
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION &&
      reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto& close = *static_cast<amqp_connection_close_t*>(reply.reply.decoded);
    return Lost(absl::UnavailableError(
        absl::StrCat("the broker closed the connection: ", Text(close.reply_text))));
  }
  return Lost(absl::UnavailableError("the broker gave no answer that fits"));
}

absl::Status Connection::Written(int result) {
  if (result == AMQP_STATUS_OK) return absl::OkStatus();
  return Lost(absl::UnavailableError(amqp_error_string2(result)));
}

absl::Status Connection::OpenChannel(amqp_channel_t channel) {
  amqp_channel_open(get(), channel);
  return Answer(channel);
}

absl::Status Connection::ChannelClosed(amqp_channel_t channel, const amqp_channel_close_t& close) {
  amqp_channel_close_ok_t ok{};
  const absl::Status why = ChannelCloseStatus(close);
  const absl::Status written =
      Written(amqp_send_method(get(), channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok));
  return written.ok() ? why : written;
}

absl::StatusOr<std::optional<amqp_frame_t>> Connection::ReadFrame() {
  amqp_frame_t frame;
  const timeval at_once = {};
  const int result = amqp_simple_wait_frame_noblock(get(), &frame, &at_once);
  if (result == AMQP_STATUS_TIMEOUT) return std::optional<amqp_frame_t>();
  if (result != AMQP_STATUS_OK) return Written(result);
  if (frame.channel == 0 && frame.frame_type == AMQP_FRAME_METHOD &&
      frame.payload.method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto& close = *static_cast<amqp_connection_close_t*>(frame.payload.method.decoded);
    amqp_connection_close_ok_t ok{};
    amqp_send_method(get(), 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok);
    return Lost(absl::UnavailableError(
        absl::StrCat("the broker closed the connection: ", Text(close.reply_text))));
  }
  return std::optional<amqp_frame_t>(frame);
}

void Connection::Release(amqp_channel_t channel) {
  amqp_maybe_release_buffers_on_channel(get(), channel);
}

void Connection::Wait(int wake) const {
  std::array<pollfd, 2> files = {pollfd{amqp_get_sockfd(get()), POLLIN, 0},
                                 pollfd{wake, POLLIN, 0}};
  poll(files.data(), files.size(), static_cast<int>(absl::ToInt64Milliseconds(longest_wait_)));
}

void Connection::Close() {
  if (std::exchange(open_, false)) amqp_connection_close(get(), AMQP_REPLY_SUCCESS);
}

std::size_t Connection::max_header_size() const {
  constexpr std::size_t kFrameOverhead = 8;
  return static_cast<std::size_t>(amqp_get_frame_max(get())) - kFrameOverhead;
}

std::string Connection::server_version() const {
  const amqp_table_t* properties = amqp_get_server_properties(get());
  for (int i = 0; i < properties->num_entries; ++i) {
    const amqp_table_entry_t& entry = properties->entries[i];
    if (ToText(entry.key) == "version") return std::string(ToText(entry.value.value.bytes));
  }
  return {};
}

}  // namespace examples
