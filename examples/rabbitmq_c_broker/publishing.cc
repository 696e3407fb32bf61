#include "publishing.h"

#include <amqp_framing.h>

#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bytes.h"

namespace examples {
namespace {

constexpr amqp_channel_t kPublishChannel = 1;
constexpr amqp_channel_t kDeclareChannel = 2;
constexpr std::size_t kLongestName = 255;
constexpr std::uint16_t kSyntaxError = AMQP_SYNTAX_ERROR;

absl::Status WithContext(const std::string& context, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

absl::StatusOr<retryq::DeclareOk> DeclareQueue(Connection& connection,
                                               const retryq::QueueDeclaration& queue,
                                               const amqp_table_t& arguments) {
  const amqp_queue_declare_ok_t* ok =
      amqp_queue_declare(connection.get(), kDeclareChannel, ToBytes(queue.name), queue.passive,
                         queue.durable, /*exclusive=*/0, /*auto_delete=*/0, arguments);
  const absl::Status status = connection.Answer(kDeclareChannel);
  if (!status.ok()) return WithContext(absl::StrCat("declaring queue '", queue.name, "'"), status);
  return retryq::DeclareOk{.message_count = ok->message_count,
                           .consumer_count = ok->consumer_count};
}

absl::Status DeclareExchange(Connection& connection, const retryq::ExchangeDeclaration& exchange) {
  amqp_exchange_declare(connection.get(), kDeclareChannel, ToBytes(exchange.name),
                        ToBytes(exchange.type), /*passive=*/0, exchange.durable,
                        exchange.auto_delete, /*internal=*/0, amqp_empty_table);
  return WithContext(absl::StrCat("declaring exchange '", exchange.name, "'"),
                     connection.Answer(kDeclareChannel));
}

absl::Status Bind(Connection& connection, const std::string& queue, const std::string& exchange,
                  const std::string& key) {
  amqp_queue_bind(connection.get(), kDeclareChannel, ToBytes(queue), ToBytes(exchange),
                  ToBytes(key), amqp_empty_table);
  return WithContext(absl::StrCat("binding queue '", queue, "' to exchange '", exchange, "'"),
                     connection.Answer(kDeclareChannel));
}

absl::Status CheckName(const std::string& kind, const std::string& name) {
  if (name.size() <= kLongestName) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the name of ", kind, " '", name, "' is longer than ", kLongestName, " bytes"));
}

}  // namespace

// A publish on its way to the thread, with all that it needs.
struct Publishing::Outgoing {
  Outgoing(const retryq::PublishParams& params, std::string encoded_properties,
           std::uint64_t number, std::shared_ptr<std::atomic<std::size_t>> unsent_bytes)
      : id(number),
        exchange(params.exchange),
        routing_key(params.routing_key),
        mandatory(params.mandatory),
        encoded(std::move(encoded_properties)),
        body_owner(params.body_owner),
        body_copy(params.body_owner == nullptr ? params.body : ""),
        body(params.body_owner == nullptr ? std::string_view(body_copy) : params.body),
        fingerprint(Fingerprint::Of(exchange, routing_key, params.properties, encoded, body)),
        unsent(std::move(unsent_bytes)) {
    *unsent += encoded.size() + body.size();
  }
  ~Outgoing() { *unsent -= encoded.size() + body.size(); }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  const std::uint64_t id;
  const std::string exchange;
  const std::string routing_key;
  const bool mandatory;
  const std::string encoded;
  const std::shared_ptr<const void> body_owner;
  const std::string body_copy;
  const std::string_view body;
  const Fingerprint fingerprint;
  const std::shared_ptr<std::atomic<std::size_t>> unsent;
};

Publishing::Publishing(const retryq::amqp::ConnectionOptions& options, const std::string& name,
                       std::shared_ptr<retryq::Executor> loop)
    : max_header_size_(options.frame_max - 8),
      confirms_([this](std::uint64_t id, Confirms::Result result) {
        loop_.Post([this, id, result = std::move(result)] { AnswerPublish(id, result); });
      }),
      unsent_bytes_(std::make_shared<std::atomic<std::size_t>>(0)),
      loop_(std::move(loop)),
      thread_(options, name, *this) {
  thread_.Start();
}

// --- on the loop's thread
// --------------------------------------------------------------------------

void Publishing::SetListener(retryq::BrokerListener* listener) {
  listener_ = listener;
  if (listener == nullptr) ForgetCallbacks();
}

// Their destructors may call in here.
void Publishing::ForgetCallbacks() {
  const auto publishes = std::exchange(publishes_, {});
  const auto declares = std::exchange(declares_, {});
}

void Publishing::Declare(retryq::DeclareParams params, retryq::Broker::DeclareCallback done) {
  DeclareOnThread(
      [params = std::move(params)](Connection& connection) -> absl::StatusOr<retryq::DeclareOk> {
        if (auto status = CheckName("queue", params.queue.name); !status.ok()) return status;
        const absl::StatusOr<std::string> encoded = params.queue.arguments.Encode();
        if (!encoded.ok()) return encoded.status();
        const DecodedTable arguments(*encoded);
        if (!arguments.status().ok()) return arguments.status();
        auto ok = DeclareQueue(connection, params.queue, arguments.get());
        if (!ok.ok() || !params.exchange) return ok;
        if (auto status = CheckName("exchange", params.exchange->name); !status.ok()) return status;
        if (auto status = DeclareExchange(connection, *params.exchange); !status.ok()) {
          return status;
        }
        const absl::Status bound =
            Bind(connection, params.queue.name, params.exchange->name, params.binding_key);
        if (!bound.ok()) return bound;
        return ok;
      },
      std::move(done));
}

void Publishing::CheckExchange(std::string name, std::function<void(absl::Status)> done) {
  DeclareOnThread(
      [name = std::move(name)](Connection& connection) -> absl::StatusOr<retryq::DeclareOk> {
        if (auto status = CheckName("exchange", name); !status.ok()) return status;
        amqp_exchange_declare(connection.get(), kDeclareChannel, ToBytes(name), amqp_empty_bytes,
                              /*passive=*/1, 0, 0, 0, amqp_empty_table);
        const absl::Status status = connection.Answer(kDeclareChannel);
        if (!status.ok()) {
          return WithContext(absl::StrCat("looking for exchange '", name, "'"), status);
        }
        return retryq::DeclareOk();
      },
      [done = std::move(done)](const absl::StatusOr<retryq::DeclareOk>& ok) { done(ok.status()); });
}

void Publishing::DeclareOnThread(Declaration declaration, retryq::Broker::DeclareCallback done) {
  const std::uint64_t id = ++last_id_;
  declares_.emplace(id, std::move(done));
  if (connection_ == 0) {
    loop_.Post([this, id] { AnswerDeclare(id, absl::UnavailableError("no connection")); });
    return;
  }
  thread_.Post(
      connection_,
      [this, id, declaration = std::move(declaration)](Connection& connection) -> absl::Status {
        absl::StatusOr<retryq::DeclareOk> result = declaration(connection);
        if (!connection.is_open()) return result.status();  // answered after OnLost has been told
        const bool channel_closed = !result.ok() && !absl::IsInvalidArgument(result.status());
        loop_.Post([this, id, result = std::move(result)] { AnswerDeclare(id, result); });
        return channel_closed ? connection.OpenChannel(kDeclareChannel) : absl::OkStatus();
      });
}

void Publishing::Publish(const retryq::PublishParams& params,
                         retryq::Broker::PublishCallback done) {
  const std::uint64_t id = ++last_id_;
  publishes_.emplace(id, std::move(done));
  if (connection_ == 0) {
    loop_.Post([this, id] { AnswerPublish(id, {}); });
    return;
  }
  absl::StatusOr<std::string> encoded = EncodeProperties(params.properties, max_header_size_);
  if (!encoded.ok()) {
    // As a broker would that does not understand it; nothing has been sent.
    Confirms::Result refused{.code = kSyntaxError, .text = encoded.status().ToString()};
    loop_.Post([this, id, refused = std::move(refused)] { AnswerPublish(id, refused); });
    return;
  }
  auto message = std::make_unique<Outgoing>(params, *std::move(encoded), id, unsent_bytes_);
  thread_.Post(connection_, [this, message = std::move(message)](Connection& connection) {
    return Send(connection, *message);
  });
}

void Publishing::Reconnect(const absl::Status& why) {
  if (connection_ == 0) return;
  thread_.Post(connection_, [why = Unshared(why)](Connection&) { return why; });
}

void Publishing::Close(std::function<void()> closed) {
  listener_ = nullptr;
  ForgetCallbacks();
  thread_.Close([this, closed = std::move(closed)] { loop_.Post(closed); });
}

void Publishing::OnConnected(std::uint64_t number, std::size_t max_header_size,
                             std::string server_version) {
  connection_ = number;
  max_header_size_ = max_header_size;
  server_version_ = std::move(server_version);
  if (listener_ != nullptr) listener_->OnReady();
}

void Publishing::OnDisconnected(const absl::Status& why) {
  connection_ = 0;
  std::vector<std::uint64_t> publishes;
  for (const auto& [id, done] : publishes_) publishes.push_back(id);
  std::vector<std::uint64_t> declares;
  for (const auto& [id, done] : declares_) declares.push_back(id);
  if (listener_ != nullptr) listener_->OnLost(why);
  for (const std::uint64_t id : publishes) AnswerPublish(id, {});
  for (const std::uint64_t id : declares) AnswerDeclare(id, absl::UnavailableError(why.message()));
}

void Publishing::AnswerPublish(std::uint64_t id, const Confirms::Result& result) {
  const auto node = publishes_.extract(id);
  if (node.empty()) return;
  node.mapped()({.outcome = result.outcome, .code = result.code, .text = result.text});
}

void Publishing::AnswerDeclare(std::uint64_t id, const absl::StatusOr<retryq::DeclareOk>& result) {
  const auto node = declares_.extract(id);
  if (!node.empty()) node.mapped()(result);
}

// --- on the connection's thread
// --------------------------------------------------------------------

absl::Status Publishing::OnOpen(Connection& connection, std::uint64_t number) {
  confirms_.Clear();
  returned_ = IncomingContent();
  if (absl::Status status = OpenPublishChannel(connection); !status.ok()) return status;
  if (absl::Status status = connection.OpenChannel(kDeclareChannel); !status.ok()) return status;
  loop_.Post([this, number, max_header_size = connection.max_header_size(),
              server_version = connection.server_version()] {
    OnConnected(number, max_header_size, server_version);
  });
  return absl::OkStatus();
}

absl::Status Publishing::OpenPublishChannel(Connection& connection) {
  if (absl::Status status = connection.OpenChannel(kPublishChannel); !status.ok()) return status;
  amqp_confirm_select(connection.get(), kPublishChannel);
  return connection.Answer(kPublishChannel);
}

void Publishing::OnLost(const absl::Status& why) {
  loop_.Post([this, why = Unshared(why)] { OnDisconnected(why); });
}

absl::Status Publishing::Send(Connection& connection, const Outgoing& message) {
  Pool pool;
  void* properties = nullptr;
  const int decoded =
      amqp_decode_properties(AMQP_BASIC_CLASS, pool.get(), ToBytes(message.encoded), &properties);
  if (decoded != AMQP_STATUS_OK) return absl::InternalError(amqp_error_string2(decoded));
  confirms_.Add(message.id, message.fingerprint);
  return connection.Written(
      amqp_basic_publish(connection.get(), kPublishChannel, ToBytes(message.exchange),
                         ToBytes(message.routing_key), message.mandatory, /*immediate=*/0,
                         static_cast<amqp_basic_properties_t*>(properties), ToBytes(message.body)));
}

absl::Status Publishing::OnFrame(Connection& connection, const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) {
    return OnMethod(connection, frame.channel, frame.payload.method);
  }
  const std::shared_ptr<const retryq::amqp::Message> returned = returned_.Add(frame);
  return returned == nullptr ? absl::OkStatus() : OnReturnedContent(*returned);
}

absl::Status Publishing::OnMethod(Connection& connection, amqp_channel_t channel,
                                  const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto& ack = *static_cast<const amqp_basic_ack_t*>(method.decoded);
      confirms_.Settle(ack.delivery_tag, ack.multiple != 0, retryq::PublishOutcome::kConfirmed);
      return absl::OkStatus();
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto& nack = *static_cast<const amqp_basic_nack_t*>(method.decoded);
      confirms_.Settle(nack.delivery_tag, nack.multiple != 0, retryq::PublishOutcome::kNacked);
      return absl::OkStatus();
    }
    case AMQP_BASIC_RETURN_METHOD: {
      const auto& returned = *static_cast<const amqp_basic_return_t*>(method.decoded);
      return_code_ = returned.reply_code;
      return_text_ = ToText(returned.reply_text);
      returned_.Begin().SetEnvelope(ToText(returned.exchange), ToText(returned.routing_key));
      return absl::OkStatus();
    }
    case AMQP_CONNECTION_BLOCKED_METHOD: {
      const auto& blocked = *static_cast<const amqp_connection_blocked_t*>(method.decoded);
      loop_.Post([this, reason = std::string(ToText(blocked.reason))] {
        if (listener_ != nullptr) listener_->OnBlocked(true, reason);
      });
      return absl::OkStatus();
    }
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      loop_.Post([this] {
        if (listener_ != nullptr) listener_->OnBlocked(false, "");
      });
      return absl::OkStatus();
    case AMQP_CHANNEL_CLOSE_METHOD: {
      const auto& close = *static_cast<const amqp_channel_close_t*>(method.decoded);
      const std::uint16_t code = close.reply_code;
      const std::string text = absl::StrCat(code, " ", std::string(ToText(close.reply_text)));
      const absl::Status why = connection.ChannelClosed(channel, close);
      if (!connection.is_open()) return why;
      if (channel == kDeclareChannel) return connection.OpenChannel(kDeclareChannel);
      // What was published since the broker closed it is lost with the rest.
      confirms_.FailAll(code, text);
      return OpenPublishChannel(connection);
    }
    default:
      return absl::OkStatus();
  }
}

// A return that fits no publish leaves it open which one was lost: then none is taken for
// confirmed.
absl::Status Publishing::OnReturnedContent(const retryq::amqp::Message& message) {
  const Fingerprint fingerprint = Fingerprint::Of(message.exchange, message.routing_key,
                                                  message.properties, message.header, message.body);
  if (confirms_.Return(fingerprint, return_code_, return_text_)) return absl::OkStatus();
  return absl::UnavailableError("the broker returned a message that nobody published");
}

}  // namespace examples
