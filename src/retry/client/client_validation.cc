#include "retry/client/client_validation.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/name_size.h"
#include "retry/client/declare_work_queue.h"
#include "retryq/amqp/table.h"

namespace retryq {
namespace {

constexpr absl::Duration kLongestConsumerTimeout = absl::Hours(24 * 3650);
constexpr int kMostHandlerThreads = 1024;
constexpr std::uint64_t kMostMaxBody = std::uint64_t{512} << 20;

absl::Status ValidateTimes(const OutgoingMessage& message) {
  absl::Status status;
  if (message.timestamp &&
      (*message.timestamp < absl::UnixEpoch() || *message.timestamp == absl::InfiniteFuture())) {
    status = absl::InvalidArgumentError("timestamp must be 1970 or later, and finite");
  }
  if (message.expiration &&
      (*message.expiration < absl::ZeroDuration() || *message.expiration > kMaxQueueLifetime)) {
    status = Join(status,
                  absl::InvalidArgumentError(absl::StrCat(
                      "expiration must be between 0 and ", absl::FormatDuration(kMaxQueueLifetime),
                      ", but is ", absl::FormatDuration(*message.expiration))));
  }
  return status;
}

}  // namespace

absl::Status Join(const absl::Status& a, const absl::Status& b) {
  if (a.ok()) return b;
  if (b.ok()) return a;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(a.message()), "; ", std::string(b.message())));
}

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
  absl::Status status = Validate(options.delay_queues, heartbeat);
  if (options.max_open_publishes > 0) return status;
  return Join(status, absl::InvalidArgumentError("max_open_publishes must be above zero"));
}

absl::Status ValidateMessage(const OutgoingMessage& message) {
  const absl::StatusOr<std::string> headers = message.headers.Encode();
  absl::Status status = headers.ok() ? amqp::TableView(*headers).CheckFinite() : headers.status();
  if (!status.ok()) {
    status = absl::InvalidArgumentError(absl::StrCat("headers: ", std::string(status.message())));
  }
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
    if (name.size() <= kMaxNameSize) continue;
    status = Join(
        status, absl::InvalidArgumentError(absl::StrCat(field, " must be at most 255 bytes long")));
  }
  const bool names_queue = message.exchange.empty();
  if ((names_queue ? message.routing_key : message.exchange).find('\0') != std::string::npos) {
    status = Join(status, absl::InvalidArgumentError(absl::StrCat(
                              names_queue ? "routing_key" : "exchange", " must not contain NUL")));
  }
  return Join(status, ValidateTimes(message));
}

WorkQueue Named(WorkQueue work_queue, const std::string& queue) {
  if (work_queue.name.empty()) work_queue.name = queue;
  return work_queue;
}

absl::Status ValidateConsumer(const ConsumerOptions& options) {
  absl::Status status;
  if (options.prefetch == 0) {
    status = absl::InvalidArgumentError("prefetch must be 1 to 65535: it bounds memory");
  }
  if (options.max_body == 0 || options.max_body > kMostMaxBody) {
    status =
        Join(status, absl::InvalidArgumentError(absl::StrCat("max_body must be 1 to ", kMostMaxBody,
                                                             ", but is ", options.max_body)));
  }
  if (options.handler_threads < 0 || options.handler_threads > kMostHandlerThreads) {
    status = Join(status, absl::InvalidArgumentError(absl::StrCat("handler_threads must be 0 to ",
                                                                  kMostHandlerThreads, ", but is ",
                                                                  options.handler_threads)));
  }
  const absl::Duration timeout = options.consumer_timeout;
  if (timeout != absl::ZeroDuration() &&
      (timeout < absl::Milliseconds(1) || timeout > kLongestConsumerTimeout)) {
    status = Join(status, absl::InvalidArgumentError(absl::StrCat(
                              "consumer_timeout must be between 1ms and 3650 days (0: as the "
                              "broker is configured), but is ",
                              absl::FormatDuration(timeout))));
  }
  if (options.arguments.Find(kPriorityArgument) != nullptr) {
    status = Join(
        status, absl::InvalidArgumentError("arguments must not contain x-priority: set priority"));
  }
  if (options.arguments.Find(kTimeoutArgument) != nullptr) {
    status = Join(status,
                  absl::InvalidArgumentError("arguments must not contain x-consumer-timeout: set "
                                             "consumer_timeout"));
  }
  status = Join(status, ValidateArguments(options.arguments));
  if (options.breaker) status = Join(status, Validate(*options.breaker));
  if (!options.declare) return status;
  if (!options.declare->name.empty() && options.declare->name != options.queue) {
    status = Join(status, absl::InvalidArgumentError(
                              "declare.name must be empty, or the queue that is consumed"));
  }
  // A queue without a name is reported elsewhere.
  if (!options.queue.empty()) {
    status = Join(status, Validate(Named(*options.declare, options.queue)));
  }
  return status;
}

}  // namespace retryq
