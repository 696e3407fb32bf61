#include "retry/client/client_validation.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/field_errors.h"
#include "base/name_size.h"
#include "retry/client/declare_work_queue.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

constexpr absl::Duration kLongestConsumerTimeout = absl::Hours(24 * 3650);
constexpr int kMostHandlerThreads = 1024;
constexpr std::uint64_t kMostMaxBody = std::uint64_t{512} << 20;

}  // namespace

absl::StatusOr<amqp::ConnectionOptions> ConnectionOf(const ClientOptions& options) {
  std::vector<std::string> urls = {options.url};
  urls.insert(urls.end(), options.more_urls.begin(), options.more_urls.end());
  if (options.url_source != nullptr) {
    absl::StatusOr<std::vector<std::string>> now = options.url_source();
    if (!now.ok()) return now.status();
    urls = *std::move(now);
  }
  absl::StatusOr<amqp::ConnectionOptions> connection = amqp::ParseUris(urls);
  if (!connection.ok()) return connection;
  if (options.credentials != nullptr) {
    absl::StatusOr<Credentials> credentials = options.credentials();
    if (!credentials.ok()) return credentials.status();
    connection->user = std::move(credentials->user);
    connection->password = std::move(credentials->password);
    connection->password_expires = credentials->expires;
  }
  if (!options.name.empty()) connection->connection_name = options.name;
  connection->read_coalescing = options.read_coalescing;
  const absl::Status usable = amqp::Validate(*connection);
  if (!usable.ok()) return usable;
  return connection;
}

absl::Status ValidateClient(const ClientOptions& options, absl::Duration heartbeat) {
  FieldErrors errors(Validate(options.delay_queues, heartbeat));
  errors.Require(options.max_open_publishes > 0, "max_open_publishes must be above zero");
  return errors.status();
}

absl::Status ValidateMessage(const OutgoingMessage& message) {
  FieldErrors errors;
  const absl::StatusOr<std::string> headers = message.headers.Encode();
  const absl::Status valid =
      headers.ok() ? amqp::TableView(*headers).CheckFinite() : headers.status();
  errors.Require(valid.ok(), "headers: ", valid.message());
  const std::pair<const char*, const std::string&> names[] = {
      {"exchange", message.exchange},
      {"routing_key", message.routing_key},
      {"content_type", message.content_type},
      {"message_id", message.message_id},
      {"content_encoding", message.content_encoding},
      {"correlation_id", message.correlation_id},
      {"reply_to", message.reply_to},
      {"type", message.type},
      {"app_id", message.app_id},
      {"user_id", message.user_id}};
  for (const auto& [field, name] : names) {
    errors.Require(name.size() <= kMaxNameSize, field, " must be at most 255 bytes long");
  }
  const bool names_queue = message.exchange.empty();
  const std::string& target = names_queue ? message.routing_key : message.exchange;
  errors.Require(target.find('\0') == std::string::npos, names_queue ? "routing_key" : "exchange",
                 " must not contain NUL");
  errors.Require(!message.timestamp || (*message.timestamp >= absl::UnixEpoch() &&
                                        *message.timestamp != absl::InfiniteFuture()),
                 "timestamp must be 1970 or later, and finite");
  if (message.expiration &&
      (*message.expiration < absl::ZeroDuration() || *message.expiration > kMaxQueueLifetime)) {
    errors.Require(false, "expiration must be between 0 and ",
                   absl::FormatDuration(kMaxQueueLifetime), ", but is ",
                   absl::FormatDuration(*message.expiration));
  }
  return errors.status();
}

WorkQueue Named(WorkQueue work_queue, const std::string& queue) {
  if (work_queue.name.empty()) work_queue.name = queue;
  return work_queue;
}

absl::Status ValidateConsumer(const ConsumerOptions& options) {
  FieldErrors errors;
  errors.Require(options.prefetch > 0, "prefetch must be 1 to 65535: it bounds memory");
  errors.Require(options.max_body > 0 && options.max_body <= kMostMaxBody, "max_body must be 1 to ",
                 kMostMaxBody, ", but is ", options.max_body);
  errors.Require(options.handler_threads >= 0 && options.handler_threads <= kMostHandlerThreads,
                 "handler_threads must be 0 to ", kMostHandlerThreads, ", but is ",
                 options.handler_threads);
  const absl::Duration timeout = options.consumer_timeout;
  errors.Require(timeout == absl::ZeroDuration() ||
                     (timeout >= absl::Milliseconds(1) && timeout <= kLongestConsumerTimeout),
                 "consumer_timeout must be between 1ms and 3650 days (0: as the broker is "
                 "configured), but is ",
                 absl::FormatDuration(timeout));
  errors.Require(options.arguments.Find(kPriorityArgument) == nullptr,
                 "arguments must not contain x-priority: set priority");
  errors.Require(options.arguments.Find(kTimeoutArgument) == nullptr,
                 "arguments must not contain x-consumer-timeout: set consumer_timeout");
  errors.Add(ValidateArguments(options.arguments));
  if (options.breaker) errors.Add(Validate(*options.breaker));
  if (!options.declare) return errors.status();
  errors.Require(options.declare->name.empty() || options.declare->name == options.queue,
                 "declare.name must be empty, or the queue that is consumed");
  // A queue without a name is reported elsewhere.
  if (!options.queue.empty()) errors.Add(Validate(Named(*options.declare, options.queue)));
  return errors.status();
}

}  // namespace retryq
