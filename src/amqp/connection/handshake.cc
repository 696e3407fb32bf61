#include "amqp/connection/handshake.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "amqp/channel/reply_status.h"
#include "amqp/codec/frame.h"
#include "amqp/codec/overloaded.h"
#include "amqp/codec/protocol_error.h"
#include "amqp/codec/text.h"
#include "base/broker_version.h"
#include "base/escaped_text.h"

namespace retryq::amqp {
namespace {

constexpr std::uint32_t kMostFrameMax = 1 << 20;

// The beginning of a vhost's name that a refusal contains, however long the name is.
constexpr std::size_t kSureToBeShown = 200;

std::string ClientProperties(const ConnectionOptions& options) {
  const Table properties = {
      {"product", "retryq"},
      {"version", RETRYQ_VERSION},
      {"platform", "C++20"},
      {"connection_name", options.connection_name},
      {"capabilities", Table{{"publisher_confirms", true},
                             {"basic.nack", true},
                             {"consumer_cancel_notify", true},
                             {"connection.blocked", true},
                             {"authentication_failure_close", true},
                             {"exchange_exchange_bindings", true}}},
  };
  return properties.Encode().value();
}

// Returns the smaller of two limits, where 0 is unlimited.
template <typename Limit>
Limit Agree(Limit a, Limit b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

bool Offers(std::string_view mechanisms, std::string_view mechanism) {
  for (const absl::string_view offered : absl::StrSplit(Text(mechanisms), ' ')) {
    if (offered == Text(mechanism)) return true;
  }
  return false;
}

// The default limit of RabbitMQ for a frame before the login.
std::size_t DefaultInitialFrameMax(const std::string& server_version) {
  const bool is_large = BrokerVersion::Parse(server_version) >= BrokerVersion{4, 1};
  return is_large ? 2 * kFrameMinSize : kFrameMinSize;
}

}  // namespace

std::uint32_t FrameMax(const ConnectionOptions& options) {
  return options.frame_max == 0 ? kMostFrameMax : options.frame_max;
}

Handshake::Handshake(const ConnectionOptions& options, const Endpoint& endpoint)
    : options_(options), endpoint_(endpoint) {}

void Handshake::Begin(std::string* out) { AppendProtocolHeader(out); }

absl::StatusOr<bool> Handshake::OnMethod(const ServerMethod& method, std::string* out) {
  absl::Status status =
      std::visit(Overloaded{
                     [&](const method::ConnectionStart& m) {
                       return step_ == Step::kStart ? OnStart(m, out) : Unexpected();
                     },
                     [&](const method::ConnectionTune& m) {
                       return step_ == Step::kTune ? OnTune(m, out) : Unexpected();
                     },
                     [&](const method::ConnectionOpenOk&) {
                       if (step_ != Step::kOpen) return Unexpected();
                       step_ = Step::kDone;
                       return absl::OkStatus();
                     },
                     [&](const method::ConnectionClose& m) { return OnClose(m, out); },
                     [&](const auto&) { return Unexpected(); },
                 },
                 method);
  if (!status.ok()) return status;
  return step_ == Step::kDone;
}

absl::Status Handshake::OnStart(const method::ConnectionStart& start, std::string* out) {
  if (start.version_major != 0 || start.version_minor != 9) {
    return absl::UnavailableError(absl::StrCat(Describe(endpoint_), " speaks AMQP ",
                                               start.version_major, "-", start.version_minor,
                                               " and not 0-9-1: is it a RabbitMQ?"));
  }
  const bool external = options_.auth_mechanism == AuthMechanism::kExternal;
  const std::string_view mechanism = external ? "EXTERNAL" : "PLAIN";
  if (!Offers(start.mechanisms.bytes, mechanism)) {
    return absl::UnavailableError(absl::StrCat(
        Describe(endpoint_), " offers the login mechanisms '", EscapedText(start.mechanisms.bytes),
        "' but not ", Text(mechanism), "; enable it in auth_mechanisms",
        external ? ", and the plugin rabbitmq_auth_mechanism_ssl" : ""));
  }
  server_version_ = EscapedText(start.server_properties.FindString("version").value_or(""));
  const std::string properties = ClientProperties(options_);
  // With EXTERNAL, the certificate is the login.
  const std::string login = external ? ""
                                     : absl::StrCat(absl::string_view("\0", 1), options_.user,
                                                    absl::string_view("\0", 1), options_.password);
  const method::ConnectionStartOk start_ok = {.client_properties = TableView(properties),
                                              .mechanism = mechanism,
                                              .response = {login},
                                              .locale = "en_US"};
  if (absl::Status fits = CheckLoginSize(MethodSize(start_ok) + kFrameOverhead); !fits.ok()) {
    return fits;
  }
  AppendMethodFrame(0, start_ok, out);
  step_ = Step::kTune;
  return absl::OkStatus();
}

// If the login is too large, the broker closes the connection without an error.
absl::Status Handshake::CheckLoginSize(std::size_t size) const {
  const std::size_t limit = options_.initial_frame_max != 0
                                ? options_.initial_frame_max
                                : DefaultInitialFrameMax(server_version_);
  if (size <= limit) return absl::OkStatus();
  const bool external = options_.auth_mechanism == AuthMechanism::kExternal;
  return absl::InvalidArgumentError(absl::StrCat(
      "the login of ", User(), " at ", Describe(endpoint_), " takes ", size,
      " bytes, but the broker accepts at most ", limit, " in one frame before the login (",
      external ? "" : absl::StrCat("the password has ", options_.password.size(), ", "),
      "the connection name ", options_.connection_name.size(),
      "): shorten them, or raise initial_frame_max there and in the connection's options"));
}

absl::Status Handshake::OnTune(const method::ConnectionTune& tune, std::string* out) {
  const auto heartbeat = static_cast<std::uint16_t>(
      std::clamp<std::int64_t>(absl::ToInt64Seconds(options_.heartbeat), 0, 65535));
  const method::ConnectionTuneOk agreed = {
      .channel_max = Agree(tune.channel_max, options_.channel_max),
      .frame_max = Agree(tune.frame_max, FrameMax(options_)),
      .heartbeat = Agree(tune.heartbeat, heartbeat)};
  if (agreed.frame_max < kFrameMinSize) {
    return absl::UnavailableError(absl::StrCat(Describe(endpoint_), " accepts frames of at most ",
                                               agreed.frame_max, " bytes: raise its frame_max to ",
                                               kFrameMinSize, " at least"));
  }
  tuning_ = {.channel_max = agreed.channel_max,
             .frame_max = agreed.frame_max,
             .heartbeat = absl::Seconds(agreed.heartbeat)};
  AppendMethodFrame(0, agreed, out);
  AppendMethodFrame(0, method::ConnectionOpen{.virtual_host = options_.vhost}, out);
  step_ = Step::kOpen;
  return absl::OkStatus();
}

absl::Status Handshake::LoginRefused(std::string_view text) const {
  const char* remedy =
      options_.auth_mechanism == AuthMechanism::kExternal
          ? "there must be a user of the name that ssl_cert_login_from takes from it, by default "
            "the whole subject (rabbitmqctl list_users)"
          : "check user and password (rabbitmqctl authenticate_user); guest may log in from the "
            "broker's own machine only";
  return absl::UnauthenticatedError(absl::StrCat(Describe(endpoint_), " refuses ", User(), ": ",
                                                 remedy, text.empty() ? "" : ": ", Text(text)));
}

std::string Handshake::User() const {
  if (options_.auth_mechanism == AuthMechanism::kExternal) {
    return "the user of the client certificate";
  }
  return absl::StrCat("user '", options_.user, "'");
}

absl::Status Handshake::OnClose(const method::ConnectionClose& close, std::string* out) const {
  AppendMethodFrame(0, method::ConnectionCloseOk{}, out);
  const ReplyCode code{close.reply_code};
  const std::string text = EscapedText(close.reply_text);
  if (code == ReplyCode::kAccessRefused) return LoginRefused(text);
  const std::string where = absl::StrCat("vhost '", options_.vhost, "' at ", Describe(endpoint_));
  if (step_ == Step::kOpen && HidesRefusal(close.reply_code, options_.vhost)) {
    return absl::NotFoundError(
        absl::StrCat("no ", where,
                     ", or no access to it: create it (rabbitmqctl add_vhost, set_permissions) or ",
                     "correct the URI: ", close.reply_code, " ", text,
                     ", which RabbitMQ 4 sends instead of refusing a long name that is not ASCII"));
  }
  if (code == ReplyCode::kNotAllowed && step_ == Step::kOpen) {
    // RabbitMQ cuts a long text off.
    const bool is_missing = absl::StrContains(text, "not found") ||
                            close.reply_text.starts_with(absl::StrCat(
                                "NOT_ALLOWED - vhost ", options_.vhost.substr(0, kSureToBeShown)));
    if (is_missing) {
      return absl::NotFoundError(absl::StrCat("no ", where, ": create it (rabbitmqctl add_vhost) ",
                                              "or correct the URI: ", text));
    }
    if (absl::StrContains(text, "refused") && !absl::StrContains(text, "limit")) {
      return absl::PermissionDeniedError(absl::StrCat(
          User(), " has no access to ", where, ": grant it (rabbitmqctl set_permissions): ", text));
    }
  }
  return absl::UnavailableError(absl::StrCat("opening ", where, ": ", close.reply_code, " ", text));
}

absl::Status Handshake::Unexpected() {
  return ProtocolError(ReplyCode::kCommandInvalid, "it arrived out of order: is it a RabbitMQ?");
}

absl::Status Handshake::OnHungUp() const {
  switch (step_) {
    case Step::kStart:
      return absl::UnavailableError(
          absl::StrCat(Describe(endpoint_),
                       " closed the connection without a reason: is it RabbitMQ's AMQP port",
                       options_.tls ? "?" : ", and not the one for TLS (amqps://)?"));
    case Step::kTune:
      // The broker refuses a login with 403, because the client has announced
      // authentication_failure_close.
      return absl::UnavailableError(
          absl::StrCat(Describe(endpoint_), " closed the connection during the login of ", User(),
                       " without refusing it: the broker may be stopping or out of resources, or a "
                       "proxy may have closed the connection; see the broker's log"));
    default:
      return absl::UnavailableError(absl::StrCat(Describe(endpoint_),
                                                 " closed the connection while vhost '",
                                                 options_.vhost, "' is being opened"));
  }
}

}  // namespace retryq::amqp
